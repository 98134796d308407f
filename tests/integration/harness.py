"""Runs of the real `shoal` command in a home of their own, and what can be asked of them afterwards."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import yaml

SHOAL = [sys.executable, "-c", "from shoal.cli import main; main()"]


@dataclass
class Shoal:
    """The command, with runs under `home`."""

    home: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SHOAL_HOME": str(self.home), "TF_CPP_MIN_LOG_LEVEL": "2"}

    def __call__(self, *words: str, timeout: float = 120, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [*SHOAL, *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            **options,
        )

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """Start a command in the foreground of a session of its own, as a terminal would."""
        process = subprocess.Popen(
            [*SHOAL, *words],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def detach(self, manifest: Path, *words: str) -> Job:
        """Run a manifest in the background."""
        result = self("run", str(manifest), "--detach", *words)
        assert result.returncode == 0, result.stderr
        return Job(self, yaml.safe_load(manifest.read_text())["metadata"]["name"])

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
        for run in (self.home / "runs").glob("*/manifest.yaml"):
            self("stop", run.parent.name)


@dataclass
class Job:
    """A run by name."""

    shoal: Shoal
    name: str

    @property
    def folder(self) -> Path:
        return self.shoal.home / "runs" / self.name

    @property
    def snapshot(self) -> dict[str, Any]:
        file = self.folder / "status.json"
        return json.loads(file.read_text()) if file.exists() else {"status": {"phase": "Pending"}, "replicas": []}

    @property
    def status(self) -> dict[str, Any]:
        return self.snapshot["status"]

    @property
    def phase(self) -> str:
        return self.status["phase"]

    @property
    def retries(self) -> int:
        return self.status.get("retries", 0)

    @property
    def first_failure(self) -> dict[str, Any]:
        return self.status["firstFailure"]

    @property
    def step(self) -> int:
        return self.status.get("progress", {}).get("step", -1)

    def replica(self, name: str) -> dict[str, Any]:
        return next((r for r in self.snapshot["replicas"] if r["name"] == name), {})

    def log(self, replica: str) -> str:
        """Everything that all attempts of the replica wrote."""
        return "".join(file.read_text() for file in sorted(self.folder.glob(f"logs/{replica}.*.log")))

    def logs(self) -> str:
        """All logs, for a failing test's message."""
        files = sorted(self.folder.glob("logs/*.log"))
        return "\n".join(f"=== {file.name}\n{file.read_text()[-3000:]}" for file in files)

    def wait(self, *phases: str, timeout: float = 60) -> str:
        """Wait for one of the phases."""
        self.until(lambda: self.phase in phases, timeout)
        return self.phase

    def until(self, condition: Callable[[], Any], timeout: float = 60) -> None:
        """Wait for a condition, and say what was there instead when time is up."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f"{json.dumps(self.snapshot, indent=1)}\n{self.logs()}"
            time.sleep(0.05)

    def end(self, timeout: float = 60) -> str:
        """Wait until the job has ended and its supervisor is gone; answers the phase."""
        self.wait("Succeeded", "Failed", timeout=timeout)
        self.until(lambda: self.shoal("wait", self.name, "--timeout", "0").returncode != 124, 30)
        return self.phase

    def kill(self, *names: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send the replicas a signal, all at once."""
        pids = [self.replica(name)["pid"] for name in names]
        for pid in pids:
            os.kill(pid, number)

    def processes(self) -> list[psutil.Process]:
        """Everything alive that any supervisor of this run has started."""
        run_id = self.snapshot.get("run_id")
        found = []
        for process in psutil.process_iter():
            try:
                if run_id and process.environ().get("SHOAL_RUN_ID") == run_id and process.status() != "zombie":
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def ports(self) -> list[int]:
        file = self.folder / "addresses.json"
        return [int(a.rpartition(":")[2]) for a in json.loads(file.read_text()).values()] if file.exists() else []

    def assert_nothing_left(self) -> None:
        """No process of the run lives, and its ports can be bound."""
        self.until(lambda: not self.processes(), 15)
        # A process that was killed gives up its memory, and with it its name for us, moments before its sockets.
        self.until(lambda: all(map(_is_free, self.ports())), 15)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
