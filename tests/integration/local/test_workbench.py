"""`shoal workbench` with the real JupyterLab, and jobs that a notebook in it runs."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError

import psutil
import pytest
import websocket

from tests.integration.harness import Shoal
from tests.integration.local.jobs import write_job

PATIENCE_SECONDS = 120.0


class Lab(NamedTuple):
    """A JupyterLab that `shoal workbench` has started."""

    command: subprocess.Popen[str]
    address: str
    token: str

    def ask(self, path: str, token: str, post: bool = False) -> tuple[int, Any]:
        request = urllib.request.Request(f"{self.address}{path}?token={token}", b"{}" if post else None)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return answer.status, json.load(answer)
        except HTTPError as refused:
            return refused.code, None

    def run_in_kernel(self, code: str) -> str:
        """What a new kernel prints that runs the code to its end."""
        status, kernel = self.ask("/api/kernels", self.token, post=True)
        assert status == 201
        address = f"{self.address}/api/kernels/{kernel['id']}/channels?token={self.token}"
        channel = websocket.create_connection(address.replace("http", "ws", 1), timeout=PATIENCE_SECONDS)
        header = {"msg_id": "1", "msg_type": "execute_request", "session": "s", "username": "u", "version": "5.3"}
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        asked = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        channel.send(json.dumps(asked))
        printed = ""
        while True:
            told = json.loads(channel.recv())
            if told.get("parent_header", {}).get("msg_id") != "1":
                continue
            if told["msg_type"] == "stream":
                printed += told["content"]["text"]
            elif told["msg_type"] == "error":
                printed += "\n".join(told["content"]["traceback"])
            elif told["msg_type"] == "status" and told["content"]["execution_state"] == "idle":
                channel.close()
                return printed

    def end(self, number: int) -> int:
        """Answers the exit code. JupyterLab and its kernels may not be left; jobs that they started may."""
        below = psutil.Process(self.command.pid).children(recursive=True)
        below = [each for each in below if _is_of_jupyter(each)]
        assert len(below) == 1 + len(self.ask("/api/kernels", self.token)[1])
        self.command.send_signal(number)
        code = self.command.wait(PATIENCE_SECONDS)
        _, alive = psutil.wait_procs(below, PATIENCE_SECONDS)
        assert not alive
        return code


@pytest.fixture
def lab(shoal: Shoal, tmp_path: Path) -> Lab:
    (tmp_path / "notebooks").mkdir()
    running = shoal.begin("workbench", "--folder", str(tmp_path / "notebooks"), "--no-browser")
    assert running.stdout is not None
    for line in running.stdout:
        if found := re.fullmatch(r"(http://127\.0\.0\.1:\d+)/lab\?token=([0-9a-f]{64})\n", line):
            break
    else:
        raise AssertionError("it has ended without an address")
    return Lab(running, found[1], found[2])


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_only_its_token_lets_in_and_nothing_is_left(lab: Lab, number: int, code: int) -> None:
    assert lab.ask("/api/contents", "")[0] == 403
    assert lab.ask("/api/contents", "0" * 64)[0] == 403
    assert lab.ask("/api/contents", lab.token)[0] == 200
    assert lab.run_in_kernel("print(1 + 1)") == "2\n"
    assert lab.end(number) == code


def test_a_notebook_runs_jobs_that_outlive_it(lab: Lab, shoal: Shoal, tmp_path: Path) -> None:
    short = write_job(folder(tmp_path, "short"), name="short", Chief=1, Worker=1)
    long = write_job(folder(tmp_path, "long"), name="long", steps=100000, Worker=1)
    printed = lab.run_in_kernel(
        f"""
from shoal import run, logs
job = run({str(short)!r})
logs(job)
print("came to", job.wait())
print(run({str(long)!r}))
"""
    )
    assert re.search(r"^chief-0 +\| ", printed, re.MULTILINE), printed
    assert "came to Succeeded" in printed
    assert "<TFJob long: " in printed
    assert lab.end(signal.SIGINT) == 0
    (listed,) = json.loads(shoal("ps", "--output", "json").stdout)
    assert (listed["name"], listed["phase"]) == ("long", "Running")
    assert shoal("rm", "--force", "long").returncode == 0


def test_what_cannot_be_started_is_said(shoal: Shoal, tmp_path: Path) -> None:
    for words, told in (
        (["--folder", str(tmp_path / "nothing")], "does not exist"),
        (["--idle-timeout", "5"], "greater than or equal to"),
        (["url", "desk"], "error: workbenches by name are those of a cluster\nhint: add --on kubernetes"),
    ):
        result = shoal("workbench", *words)
        assert (result.returncode, told in result.stderr) == (2, True), result.stderr


def _is_of_jupyter(process: psutil.Process) -> bool:
    try:
        return bool({"jupyterlab", "ipykernel_launcher"} & set(process.cmdline()))
    except psutil.ZombieProcess:  # a supervisor that has ended, and whose kernel has started no other since
        return False


def folder(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name
