"""The command in this process: quick, and through the same door as the installed one."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from shoal.cli.main import main


class Result(NamedTuple):
    code: int
    out: str
    err: str


Shoal = Callable[..., Result]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    """A SHOAL_HOME of the test's own, which is not there yet."""
    folder = tmp_path / "home"
    monkeypatch.setenv("SHOAL_HOME", str(folder))
    return folder


@pytest.fixture
def shoal(monkeypatch, capsys) -> Shoal:
    """Run a command line. Whatever is no refusal fails the test with its traceback."""

    def run(*words: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "argv", ["shoal", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as left:
            code = int(left.code or 0)
        return Result(code, *capsys.readouterr())

    return run
