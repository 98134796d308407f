"""The path to NVIDIA's driver, with Shoal's own library in its place: program → library → server → that path →
library → server → a driver on the host, or a software GPU. What holds both ends together is the driver API alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shoal.cuda.environment import CLIENT
from tests.integration.cuda.servers import MEMORY_MIB, Server, build, run, serving

LIMIT_MIB = MEMORY_MIB // 4


@contextmanager
def relaying(server: Server) -> Iterator[Server]:
    """`GPU-` is how the UUID of any GPU begins, and there is one."""
    gpus = [{"id": "GPU-", "model": "Test GPU", "memory_mib": LIMIT_MIB}]
    with serving(environment=server.environment(), given=gpus, library=str(CLIENT / "libcuda.so.1")) as started:
        yield started


@pytest.fixture(scope="module")
def relay(server: Server) -> Iterator[Server]:
    with relaying(server) as started:
        yield started


@pytest.mark.parametrize("name", ["saxpy", "fault", "threads", "forks"])
def test_a_program_runs_to_its_end(name: str, relay: Server, folder: Path) -> None:
    done = run(build(name, folder), relay.environment())
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "done"


def test_threads_wait_and_streams_call_functions_of_the_program(library: None, folder: Path) -> None:
    gpu = {"id": "software-0", "model": "Software GPU", "memory_mib": 1024}
    with serving(given=[gpu]) as software, relaying(software) as relay:
        done = run(build("calls", folder), relay.environment())
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_a_part_of_a_gpu_is_what_a_client_sees(relay: Server, folder: Path) -> None:
    done = run(build("holder", folder), relay.environment(), str(LIMIT_MIB + 1))
    assert done.stdout == f"2 0 {LIMIT_MIB} {LIMIT_MIB}\n", done.stderr


def test_a_host_without_the_driver_says_so(folder: Path) -> None:
    gpus = [{"id": "GPU-1", "model": "A100", "memory_mib": 1}]
    with serving(given=gpus, library="/none/libcuda.so.1") as server:
        done = run(build("holder", folder), server.environment())
    assert "NVIDIA's driver must be installed on this host" in done.stderr
    assert "cuInit(0) gave 100 (CUDA_ERROR_NO_DEVICE)" in done.stderr
