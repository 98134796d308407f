"""Servers of leases as an agent starts them, and programs that use them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.cuda.environment import CLIENT, NUMBERS, SERVERS, TOKEN
from shoal.cuda.server.offer import SOFTWARE

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SECRET = "t" * 43
MEMORY_MIB = 1024


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[str]
    address: str

    def environment(self, token: str = SECRET, number: int = 0) -> dict[str, str]:
        told = {SERVERS: self.address, NUMBERS: str(number), TOKEN: token, "LD_LIBRARY_PATH": str(CLIENT)}
        return {**os.environ, **told}

    def said(self) -> dict[str, Any]:
        """Its next word to the agent."""
        assert self.process.stdout is not None
        told: dict[str, Any] = json.loads(self.process.stdout.readline())
        return told


@contextmanager
def serving(
    gpus: int = 1,
    environment: dict[str, str] | None = None,
    given: list[dict[str, Any]] | None = None,
    library: str = "",
) -> Iterator[Server]:
    """A server of so many GPUs of `host_driver`, or of those given; with software GPUs or a driver's library, it is the
    agent's own."""
    offered = [{"id": f"host-{i}", "model": "Test GPU", "memory_mib": MEMORY_MIB} for i in range(gpus)]
    told = {"host": "127.0.0.1", "token_hash": hashlib.sha256(SECRET.encode()).hexdigest(), "gpus": given or offered}
    told |= {"library": library} if library else {}
    own = library or all(each["id"].startswith(SOFTWARE) for each in told["gpus"])
    module = "shoal.cuda.server" if own else "tests.integration.cuda.host_server"
    command = [sys.executable, "-m", module]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    ) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(told) + "\n")
            process.stdin.flush()
            assert process.stdout is not None
            yield Server(process, json.loads(process.stdout.readline())["address"])
        finally:
            process.kill()


def build(name: str, folder: Path) -> Path:
    """A test program in C, as its author would build it."""
    program = folder / name
    options = ["-std=gnu11", "-O1", "-Wall", "-Werror", "-pthread"]
    source = HERE / "programs" / f"{name}.c"
    subprocess.run(["gcc", *options, source, "-o", program, f"-L{CLIENT}", "-l:libcuda.so.1"], check=True)
    return program


def run(program: Path, environment: dict[str, str], *given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(program), *given], env=environment, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )
