"""`shoal tensorboard` and `shoal run` of a TensorBoard, with the real one."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import yaml

from tests.integration.harness import Shoal
from tests.unit.local.event_files import event_file, record
from tests.unit.resources.test_tensorboard import SMALL

PATIENCE_SECONDS = 60.0


def test_folders_are_shown_by_name_until_ctrl_c(shoal: Shoal, tmp_path: Path) -> None:
    with_losses(tmp_path / "a" / "logs")
    with_losses(tmp_path / "b" / "logs")
    running = shoal.begin("tensorboard", f"base={tmp_path}/a/logs", f"wide={tmp_path}/b/logs")
    assert runs_shown(running, 2) == ["base", "wide"]
    end(running)


def test_a_manifest_shows_what_a_run_left_on_its_claim(shoal: Shoal, tmp_path: Path) -> None:
    run = shoal.home / "runs" / "train"
    with_losses(run / "volumes" / "train" / "logs")
    (run / "manifest.yaml").touch()
    (tmp_path / "board.yaml").write_text(yaml.safe_dump(SMALL))
    running = shoal.begin("run", str(tmp_path / "board.yaml"))
    assert runs_shown(running, 1) == ["base"]
    end(running)


def test_what_cannot_be_shown_is_said(shoal: Shoal, tmp_path: Path) -> None:
    for words, told in (
        ([f"a={tmp_path}/nothing"], f"error: a: {tmp_path}/nothing is no folder of this machine\nhint: "),
        (["a=x", "b"], "error: 'b' names no folder\nhint: write NAME=FOLDER for each\n"),
        ([f"a={tmp_path}", f"a={tmp_path}"], "error: two folders are named 'a'\nhint: "),
        ([f"a:b={tmp_path}"], "error: 'a:b' cannot name a run\nhint: "),
        (["a", "b"], "error: 2 runs, and one is shown at a time\nhint: "),
    ):
        result = shoal("tensorboard", *words)
        assert (result.returncode, result.stderr[: len(told)]) == (2, told)


def with_losses(folder: Path) -> None:
    event_file(folder, 7, record(1, 1.0, loss=0.5), record(2, 2.0, loss=0.25))


def runs_shown(running: subprocess.Popen[str], wanted: int) -> Any:
    """The runs that the TensorBoard of a command knows, once they are as many."""
    assert running.stdout is not None
    said = running.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+/", said)
    assert found, said
    deadline = time.monotonic() + PATIENCE_SECONDS
    shown: Any = None
    while time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(f"{found[0]}data/runs", timeout=10) as answer:
            # TensorBoard tells the folder within the named one, too: "base/."
            shown = sorted(run.partition("/")[0] for run in json.load(answer))
            if len(shown) == wanted:
                return shown
        time.sleep(0.2)
    raise AssertionError(f"{PATIENCE_SECONDS:g} s after {said!r} it shows {shown}")


def end(running: subprocess.Popen[str]) -> None:
    """Ctrl-C, which a terminal sends to all of the foreground. Nothing is left then."""
    started = psutil.Process(running.pid).children(recursive=True)
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(20) == 0
    assert psutil.wait_procs(started, 10)[1] == []
