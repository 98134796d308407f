"""The dashboard over real folders of runs, asked as a browser would ask."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from shoal.local.backend import LocalRuns
from shoal.web.access import Door
from shoal.web.app import application

ORIGIN = "http://127.0.0.1:8000"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    """A SHOAL_HOME of the test's own, which is not there yet."""
    folder = tmp_path / "home"
    monkeypatch.setenv("SHOAL_HOME", str(folder))
    return folder


@pytest.fixture
def door() -> Door:
    return Door(8000)


@pytest.fixture
def stranger(door) -> TestClient:
    """A browser that has not been let in, and follows no redirects."""
    return TestClient(application(LocalRuns, door), base_url=ORIGIN, follow_redirects=False)


@pytest.fixture
def browser(door, stranger) -> TestClient:
    """One that has, and acts from the dashboard's own pages."""
    assert stranger.get(f"/open?token={door.token}").status_code == 200
    stranger.headers["Origin"] = ORIGIN
    return stranger
