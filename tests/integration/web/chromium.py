"""The browser: Debian's own, put in where it lacks. Playwright drives it, and downloads none."""

from __future__ import annotations

import os
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = ["apt-get", "install", "--yes", "--no-install-recommends", "-qq", "chromium"]


def chromium_program() -> str:
    """The path of the program. Raises RuntimeError where there is none and none can be installed."""
    if found := _found():
        return found
    if os.geteuid() or not shutil.which("apt-get"):
        raise RuntimeError("these tests need Chromium; on Debian: apt-get install chromium")
    for command in (["apt-get", "update", "-qq"], INSTALL):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if found := _found():
        return found
    raise RuntimeError(f"these tests need Chromium, and {' '.join(INSTALL)} failed:\n{done.stderr[-2000:]}")


def _found() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)
