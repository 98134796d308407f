"""What is done from the dashboard, and what it shows while others do things."""

from __future__ import annotations

from playwright.sync_api import expect


def test_a_job_is_scaled_stopped_resumed_and_removed(job, dashboard, visit):
    page = visit(dashboard)
    page.get_by_role("link", name="letters").click()
    phase = page.locator("#head .phase")

    page.get_by_label("Workers").fill("1")
    page.get_by_role("button", name="Scale").click()
    job.until(lambda: not job.replica("worker-1"))
    expect(page.get_by_label("Workers")).to_have_value("1")
    expect(page.get_by_role("table").get_by_text("worker-1")).to_have_count(0)

    page.get_by_role("button", name="Stop").click()
    expect(phase).to_have_text("Suspended", timeout=20_000)
    job.assert_nothing_left()

    page.get_by_role("button", name="Resume").click()
    expect(phase).to_have_text("Running", timeout=20_000)
    job.wait("Running")

    page.get_by_role("button", name="Stop").click()
    page.get_by_role("link", name="Remove…").click(timeout=20_000)
    page.get_by_role("link", name="Keep it").click()
    expect(page.locator("h1")).to_have_text("letters")
    assert job.folder.exists()
    page.get_by_role("link", name="Remove…").click()
    page.get_by_role("button", name="Remove letters").click()
    expect(page.get_by_text("No jobs yet")).to_be_visible()
    assert not job.folder.exists()


def test_the_list_follows_by_itself(job, dashboard, visit):
    page = visit(dashboard)
    page.evaluate("window.kept = true")
    row = page.locator("#job-letters")
    expect(row.locator(".phase")).to_have_text("Running")
    page.get_by_label("Filter").fill("let run")
    expect(row).to_be_visible()
    page.get_by_label("Filter").fill("failed")
    expect(row).to_be_hidden()
    job.shoal("stop", "letters")
    page.get_by_label("Filter").fill("")
    expect(row.locator(".phase")).to_have_text("Suspended", timeout=10_000)
    job.shoal("rm", "letters")
    expect(page.get_by_text("No jobs yet")).to_be_visible(timeout=10_000)
    assert page.evaluate("window.kept"), "the page was not loaded again"


def test_ctrl_c_ends_open_pages_and_no_job(job, dashboard, visit):
    page = visit(dashboard)
    page.get_by_role("link", name="letters").click()
    expect(page.get_by_role("log")).to_contain_text("begins")
    code, said = dashboard.close()
    assert (code, "Traceback" in said) == (0, False)
    expect(page.get_by_role("status")).to_contain_text("does not answer", timeout=10_000)
    assert job.phase == "Running"
