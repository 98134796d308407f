"""docs/tutorial.md, word by word: its commands in one shell, and of their output the lines that the page shows."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "tutorial.md"
BLOCKS = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SETUP = "make setup"  # has made the environment in which this test runs


def lines() -> list[str]:
    return [line for block in BLOCKS.findall(PAGE.read_text()) for line in block.splitlines()]


def commands() -> list[str]:
    return [line.removeprefix("$ ") for line in lines() if line.startswith("$ ")]


def shown() -> list[str]:
    return [line for line in lines() if not line.startswith("$ ")]


def pattern(line: str) -> str:
    """Spaces may be more, since tables fit themselves to what is in them; `…` is anything."""
    return ".*".join(r"\s+".join(map(re.escape, part.split())) for part in line.split("…"))


def free_port() -> str:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return str(tried.getsockname()[1])


@pytest.mark.timeout(600)
def test_a_new_user_gets_through(tmp_path: Path) -> None:
    words = [command for command in commands() if command != SETUP]
    assert len(words) == len(commands()) - 1
    script = "\n".join(words)
    for port in ("8500", "8501"):  # another model server may be running on this machine
        script = script.replace(port, free_port())
    # The environment of this test need not be .venv, and is found all the same.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": path, "COLUMNS": "200"}
    environment.pop("SHOAL_HOME", None)
    done = subprocess.run(
        ["bash", "-m", "-e", "-o", "pipefail", "-c", script],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    said = done.stdout
    for line in shown():  # in the order of the page
        found = re.search(pattern(line), said)
        assert found, f"{line!r} was not said after what the page shows before it:\n{done.stdout}"
        said = said[found.end() :]
    assert not (tmp_path / "digits").exists()
    assert not list((tmp_path / ".shoal" / "runs").glob("[!.]*"))
