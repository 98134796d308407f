"""Code that is sent along with a job: a ConfigMap that comes with its first job and goes with its last."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import signal
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.api.commands import Result, Shoal
from tests.cluster.api.operators import OperatorProcess, operator_with_its_rights
from tests.cluster.api.tfjobs import KIND, names, role, tfjob, wait_for_phase
from tests.cluster.api_level import ApiCluster
from tests.cluster.errors import ClusterError
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until

KUBEFLOW = "tfjobs.v1.kubeflow.org"


@pytest.fixture(scope="module", autouse=True)
def operator(api_cluster: ApiCluster) -> Iterator[OperatorProcess]:
    with operator_with_its_rights(api_cluster, "code") as running:
        yield running


@pytest.fixture
def shoal(api_cluster: ApiCluster, namespace: Kubectl) -> Shoal:
    return Shoal(api_cluster.kubeconfig, namespace.namespace)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A job's folder: a script that is sent, and a model that .gitignore names."""
    (tmp_path / "train.py").write_text("print('step')\n")
    (tmp_path / "model.bin").write_bytes(b"no need for it")
    (tmp_path / ".gitignore").write_text("*.bin\n")
    return tmp_path


def sent(shoal: Shoal, folder: Path, name: str, *options: str, job: dict[str, Any] | None = None) -> Result:
    """`shoal run` of a job that trains until it is ended, with the folder."""
    document = yaml.safe_dump(job or tfjob(name, Worker=role()))
    return shoal("run", "-", "-d", "--no-lint", "--code", str(folder), *options, stdin=document)


def code_of(namespace: Kubectl) -> list[str]:
    return [name for name in names(namespace, "configmaps") if name.startswith("shoal-code-")]


def owners_of(namespace: Kubectl, name: str) -> list[str]:
    return sorted(owner["name"] for owner in namespace.json("get", f"configmap/{name}")["metadata"]["ownerReferences"])


def test_a_folder_is_sent_once_and_is_removed_with_the_last_job_that_uses_it(
    shoal: Shoal, namespace: Kubectl, folder: Path
) -> None:
    first = sent(shoal, folder, "first")
    assert first.code == 0, first
    assert f"packed 2 files of {folder}, " in first.err
    [name] = code_of(namespace)
    stored = namespace.json("get", f"configmap/{name}")
    packed = base64.b64decode(stored["binaryData"]["code.tar.gz"])
    digest = hashlib.sha256(packed).hexdigest()
    assert (stored["immutable"], name) == (True, f"shoal-code-{digest[:12]}")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        assert archive.getnames() == [".gitignore", "train.py"]
    code = namespace.json("get", f"{KIND}/first")["spec"]["code"]
    assert code == {"configMap": {"name": name, "digest": digest}}
    wait_for_phase(namespace, "first", "Running")

    assert sent(shoal, folder, "second").code == 0
    assert code_of(namespace) == [name]
    assert owners_of(namespace, name) == ["first", "second"]
    assert shoal("rm", "--force", "first").code == 0
    # The collector takes away the owner that is gone, which tells that it has looked.
    wait_until(lambda: owners_of(namespace, name) == ["second"], 60, "the first owner to be gone")
    assert shoal("rm", "--force", "second").code == 0
    wait_until(lambda: not code_of(namespace), 60, "the code to be removed")


def test_a_run_that_replaces_the_only_user_of_the_code_keeps_it(shoal: Shoal, namespace: Kubectl, folder: Path) -> None:
    job = tfjob("train", Worker=role(exit="0@0s"))
    assert sent(shoal, folder, "train", job=job).code == 0
    wait_for_phase(namespace, "train", "Succeeded")
    again = sent(shoal, folder, "train", "--replace", job=tfjob("train", Worker=role()))
    assert again.code == 0, again
    uid = namespace.json("get", f"{KIND}/train")["metadata"]["uid"]

    def owned() -> bool:
        [name] = code_of(namespace)
        owners = namespace.json("get", f"configmap/{name}")["metadata"]["ownerReferences"]
        return [owner["uid"] for owner in owners] == [uid]

    wait_until(owned, 60, "the code to be the new job's alone")
    wait_for_phase(namespace, "train", "Running")


def test_code_that_has_changed_is_another_config_map(shoal: Shoal, namespace: Kubectl, folder: Path) -> None:
    assert sent(shoal, folder, "first").code == 0
    (folder / "train.py").write_text("print('another step')\n")
    assert sent(shoal, folder, "second").code == 0
    assert len(code_of(namespace)) == 2


def test_what_a_config_map_does_not_take_is_refused_with_its_largest_files(
    shoal: Shoal, namespace: Kubectl, folder: Path
) -> None:
    (folder / "weights").write_bytes(os.urandom(1_000_000))
    assert sent(shoal, folder, "fits").code == 0
    (folder / "weights").write_bytes(os.urandom(1_100_000))
    result = sent(shoal, folder, "train")
    assert result.code == 2
    packed, *error = result.err.splitlines()
    assert packed.endswith(", 1.0 MiB")
    assert error[0] == "error: the code is 1.0 MiB packed, and a ConfigMap takes 1000.0 KiB; the largest files are"
    assert [line.split() for line in error[1:4]] == [
        ["1.0", "MiB", "weights"],
        ["0.0", "KiB", "train.py"],
        ["0.0", "KiB", ".gitignore"],
    ]
    assert error[4] == "hint: name what is not needed in .shoalignore, or a claim that takes it: --code-claim"
    elsewhere = sent(shoal, folder, "train", "--code-claim", "absent")
    assert elsewhere.code == 2
    assert f"error: there is no claim 'absent' in the namespace '{namespace.namespace}'\n" in elsewhere.err
    assert not namespace.exists(f"{KIND}/train")
    assert set(names(namespace, "pods")) == {"fits-worker-0"}


def test_ctrl_c_leaves_nothing_of_a_copy_that_waits_for_its_claim(
    shoal: Shoal, namespace: Kubectl, folder: Path
) -> None:
    wanted = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    about = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "unbound"}}
    namespace.apply({**about, "spec": {**wanted, "storageClassName": "nobody-provides-it"}})
    (folder / "weights").write_bytes(os.urandom(1_100_000))
    (folder / "job.yaml").write_text(yaml.safe_dump(tfjob("train", Worker=role())))
    words = ("run", str(folder / "job.yaml"), "--no-lint", "--code", str(folder), "--code-claim", "unbound")
    process = shoal.begin(*words)
    try:
        wait_until(lambda: names(namespace, "pods"), 60, "the pod that copies")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert not names(namespace, "pods")
    assert not namespace.exists(f"{KIND}/train")


def test_who_may_not_send_code_learns_it_before_the_job_is_there(
    api_cluster: ApiCluster, namespace: Kubectl, folder: Path
) -> None:
    user = api_cluster.control_plane.identity("trainer", [])
    for name, group, what in (("jobs", "shoal.dev", "tfjobs"), ("jobs-of-kubeflow", "kubeflow.org", "tfjobs")):
        namespace("create", "role", name, "--verb=get,list,create,patch,delete", f"--resource={what}.{group}")
        namespace("create", "rolebinding", name, f"--role={name}", "--user=trainer")
    result = sent(Shoal(user, namespace.namespace), folder, "train")
    assert result.code == 2
    assert "error: the cluster refuses: " in result.err
    assert "configmaps" in result.err
    assert not namespace.exists(f"{KIND}/train")
    assert code_of(namespace) == []


def test_a_job_whose_code_cannot_be_sent_is_taken_back(shoal: Shoal, namespace: Kubectl, folder: Path) -> None:
    namespace("create", "quota", "full", "--hard=count/configmaps=1")
    namespace.wait_for("quota/full", lambda it: it.get("status", {}).get("used", {}).get("count/configmaps") == "1")
    # Where a manifest brings its namespace along, nothing can be tried before.
    brought = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace.namespace}}
    result = shoal.run(brought, tfjob("train", Worker=role()), options=("--code", str(folder)))
    assert result.code == 2
    assert "exceeded quota: full" in result.err
    assert not namespace.exists(f"{KIND}/train")
    assert code_of(namespace) == []


def test_only_jobs_that_know_of_code_are_sent_some(shoal: Shoal, namespace: Kubectl, folder: Path) -> None:
    kubeflow = sent(shoal, folder, "", job=tfjob("train", api="kubeflow.org/v1", Worker=role()))
    assert (kubeflow.code, kubeflow.err) == (
        2,
        "error: train is of kubeflow.org/v1, which knows no code beside the image\n"
        "hint: convert the manifest: shoal convert --to shoal.dev\n",
    )
    git = {"git": {"url": "https://example.com/a.git", "revision": "0" * 40}}
    twice = sent(shoal, folder, "", job=tfjob("train", code=git, Worker=role()))
    assert (twice.code, twice.err.splitlines()[0]) == (2, "error: train says where its code is, in spec.code")
    assert code_of(namespace) == []


def test_a_script_that_is_not_sent_is_mentioned(shoal: Shoal, folder: Path) -> None:
    job = tfjob("train", Worker=role())
    container = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["command"] = ["python", "train.py"]
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    result = shoal("run", str(folder / "job.yaml"), "-d", "--no-lint")
    assert result.code == 0
    assert f"train: train.py must be in the image: it is not sent along\nhint: --code {folder} sends" in result.err


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ({}, "give exactly one of git, configMap and claim"),
        (
            {"git": {"url": "u", "revision": "r"}, "configMap": {"name": "code", "digest": "0" * 64}},
            "give exactly one of git, configMap and claim",
        ),
        ({"git": {"url": "u", "revision": "r", "path": "a/../../b"}}, "path must stay within the repository"),
        ({"claim": {"name": "code", "path": "/a", "digest": "0" * 64}}, "path must stay within the claim"),
        ({"configMap": {"name": "code", "digest": "short"}}, "spec.code.configMap.digest"),
        ({"git": {"url": "--upload-pack=touch", "revision": "r"}}, "spec.code.git.url"),
    ],
)
def test_the_server_refuses_code_that_cannot_be_fetched(namespace: Kubectl, code: dict[str, Any], told: str) -> None:
    with pytest.raises(ClusterError, match=told.replace(".", r"\.")):
        namespace.apply(tfjob("train", code=code, Worker=role()))
