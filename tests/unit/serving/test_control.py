"""Calls between the processes of a server: answers and errors come back, and nobody waits for one that has died."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from shoal.serving import control
from shoal.serving.status import Code, ServingError


def fail(kind: str) -> None:
    if kind == "foreseen":
        raise ServingError(Code.NOT_FOUND, "no such model")
    raise KeyError(kind)


def test_answers_and_errors_come_back(tmp_path: Path) -> None:
    control.answer(tmp_path / "here", {"add": lambda a, b: a + b, "fail": fail})
    assert control.ask(tmp_path / "here", "add", 2, 3) == 5
    with pytest.raises(ServingError, match="NOT_FOUND: no such model"):
        control.ask(tmp_path / "here", "fail", "foreseen")
    with pytest.raises(ServingError, match="INTERNAL: KeyError: 'else'"):
        control.ask(tmp_path / "here", "fail", "else")


def test_a_long_call_holds_up_no_other(tmp_path: Path) -> None:
    go = threading.Event()
    control.answer(tmp_path / "here", {"wait": lambda: go.wait(30), "set": go.set})
    waiting = threading.Thread(target=control.ask, args=[tmp_path / "here", "wait"])
    waiting.start()
    control.ask(tmp_path / "here", "set")
    waiting.join(30)
    assert not waiting.is_alive()


def test_who_has_gone_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(control.Gone):
        control.ask(tmp_path / "nobody", "add")
    script = (
        "import os, sys; from pathlib import Path; from shoal.serving import control; "
        "control.answer(Path(sys.argv[1]), {'die': lambda: os._exit(3)}); print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "there")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(control.Gone):
            control.ask(tmp_path / "there", "die")
        assert process.wait(30) == 3


def test_a_call_that_breaks_off_does_no_harm(tmp_path: Path) -> None:
    control.answer(tmp_path / "here", {"add": lambda a, b: a + b})
    with socket.socket(socket.AF_UNIX) as half:
        half.connect(str(tmp_path / "here"))
        half.sendall(b"\0")
    assert control.ask(tmp_path / "here", "add", 1, 1) == 2
