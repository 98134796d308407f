"""The command `shoal ui`, and the addresses that it prints."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping

from playwright.sync_api import Page

from tests.integration.harness import SHOAL, Shoal


class Dashboard:
    """A dashboard over the runs of `shoal`. `root` is its address, `address` the one that opens the next browser."""

    def __init__(self, shoal: Shoal, environment: Mapping[str, str] | None = None) -> None:
        self.shoal = shoal
        self.process = subprocess.Popen(
            [*SHOAL, "ui"],
            env={**shoal.environment, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.address = self._next_address()
        self.root = self.address.partition("/open")[0]

    def enter(self, page: Page) -> None:
        """Open a browser by the address, which is used up."""
        used, self.address = self.address, ""
        page.goto(used)
        page.wait_for_url(f"{self.root}/")
        self.address = self._next_address()

    def close(self) -> tuple[int, str]:
        """Ctrl-C; the exit code, and what was said."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=20)
        return self.process.returncode, said

    def _next_address(self) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline().strip()
        if not line:
            raise AssertionError(f"the dashboard has left: {self.close()}")
        return line
