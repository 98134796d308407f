"""Where programs find `libcuda.so.1`, and where not any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.cuda import environment


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "libcuda.so.1").touch()
    monkeypatch.setattr(environment, "CLIENT", tmp_path)
    return str(tmp_path)


@pytest.mark.parametrize(("before", "after"), [("", ""), ("/a", ":/a"), ("/a::/b", ":/a:/b")])
def test_the_client_comes_first_once_and_goes_again(client: str, before: str, after: str) -> None:
    assert environment.with_client(before) == client + after
    assert environment.with_client(client + after) == client + after
    assert environment.without_client(client + after) == after.removeprefix(":")


def test_what_is_not_built_is_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "CLIENT", tmp_path)
    assert environment.client_folder() is None
    assert environment.with_client("/a") == "/a"
