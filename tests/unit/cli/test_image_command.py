"""`shoal image` up to the builder. What a real one makes of it, tests/cluster/node/test_image.py tests."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.unit.resources.manifests import changed, manifest

# It is there for its name, and writes down what it is given.
BUILDER = """#!/bin/sh
case "$1" in
  version|info) exit {answer} ;;
  build) echo "$@" >> {notes}; cp "$5" {notes}.dockerfile; ls -A "$6" > {notes}.context ;;
  push) echo "$@" >> {notes}; exit 7 ;;
esac
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "job.yaml").write_text(yaml.safe_dump(manifest()))
    (folder / "train.py").write_text("")
    (folder / "secrets").write_text("")
    (folder / ".shoalignore").write_text("secrets\n")
    return folder / "job.yaml"


@pytest.fixture
def builders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with podman, and with a client of Docker's that has no engine."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, answer in (("docker", 1), ("podman", 0)):
        (folder / name).write_text(BUILDER.format(answer=answer, notes=tmp_path / "notes"))
        (folder / name).chmod(0o755)
    for name in ("cp", "ls"):
        (folder / name).symlink_to(Path("/bin") / name)
    monkeypatch.setenv("PATH", str(folder))
    return tmp_path / "notes"


def test_the_dockerfile(shoal, job):
    plain = "FROM example/train\nUSER 0\nWORKDIR /shoal/code\nCOPY . ./\nUSER 1000:1000\n"
    assert shoal("image", job, "--print") == (0, plain, "")
    job.with_name("requirements.txt").write_text("numpy")
    told = shoal("image", job, "--print", "--base", "example/base:1").out.splitlines()
    assert told[0] == "FROM example/base:1"
    assert told[3:6] == [
        "COPY requirements.txt ./",
        "RUN PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --no-cache-dir -r requirements.txt",
        "COPY . ./",
    ]


def test_the_first_builder_that_works_gets_what_is_packed(shoal, job, builders):
    code, out, err = shoal("image", job)
    assert code == 0
    name = out.strip()
    assert name.startswith("train:")
    assert err == f"building {name} of 3 files on example/train, with podman\n"
    assert Path(f"{builders}.context").read_text().split() == [".shoalignore", "job.yaml", "train.py"]
    assert Path(f"{builders}.dockerfile").read_text() == shoal("image", job, "--print").out


def test_the_tag_tells_the_content(shoal, job, builders):
    def name(*options: str) -> str:
        return shoal("image", job, *options).out

    first = name()
    job.with_name("secrets").write_text("left out, so it changes nothing")
    assert name() == first
    assert name("--base", "example/other") != first
    job.with_name("train.py").write_text("another")
    assert name() != first
    assert name("--tag", "example/mine:1") == "example/mine:1\n"


def test_a_push_that_fails_names_no_image(shoal, job, builders):
    code, out, err = shoal("image", job, "--tag", "example/mine:1", "--push")
    assert (code, out) == (1, "")
    assert err.endswith(
        "error: podman could not push example/mine:1: exit code 7\n"
        "hint: its own words are above; --tag gives it a name with your registry in it\n"
    )


def test_without_a_builder_or_a_base(shoal, job, builders):
    assert shoal("image", job, "--builder", "docker")[::2] == (
        2,
        "error: docker does not work here\nhint: see what `docker version` says\n",
    )
    (builders.parent / "bin" / "podman").unlink()
    assert shoal("image", job)[::2] == (
        2,
        "error: none of docker, podman, buildah works here\n"
        "hint: install one, start Docker's engine, or print the Dockerfile with --print\n",
    )
    several = changed(manifest(roles=("Chief", "PS")), "spec.tfReplicaSpecs.PS.template.spec.containers.0.image", "b")
    job.write_text(yaml.safe_dump(several))
    assert shoal("image", job)[::2] == (
        2,
        f"error: {job} names 2 images: b, example/train\nhint: say which to build on: --base IMAGE\n",
    )
