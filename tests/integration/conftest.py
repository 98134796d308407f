from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.harness import Shoal


@pytest.fixture
def shoal(tmp_path: Path) -> Iterator[Shoal]:
    """The command, with a home of its own; whatever it left running is stopped in the end."""
    command = Shoal(tmp_path / "home")
    yield command
    command.close()
