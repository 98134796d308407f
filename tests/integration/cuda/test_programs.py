"""C programs on the driver API, built as their authors would, on a GPU behind the wire whose memory is the host's."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.cuda.environment import NUMBERS, SERVERS, TOKEN
from tests.integration.cuda.servers import Server, build, run, serving

UUIDS = [str(uuid.uuid5(uuid.NAMESPACE_DNS, f"GPU {i}")) for i in range(3)]


@pytest.fixture(scope="module")
def three(library: None) -> Iterator[dict[str, str]]:
    """The environment of a program with three GPUs: `GPU 0` to `GPU 2`, with 100 to 102 MiB."""
    with serving(given=[{"id": f"host-{i}", "model": f"GPU {i}", "memory_mib": 100 + i} for i in range(3)]) as server:
        yield {**server.environment(), SERVERS: ",".join([server.address] * 3), NUMBERS: "0,1,2"}


@pytest.mark.parametrize("name", ["saxpy", "fault", "threads", "forks", "pointers", "rectangles"])
def test_a_program_runs_to_its_end(name: str, server: Server, folder: Path) -> None:
    done = run(build(name, folder), server.environment())
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "done"
    assert done.stderr == ""


def test_what_is_wrong_is_told_of_and_what_is_not_covered_is_named_once(server: Server, folder: Path) -> None:
    done = run(build("refusals", folder), server.environment())
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert done.stderr.splitlines() == [
        "shoal: cuMemAllocManaged is not supported here",
        "shoal: cuGraphCreate is not supported here",
    ]


def test_gpus_are_those_of_the_lease_by_server_and_number(folder: Path) -> None:
    gpus = [{"id": f"host-{i}", "model": f"GPU {i}", "memory_mib": 100 + i} for i in range(3)]
    program = build("saxpy", folder)
    with serving(gpus=3, given=gpus) as several, serving() as other:
        environment = several.environment()
        environment[SERVERS] = f"{several.address},{several.address},{other.address}"
        done = run(program, {**environment, "SHOAL_GPU_NUMBERS": "2,0,0"})
        assert (done.returncode, done.stdout.splitlines()[0]) == (0, "3 GPU 2 102"), done.stderr
        done = run(program, {**environment, "SHOAL_GPU_NUMBERS": "0,7,0"})
        assert done.returncode == 1
        assert f"SHOAL_GPU_NUMBERS: the server {several.address} has 3 GPUs, and no number 7" in done.stderr


@pytest.mark.parametrize(
    ("visible", "told"),
    [
        ("2,0", "2 GPU 2 102"),
        (" 1 ", "1 GPU 1 101"),
        ("1,9,0", "1 GPU 1 101"),
        ("2,,0", "1 GPU 2 102"),
        (f"GPU-{UUIDS[1]},gpu-{UUIDS[0].upper()}", "2 GPU 1 101"),
        (f"GPU-{UUIDS[2][:6]}", "1 GPU 2 102"),
    ],
)
def test_the_program_sees_those_that_it_chooses(three: dict[str, str], folder: Path, visible: str, told: str) -> None:
    done = run(build("saxpy", folder), {**three, "CUDA_VISIBLE_DEVICES": visible})
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, told), done.stderr


@pytest.mark.parametrize("visible", ["", "-1", "0,0", "9", "GPU-", "GPU-ffffffff", "none"])
def test_who_chooses_none_sees_none(three: dict[str, str], folder: Path, visible: str) -> None:
    done = run(build("saxpy", folder), {**three, "CUDA_VISIBLE_DEVICES": visible})
    assert "cuInit(0) gave 100 (CUDA_ERROR_NO_DEVICE)" in done.stderr


def test_without_a_lease_there_is_no_device(server: Server, folder: Path) -> None:
    environment = {name: value for name, value in server.environment().items() if name != SERVERS}
    done = run(build("saxpy", folder), environment)
    assert "cuInit(0) gave 100 (CUDA_ERROR_NO_DEVICE)" in done.stderr


def test_another_token_is_refused_and_the_agent_hears_of_it(folder: Path) -> None:
    with serving() as server:
        done = run(build("saxpy", folder), {**server.environment(), TOKEN: "u" * 43})
        assert f"shoal: the GPU server {server.address} refuses: not the token of this lease" in done.stderr
        assert "cuInit(0) gave 800 (CUDA_ERROR_NOT_PERMITTED)" in done.stderr
        assert server.said() == {"refused": "not the token of this lease", "client": "127.0.0.1"}


def test_a_server_that_is_not_there_is_told_of(folder: Path) -> None:
    environment = {**os.environ, SERVERS: "127.0.0.1:1", TOKEN: "t", "LD_LIBRARY_PATH": ""}
    with serving() as server:
        environment = {**server.environment(), SERVERS: "127.0.0.1:1"}
    done = run(build("saxpy", folder), environment)
    assert "shoal: the GPU server 127.0.0.1:1 cannot be reached" in done.stderr
    assert "cuInit(0) gave 46 (CUDA_ERROR_DEVICE_UNAVAILABLE)" in done.stderr
