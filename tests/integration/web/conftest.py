"""`shoal ui` in a real Chromium, over runs with real processes."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.integration.harness import SHOAL, Job, Shoal
from tests.integration.local.jobs import write_job


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    assert program, "these tests need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


class Dashboard:
    """The command, and the addresses that it prints."""

    def __init__(self, shoal: Shoal) -> None:
        self.process = subprocess.Popen(
            [*SHOAL, "ui"], env=shoal.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.address = self._next_address()
        self.root = self.address.partition("/open")[0]

    def enter(self, page: Page) -> None:
        """Open a browser by the address, which is used up."""
        self.used = self.address
        page.goto(self.address)
        page.wait_for_url(f"{self.root}/")
        self.address = self._next_address()

    def close(self) -> tuple[int, str]:
        """Ctrl-C; the exit code, and what was said."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=20)
        return self.process.returncode, said

    def _next_address(self) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline().strip()
        assert line, "the dashboard has left"
        return line


@pytest.fixture
def dashboard(shoal: Shoal) -> Iterator[Dashboard]:
    opened = Dashboard(shoal)
    yield opened
    if opened.process.poll() is None:
        opened.close()


@pytest.fixture
def job(shoal: Shoal, tmp_path: Path) -> Job:
    """One that trains, slowly, over two workers and a parameter server."""
    running = shoal.detach(write_job(tmp_path, name="digits", steps=100_000, PS=1, Worker=2))
    running.wait("Running")
    return running


Visit = Callable[..., Page]


@pytest.fixture
def visit(chromium: Browser, dashboard: Dashboard) -> Iterator[Visit]:
    """A browser that has been let in. Whatever its console complains of fails the test in the end."""
    contexts, complaints = [], []

    def open_page(width: int = 1440, scheme: str = "light") -> Page:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda fault: complaints.append(str(fault)))
        dashboard.enter(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
