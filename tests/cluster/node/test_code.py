"""Code that comes into real pods beside the image: a changed script runs with no image built."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api.commands import Result, Shoal
from tests.cluster.api.operators import OperatorProcess, install_crds
from tests.cluster.images import Image
from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.programs import Program
from tests.cluster.python_image import python_image

SCRIPT = """
import os, pathlib
import told
print("told", told.WHAT, "in", os.getcwd())
print("with", sorted(path.name for path in pathlib.Path().iterdir() if path.name != ".git"))
try:
    pathlib.Path("written").touch()
except OSError as fault:
    print("written:", fault.strerror)
"""

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module", autouse=True)
def operator(node_cluster: NodeCluster) -> Iterator[OperatorProcess]:
    install_crds(node_cluster)
    running = OperatorProcess(node_cluster, "code")
    yield running.wait_until_ready()
    running.program.stop()


@pytest.fixture(scope="module")
def image(node_cluster: NodeCluster) -> Image:
    """Python and git, and nothing of the job's."""
    made = python_image("python-and-git", debian=("git",))
    node_cluster.load(made)
    return made


@pytest.fixture
def shoal(node_cluster: NodeCluster, namespace: Kubectl) -> Shoal:
    """In a namespace that takes no pod below the strictest level of security."""
    namespace("label", "namespace", namespace.namespace, "pod-security.kubernetes.io/enforce=restricted")
    made = Shoal(node_cluster.kubeconfig, namespace.namespace)
    made.environment["PATH"] = f"{Path(namespace.program).parent}{os.pathsep}{os.environ['PATH']}"
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "job"
    made.mkdir()
    (made / "train.py").write_text(SCRIPT)
    (made / "told.py").write_text("WHAT = 'first'\n")
    return made


def ended(shoal: Shoal, name: str, image: Image, *options: str, **spec: Any) -> Result:
    """`shoal run` of `python3 train.py`, to its end."""
    container = {"name": "tensorflow", "image": image.name, "imagePullPolicy": "Never"}
    container["command"] = ["python3", "train.py"]  # type: ignore[assignment]
    worker = {"restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    job = {"apiVersion": "shoal.dev/v1", "kind": "TFJob", "metadata": {"name": name}}
    return shoal.run({**job, "spec": {"tfReplicaSpecs": {"Worker": worker}, **spec}}, options=options)


def run(shoal: Shoal, name: str, image: Image, *options: str, **spec: Any) -> Result:
    """The same of a job that succeeds."""
    result = ended(shoal, name, image, *options, **spec)
    assert result.code == 0, result.err
    return result


def said(shoal: Shoal, name: str) -> list[str]:
    logs = shoal("logs", name)
    assert logs.code == 0, logs.err
    return [line.removeprefix("worker-0 | ") for line in logs.out.splitlines()]


def test_a_changed_script_runs_with_no_image_built(shoal: Shoal, image: Image, folder: Path) -> None:
    run(shoal, "train", image, "--code", str(folder))
    assert said(shoal, "train") == [
        "told first in /shoal/code",
        "with ['told.py', 'train.py']",
        "written: Read-only file system",
    ]
    (folder / "told.py").write_text("WHAT = 'second'\n")
    run(shoal, "train", image, "--replace", "--code", str(folder))
    assert said(shoal, "train")[0] == "told second in /shoal/code"


def test_a_folder_beyond_the_limit_goes_to_a_claim_once(
    shoal: Shoal, namespace: Kubectl, image: Image, folder: Path, claim: Path
) -> None:
    (folder / "weights").write_bytes(os.urandom(3_000_000))
    options = ("--code", str(folder), "--code-claim", "train")
    first = run(shoal, "first", image, *options)
    assert "\ncopying it to the claim train\n" in first.err
    assert said(shoal, "first")[1] == "with ['told.py', 'train.py', 'weights']"
    second = run(shoal, "second", image, *options)
    assert "copying" not in second.err
    digest = namespace.json("get", "tfjob.v1.shoal.dev/second")["spec"]["code"]["claim"]["digest"]
    assert [path.name for path in (claim / "shoal-code").iterdir()] == [f"{digest}.tar.gz"]
    pods = namespace("get", "pods", "-o", "name").split()
    assert sorted(pods) == ["pod/first-worker-0", "pod/second-worker-0"]


def test_a_claim_that_cannot_be_written_is_refused_and_leaves_no_pod(
    shoal: Shoal, namespace: Kubectl, image: Image, folder: Path, claim: Path
) -> None:
    (folder / "weights").write_bytes(os.urandom(1_100_000))
    claim.chmod(0o755)
    refused = ended(shoal, "train", image, "--code", str(folder), "--code-claim", "train")
    assert refused.code == 2
    *_, error, hint = refused.err.splitlines()
    assert error.startswith("error: cannot copy the code to the claim train: /shoal/claim/shoal-code/")
    assert error.endswith(".tar.gz: Permission denied")
    assert hint == "hint: may the job's user (the pod's securityContext) write there?"
    assert namespace("get", "pods,tfjobs.v1.shoal.dev", "-o", "name") == ""


def test_an_archive_that_was_changed_fails_the_job_and_says_so(
    shoal: Shoal, namespace: Kubectl, image: Image, folder: Path
) -> None:
    packed = folder.parent / "code.tar.gz"
    subprocess.run(["tar", "-czf", packed, "-C", folder, "."], check=True)
    namespace("create", "configmap", "by-hand", f"--from-file={packed}")
    result = ended(shoal, "train", image, code={"configMap": {"name": "by-hand", "digest": "0" * 64}})
    assert result.code == 1
    told = namespace.json("get", "tfjob.v1.shoal.dev/train")["status"]["firstFailure"]
    assert "/shoal/archive/code.tar.gz is not the code that was asked for" in "\n".join(told["logTail"])


def test_a_revision_of_a_repository(
    shoal: Shoal, namespace: Kubectl, node_cluster: NodeCluster, image: Image, folder: Path, tmp_path: Path
) -> None:
    repository = tmp_path / "repositories" / "models"
    (repository / "digits").mkdir(parents=True)
    for name in ("train.py", "told.py"):
        (folder / name).rename(repository / "digits" / name)
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    for words in (["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "-m", "first"]):
        subprocess.run(["git", *who, "-C", str(repository), *words], check=True)
    address = node_cluster.host_address
    options = ["--export-all", f"--base-path={repository.parent}", f"--listen={address}", "--port=9418", "--reuseaddr"]
    server = Program("git daemon", ["git", "daemon", "--verbose", *options], tmp_path / "daemon.log")
    try:
        server.wait_until(lambda: "Ready to rumble" in (tmp_path / "daemon.log").read_text(), 30)
        url = f"git://{address}/models"
        git = {"url": url, "revision": "main", "path": "digits", "image": image.name}
        result = run(shoal, "train", image, code={"git": git})
    finally:
        server.stop()
    commit = namespace.json("get", "tfjob.v1.shoal.dev/train")["spec"]["code"]["git"]["revision"]
    assert f"train: main of {url} is {commit}\n" in result.err
    assert said(shoal, "train") == [
        "told first in /shoal/code/digits",
        "with ['told.py', 'train.py']",
        "written: Read-only file system",
    ]
