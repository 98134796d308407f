"""`shoal ui` in a real Chromium, over runs with real processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.integration.harness import Job, Shoal
from tests.integration.local.jobs import write_job
from tests.integration.web.chromium import chromium_program
from tests.integration.web.dashboard import Dashboard
from tests.integration.web.hostile import write_hostile_job

Visit = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    program = chromium_program()
    with sync_playwright() as playwright:
        # As root, Chromium has no sandbox; it loads nothing but the dashboard.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """The dashboard over a run that goes on, `digits`, one that has `finished`, and one that is `broken` and hostile.
    For tests that change none of them."""
    shoal = Shoal(tmp_path_factory.mktemp("site") / "home")
    folders = [tmp_path_factory.mktemp(name) for name in ("digits", "finished", "broken")]
    digits = shoal.detach(write_job(folders[0], name="digits", steps=100_000, PS=1, Worker=2))
    finished = shoal.detach(write_job(folders[1], name="finished", steps=40, Worker=1))
    broken = shoal.detach(write_hostile_job(folders[2]))
    digits.until(lambda: digits.step > 3)
    assert (finished.end(), broken.end()) == ("Succeeded", "Failed")
    opened = Dashboard(shoal)
    yield opened
    opened.close()
    shoal.close()


@pytest.fixture
def job(shoal: Shoal, tmp_path: Path) -> Job:
    """One of the test's own that trains, slowly, over two workers and a parameter server."""
    running = shoal.detach(write_job(tmp_path, name="letters", steps=100_000, PS=1, Worker=2))
    running.wait("Running")
    return running


@pytest.fixture
def dashboard(shoal: Shoal) -> Iterator[Dashboard]:
    """Over the test's own runs."""
    opened = Dashboard(shoal)
    yield opened
    opened.close()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Visit]:
    """Opens a browser that is let in. Whatever its console complains of fails the test in the end, but for pages that
    are not there and a dashboard that has left, which tests ask for."""
    contexts, complaints = [], []

    def enter(dashboard: Dashboard, width: int = 1440, scheme: str = "light", script: bool = True) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]
            java_script_enabled=script,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda fault: complaints.append(str(fault)))
        dashboard.enter(page)
        return page

    yield enter
    for context in contexts:
        context.close()
    asked_for = ("404 (Not Found)", "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING")
    assert [each for each in complaints if not any(word in each for word in asked_for)] == []
