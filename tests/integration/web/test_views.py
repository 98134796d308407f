"""What is shown: at both widths, in both themes, with and without a script, and whatever a run says."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.integration.web.accessibility import faults
from tests.integration.web.hostile import MARKUP

VIEWS = (
    "/",
    "/models",
    "/jobs/digits",
    "/jobs/finished",
    "/jobs/broken",
    "/jobs/finished/remove",
    "/jobs/absent",
)


@pytest.mark.parametrize("width", [390, 1440])
def test_every_view_fits_and_has_no_fault_that_axe_finds(site, visit, width):
    page = visit(site, width)
    for path in VIEWS:
        page.goto(site.root + path)
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} is wider than the screen"
        assert faults(page) == [], path
        page.emulate_media(color_scheme="dark")
        assert faults(page, runOnly=["color-contrast"]) == [], f"{path}, dark"
        page.emulate_media(color_scheme="light")


def test_a_failed_job_tells_why_in_its_own_words_and_runs_none_of_them(site, visit):
    page = visit(site)
    page.goto(f"{site.root}/jobs/broken")
    expect(page.locator("#head .phase")).to_have_text("Failed")
    expect(page.locator("#failure .tail")).to_contain_text(f"ValueError: {MARKUP}")
    expect(page.get_by_role("log")).to_contain_text(MARKUP)
    expect(page.locator("#head dt", has_text="owned")).to_have_text(MARKUP)
    assert page.locator("main img, main script").count() == 0
    assert page.title() == "broken – Shoal"


def test_a_training_is_drawn(site, visit):
    page = visit(site)
    page.goto(f"{site.root}/jobs/finished")
    expect(page.get_by_role("img", name="Loss: 1 at step 1, 0.025 at step 40")).to_be_visible()
    expect(page.get_by_role("img", name="Steps per second")).to_be_visible()


def test_lines_of_a_log_come_as_they_are_written(site, visit):
    page = visit(site)
    page.get_by_role("link", name="digits").click()
    log = page.get_by_role("log")
    expect(log).to_contain_text("ps-0 | ps-0 attempt 0 begins")
    with next((site.shoal.home / "runs" / "digits" / "logs").glob("worker-1.0.log")).open("a") as file:
        file.write("a line from just now\n")
    expect(log).to_contain_text("worker-1 | a line from just now", timeout=10_000)
    page.get_by_role("combobox", name="Replica").select_option("worker-1")
    expect(log).not_to_contain_text("ps-0")
    expect(log).to_contain_text("worker-1 | a line from just now")


def test_ten_pages_may_be_open_when_one_is_seen(site, visit):
    """Chromium opens six connections to a place, and each of these would hold two."""
    page = visit(site)
    for number in range(10):
        page.goto(f"{site.root}/jobs/digits")
        expect(page.get_by_role("log")).to_contain_text("begins", timeout=10_000)
        see(page, False)
        if number == 0:
            first = page
        page = page.context.new_page()
    see(first, True)
    before = first.locator("#head dd").nth(2).inner_text()
    expect(first.locator("#head dd").nth(2)).not_to_have_text(before, timeout=10_000)


def see(page: Page, seen: bool) -> None:
    """As if the tab came to the front, or another covered it: without a screen, Chromium takes all for seen."""
    page.evaluate(
        f"Object.defineProperty(document, 'hidden', {{ value: {str(not seen).lower()}, configurable: true }})"
    )
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_the_switch_and_the_keyboard(site, visit):
    page = visit(site)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="dark").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="dark")).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.get_by_label("Filter").focus()
    page.keyboard.type("fin")
    expect(page.get_by_role("link", name="digits")).to_be_hidden()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="finished")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("finished")


def test_pages_and_actions_need_no_script(job, dashboard, visit):
    page = visit(dashboard, script=False)
    page.get_by_role("link", name="letters").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("h1")).to_have_text("letters")
    job.wait("Suspended")
    page.reload()
    expect(page.locator("#head .phase")).to_have_text("Suspended")


def test_a_stranger_sees_nothing_and_an_address_opens_one_browser(site, visit, chromium):
    used = site.address
    visit(site)
    stranger = chromium.new_page()
    for address in (used, site.root, f"{site.root}/jobs/digits"):
        assert stranger.goto(address).status == 403
        assert "digits" not in stranger.content()
    stranger.close()
