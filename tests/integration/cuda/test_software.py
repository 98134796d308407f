"""C programs on the driver API, on software GPUs behind the wire: the agent's own server, and kernels that compute."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.integration.cuda.servers import Server, build, run, serving

GPU = {"id": "software-0", "model": "Software GPU", "memory_mib": 1024}
SECONDS = 10


@pytest.fixture(scope="module")
def software(library: None) -> Iterator[Server]:
    with serving(given=[GPU]) as started:
        yield started


@pytest.mark.parametrize("name", ["saxpy", "fault", "threads", "forks", "calls", "rectangles"])
def test_a_program_runs_to_its_end(name: str, software: Server, folder: Path) -> None:
    done = run(build(name, folder), software.environment())
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "done"
    assert done.stderr == ""


def test_what_is_wrong_is_told_of(software: Server, folder: Path) -> None:
    done = run(build("refusals", folder), software.environment())
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_what_kernels_print_and_assert_is_the_programs_output(software: Server, folder: Path) -> None:
    done = run(build("prints", folder), software.environment())
    assert done.returncode == 0, done.stderr
    failed = "i < 3:42: i < 3: block: [0,0,0], thread: [3,0,0] Assertion `i < 3` failed."
    printed = [f"i = {number}" for number in range(4)]
    assert done.stdout.splitlines() == [*printed[:3], *printed, failed, "done"]


def test_memory_beyond_the_leases_is_refused(software: Server, folder: Path) -> None:
    done = run(build("holder", folder), software.environment(), "1025")
    assert done.stdout == "2 0 1024 1024\n", done.stderr


@contextmanager
def endless(server: Server, folder: Path) -> Iterator[tuple[subprocess.Popen[str], psutil.Process]]:
    """A program whose kernel does not end, and the process that serves it."""
    before = set(psutil.Process(server.process.pid).children())
    with subprocess.Popen(
        [build("endless", folder)], env=server.environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == "running\n"
            (serves,) = set(psutil.Process(server.process.pid).children()) - before
            used, until = serves.cpu_times().user, time.monotonic() + SECONDS
            while serves.cpu_times().user < used + 0.1:
                assert time.monotonic() < until, "the kernel does not run"
                time.sleep(0.05)
            yield program, serves
        finally:
            program.kill()


def gone(process: psutil.Process) -> bool:
    try:
        process.wait(SECONDS)
    except psutil.TimeoutExpired:
        return False
    return True


def test_an_endless_kernel_ends_with_its_program(folder: Path) -> None:
    with serving(given=[GPU]) as server, endless(server, folder) as (program, serves):
        program.kill()
        assert gone(serves)
        assert server.process.poll() is None
        assert run(build("saxpy", folder), server.environment()).returncode == 0


def test_an_endless_kernel_ends_with_its_lease(folder: Path) -> None:
    with serving(given=[GPU]) as server, endless(server, folder) as (program, serves):
        server.process.terminate()
        told, _ = program.communicate(timeout=SECONDS)
        assert told == "46\n"  # CUDA_ERROR_DEVICE_UNAVAILABLE
        assert gone(serves)
