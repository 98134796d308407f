from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

VIEWS = ("/", "/jobs/digits", "/models", "/jobs/digits/remove")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_every_view_fits_and_has_no_fault_that_axe_finds(visit, dashboard, job, width, scheme):
    page = visit(width, scheme)
    for path in VIEWS:
        page.goto(dashboard.root + path)
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        found = Axe().run(page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == [], path


def test_a_job_is_watched_scaled_stopped_resumed_and_removed(visit, job):
    page = visit()
    page.click("text=digits")
    expect(page.locator("#log div").first).to_contain_text(" | ")
    page.select_option("#replica", "worker-1")
    expect(page.locator("#log div").first).to_contain_text("worker-1 | ")
    assert all(said.startswith("worker-1 | ") for said in page.locator("#log div").all_inner_texts())

    page.fill("input[name=workers]", "1")
    page.click("text=Scale")
    expect(page.locator("input[name=workers]")).to_have_value("1")
    job.until(lambda: job.replica("worker-1").get("state") != "Running")

    page.click("button:has-text('Stop')")
    expect(page.locator("#head .phase")).to_have_text("Suspended", timeout=20_000)
    job.assert_nothing_left()

    page.click("button:has-text('Resume')")
    expect(page.locator("#head .phase")).to_have_text("Running", timeout=20_000)

    page.click("button:has-text('Stop')")
    page.click("text=Remove…", timeout=20_000)
    page.click("text=Keep it")
    assert job.folder.exists()
    page.click("text=Remove…")
    page.click("button:has-text('Remove digits')")
    expect(page.locator("#none")).to_be_visible()
    assert not job.folder.exists()


def test_the_list_follows_by_itself(visit, job):
    page = visit()
    page.evaluate("window.kept = true")
    row = page.locator("#job-digits")
    expect(row.locator(".phase")).to_have_text("Running")
    page.fill("#filter", "dig run")
    expect(row).to_be_visible()
    page.fill("#filter", "failed")
    expect(row).to_be_hidden()
    job.shoal("stop", "digits")
    page.fill("#filter", "")
    expect(row.locator(".phase")).to_have_text("Suspended", timeout=10_000)
    job.shoal("rm", "digits")
    expect(page.locator("#none")).to_be_visible(timeout=10_000)
    assert page.evaluate("window.kept"), "the page was not loaded again"


def test_the_switch_and_the_keyboard(visit):
    page = visit(scheme="light")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("button[value=dark]").focus()
    page.keyboard.press("Enter")
    expect(page.locator("button[value=dark]")).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_an_address_opens_one_browser_and_ctrl_c_ends_open_pages(visit, dashboard, chromium, job):
    page = visit()
    page.click("text=digits")
    expect(page.locator("#log div").first).to_be_visible()
    other = chromium.new_page()
    assert other.goto(dashboard.used).status == 403
    assert other.goto(dashboard.root).status == 403
    other.close()
    page.goto("about:blank")
    code, said = dashboard.close()
    assert code == 0
    assert "Traceback" not in said
    assert job.phase == "Running", "the job goes on"
