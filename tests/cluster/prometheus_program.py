"""Prometheus and its promtool, from Debian's package: taken apart into the cache, so that no service is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.cache import cache_folder, locked
from tests.cluster.errors import ClusterError
from tests.cluster.programs import Program, tool

DOWNLOAD_SECONDS = 300


@dataclass(frozen=True)
class Prometheus:
    """The folder of the programs."""

    programs: Path

    def promtool(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Run it to its end, and look at its exit code oneself."""
        command = [str(self.programs / "promtool"), *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    def start(self, configuration: Path, port: int) -> RunningPrometheus:
        """On loopback, with its data beside its configuration."""
        folder = configuration.parent
        options = [
            f"--config.file={configuration}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        program = Program("prometheus", [str(self.programs / "prometheus"), *options], folder / "prometheus.log")
        running = RunningPrometheus(program, port)
        program.wait_until(running.ready, 30)
        return running


@dataclass(frozen=True)
class RunningPrometheus:
    program: Program
    port: int

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5):
                return True
        except OSError:
            return False

    def get(self, path: str, **parameters: str) -> Any:
        """The data of an answer of its API. Raises HTTPError where an expression is none."""
        asked = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{asked}", timeout=10) as answer:
            return json.load(answer)["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an expression now."""
        result: list[dict[str, Any]] = self.get("query", query=expression)["result"]
        return result


def prometheus_programs() -> Prometheus:
    """From the cache, or downloaded. Raises ClusterError where that cannot be."""
    folder = cache_folder() / "prometheus"
    with locked(cache_folder() / "prometheus.lock"):
        if not folder.exists():
            _unpack(folder)
    return Prometheus(folder / "usr" / "bin")


def _unpack(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        done = _apt_get(scratch, "download", "prometheus")
        if done.returncode:  # a fresh machine has no list of packages yet
            _apt_get(scratch, "update", "-qq")
            done = _apt_get(scratch, "download", "prometheus")
        package = next(Path(scratch).glob("prometheus_*.deb"), None)
        if package is None:
            raise ClusterError(f"apt-get download prometheus: {done.stderr}", "apt-get update, as root, may help")
        whole = Path(scratch) / "whole"
        subprocess.run([tool("dpkg", "dpkg"), "-x", str(package), str(whole)], check=True, timeout=60)
        shutil.move(whole, folder)


def _apt_get(folder: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [tool("apt-get", "apt"), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False)
