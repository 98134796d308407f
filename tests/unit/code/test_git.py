"""Revisions of a real repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shoal.code.git import fetch, pin
from shoal.resources import GitSource
from shoal.runs import RunError

WHO = ("-c", "user.name=Test", "-c", "user.email=test@example.com")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *WHO, "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, content: str) -> str:
    (folder / "job").mkdir(exist_ok=True)
    (folder / "job" / "train.py").write_text(content)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", content)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


def pinned(repository: Path, revision: str) -> str:
    source = GitSource(url=str(repository), revision=revision)
    pin(source)
    return source.revision


def test_a_branch_or_a_tag_becomes_its_commit(repository):
    first = commit(repository, "first")
    git(repository, "tag", "v1")
    git(repository, "tag", "-a", "v2", "-m", "an object of its own")
    git(repository, "branch", "feature/main")
    second = commit(repository, "second")
    assert pinned(repository, "main") == second
    assert pinned(repository, "refs/heads/main") == second
    assert pinned(repository, "HEAD") == second
    assert pinned(repository, "feature/main") == first
    assert pinned(repository, "v1") == pinned(repository, "v2") == first
    git(repository, "branch", "v1", second)
    assert pinned(repository, "v1") == first


def test_a_commit_is_taken_as_it_is(tmp_path):
    assert pinned(tmp_path / "nowhere", "0" * 40) == "0" * 40


def test_what_is_not_there_is_named(repository, tmp_path):
    commit(repository, "first")
    with pytest.raises(RunError, match="has no branch or tag 'mian'"):
        pinned(repository, "mian")
    with pytest.raises(RunError, match=f"asking {tmp_path / 'nowhere'} failed: "):
        pinned(tmp_path / "nowhere", "main")


def test_one_commit_is_fetched_without_its_history(repository, tmp_path):
    first = commit(repository, "first")
    commit(repository, "second")
    folder = tmp_path / "code"
    folder.mkdir()
    fetch(GitSource(url=f"file://{repository}", revision=first, path="job"), folder)
    assert (folder / "job" / "train.py").read_text() == "first"
    assert git(folder, "rev-list", "--all", "HEAD") == first
    with pytest.raises(RunError, match=f"there is no folder absent at {first} of file://"):
        fetch(GitSource(url=f"file://{repository}", revision=first, path="absent"), folder)
    with pytest.raises(RunError, match=r"fetching file://.* failed: "):
        fetch(GitSource(url=f"file://{repository}", revision="0" * 40), folder)


def test_a_machine_without_git(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RunError, match="there is no git here"):
        pinned(tmp_path, "main")
