from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """A SHOAL_HOME of the test's own, which is not there yet."""
    folder = tmp_path / "home"
    monkeypatch.setenv("SHOAL_HOME", str(folder))
    return folder
