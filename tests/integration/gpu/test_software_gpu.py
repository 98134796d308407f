"""Programs under `shoal gpu run`, on software GPUs of the pool: broker, agent, server and kernels are the real ones."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import httpx2
import pytest

from tests.integration.cuda.servers import HERE, ROOT, build
from tests.integration.harness import SHOAL


def run(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    asked = [*SHOAL, "gpu", "run", "-p", "50", "--wait", "2m", "--", *command]
    return subprocess.run(asked, env=environment, capture_output=True, text=True, timeout=250)


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    subprocess.run(["make", "-s", "-C", str(ROOT / "native")], check=True)


def test_a_program_computes_on_half_a_gpu(pool: tuple[httpx2.Client, dict[str, str]], tmp_path: Path) -> None:
    done = run(pool[1], str(build("saxpy", tmp_path)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["1 software 8192", "done"]


def test_kernels_of_numba_compute(pool: tuple[httpx2.Client, dict[str, str]]) -> None:
    assert find_spec("numba_cuda"), "numba-cuda is not here: make test-integration, or uv pip install --group numba"
    done = run(pool[1], sys.executable, "-W", "ignore", str(HERE / "programs" / "numba_kernels.py"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["thread 0", "thread 1", "thread 2", "700"]
