"""`spec.code` on one machine: a revision is fetched when the run is made, and stays what it was."""

from __future__ import annotations

import subprocess

import pytest
import yaml

from tests.integration.harness import Job

SCRIPT = """
import os, pathlib, sys, time
print("this is", {name!r}, "in", pathlib.Path.cwd().name, "told of", sys.argv[1])
"""


def git(folder, *words):
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    subprocess.run(["git", *who, "-C", str(folder), *words], check=True, capture_output=True)


def commit(repository, name):
    folder = repository / "digits"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.py").write_text(SCRIPT.format(name=name))
    git(repository, "init", "--quiet", "--initial-branch=main")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", name)


@pytest.fixture
def repository(tmp_path):
    commit(tmp_path / "repository", "first")
    return tmp_path / "repository"


def write(tmp_path, code):
    container = {"name": "tensorflow", "image": "example/train"}
    container["command"] = ["python", "train.py", "/shoal/code/digits"]
    spec = {"code": code, "tfReplicaSpecs": {"Worker": {"template": {"spec": {"containers": [container]}}}}}
    manifest = {"apiVersion": "shoal.dev/v1", "kind": "TFJob", "metadata": {"name": "job"}, "spec": spec}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(manifest))
    return str(tmp_path / "job.yaml")


def test_a_run_starts_in_the_revision_and_keeps_it(shoal, tmp_path, repository):
    file = write(tmp_path, {"git": {"url": str(repository), "revision": "main", "path": "digits"}})
    result = shoal("run", file)
    assert result.returncode == 0, result.stderr
    head = subprocess.run(["git", "-C", str(repository), "rev-parse", "HEAD"], capture_output=True, text=True).stdout
    assert f"job: main of {repository} is {head}" in result.stderr
    assert "SH404" not in result.stderr
    job = Job(shoal, "job")
    assert f"this is first in digits told of {job.folder}/code/digits" in job.log("worker-0").replace("'", "")
    written = yaml.safe_load((job.folder / "manifest.yaml").read_text())
    assert written["spec"]["code"]["git"]["revision"] == head.strip()
    commit(repository, "second")
    assert shoal("run", file, "--replace").returncode == 0
    assert "this is second" in job.log("worker-0").replace("'", "")


def test_a_run_that_cannot_fetch_its_code_changes_nothing(shoal, tmp_path, repository):
    code = {"git": {"url": str(repository), "revision": "main", "path": "digits"}}
    assert shoal("run", write(tmp_path, code)).returncode == 0
    code["git"]["path"] = "numbers"
    result = shoal("run", write(tmp_path, code), "--replace")
    assert result.returncode == 2
    assert "error: there is no folder numbers at " in result.stderr
    job = Job(shoal, "job")
    assert job.phase == "Succeeded"
    assert [path.name for path in job.folder.parent.iterdir() if path.name.startswith(".code")] == []


def test_code_that_is_in_a_cluster_is_refused(shoal, tmp_path):
    archive = {"name": "shoal-code-0123456789ab", "digest": "0" * 64}
    result = shoal("run", write(tmp_path, {"configMap": archive}))
    assert (result.returncode, result.stderr.splitlines()[-2:]) == (
        2,
        [
            "error: job takes its code from the ConfigMap 'shoal-code-0123456789ab', which is in a cluster",
            "hint: remove spec.code: on this machine replicas start in the manifest's folder",
        ],
    )
    result = shoal("run", write(tmp_path, None), "--code", str(tmp_path))
    assert result.returncode == 2
    assert "error: --code sends a folder to a cluster, and the jobs run on this machine\nhint: " in result.stderr
