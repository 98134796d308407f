from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cuda.servers import ROOT, Server, serving


@pytest.fixture(scope="session", autouse=True)
def library() -> None:
    subprocess.run(["make", "-s", "-C", str(ROOT / "native")], check=True)


@pytest.fixture(scope="package")
def server(library: None) -> Iterator[Server]:
    with serving() as started:
        yield started


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where test programs are built."""
    return tmp_path_factory.mktemp("programs")
