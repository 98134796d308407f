"""JupyterLab as a process of this machine, behind a token, for as long as somebody wants it.

Its kernels end with it. Jobs that they have left running do not: each has a supervisor of its own.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from shoal.lab import TOKEN_BYTES, TOKEN_FILE, lab_options
from shoal.local.guard import Guard
from shoal.local.ports import HOST
from shoal.runs import RunError

START_SECONDS = 120.0
"""How long JupyterLab may take to answer, on a busy machine."""

END_SECONDS = 10.0
"""How long it may take to end its kernels."""

LOOK_SECONDS = 0.1


class Lab(NamedTuple):
    """JupyterLab at work. `url` opens it, and has the token."""

    process: subprocess.Popen[bytes]
    port: int
    url: str

    def wait_until_it_answers(self) -> None:
        """Raises RunError where it does not."""
        deadline = time.monotonic() + START_SECONDS
        while not _answers(f"http://{HOST}:{self.port}/api"):
            if (code := self.process.poll()) is not None:
                raise RunError(f"JupyterLab has ended at its start, with exit code {code}", "it says why, above")
            if time.monotonic() > deadline:
                raise RunError(f"JupyterLab does not answer after {START_SECONDS:g} s")
            time.sleep(LOOK_SECONDS)


@contextmanager
def lab(folder: Path, port: int, idle_seconds: int | None = None) -> Iterator[Lab]:
    """The JupyterLab of this environment over the folder, at 127.0.0.1:`port`, until this is left. Raises RunError
    where there is none."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise RunError("JupyterLab is not installed here", 'pip install "shoal[workbench]"')
    token = secrets.token_hex(TOKEN_BYTES)
    guard = Guard(secrets.token_hex(8))
    try:
        with TemporaryDirectory(prefix="shoal-") as private:
            file = Path(private) / "token"
            file.write_text(token)  # the folder is this user's alone
            process = _start(folder, port, idle_seconds, file)
            guard.watch(process.pid)
            try:
                yield Lab(process, port, f"http://{HOST}:{port}/lab?token={token}")
            finally:
                _end(process)
                guard.forget(process.pid)
    finally:
        asyncio.run(guard.close())


def _start(folder: Path, port: int, idle_seconds: int | None, token_file: Path) -> subprocess.Popen[bytes]:
    options = lab_options(str(folder.absolute()), "", idle_seconds)
    address = [f"--ip={HOST}", f"--port={port}", "--ServerApp.port_retries=0"]
    # Root is right where everybody is, as in a container; JupyterLab wants to be told.
    root = ["--allow-root"] if os.geteuid() == 0 else []
    environment = {**os.environ, TOKEN_FILE: str(token_file)}
    environment.pop("JUPYTER_TOKEN", None)  # it would come before the file
    return subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--log-level=WARN", *address, *root, *options],
        stdin=subprocess.DEVNULL,
        env=environment,
        cwd=folder,
        start_new_session=True,  # else Ctrl-C reaches it, too, and it asks whether that was meant
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except (OSError, HTTPException):
        return False
