"""What Shoal renders and installs is accepted by the real API server."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api.operators import CRD_NAMES
from tests.cluster.api_level import CHECKOUT, ApiCluster
from tests.cluster.errors import ClusterError
from tests.cluster.kubectl import Kubectl

CRDS = CHECKOUT / "charts" / "shoal" / "crds"
EXAMPLES = sorted(path for folder in ("compat", "serving") for path in (CHECKOUT / "examples" / folder).glob("*.[yj]*"))
GROUPS = ("kubeflow.org", "shoal.dev")
RENDER = [sys.executable, "-c", "from shoal.cli import main; main()", "render"]


@pytest.fixture(scope="module")
def crds(api_cluster: ApiCluster) -> Iterator[Kubectl]:
    """Shoal's CRDs, and a PodGroup, installed."""
    kubectl = api_cluster.kubectl
    kubectl("apply", "--server-side", "-f", str(CRDS))
    kubectl.apply(pod_group())
    for name in (*CRD_NAMES, "podgroups.scheduling.volcano.sh"):
        # `kubectl wait` fails on an object that has no status yet.
        kubectl.wait_for(f"crd/{name}", _established, timeout=60)
    yield kubectl
    kubectl("delete", "crd", "--all", "--wait=false")


@pytest.mark.parametrize("workload", ["pods", "controllers"])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_is_rendered_is_accepted(path: Path, workload: str, crds: Kubectl, namespace: Kubectl) -> None:
    command = [*RENDER, str(path), "--as", workload, "--namespace", namespace.namespace]
    rendered = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # The examples name the namespace their users work in.
    used = namespace.within("")
    client = used("apply", "--dry-run=client", "--validate=false", "-f", "-", stdin=rendered)
    assert client.count("created (dry run)") == rendered.count("\nkind: ")
    for account in set(re.findall(r"serviceAccountName: (\S+)", rendered)):
        # Admission looks for it, and a job's manifest does not bring it.
        namespace("create", "serviceaccount", account)
    used("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=rendered)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_manifests_of_users_are_accepted(path: Path, crds: Kubectl) -> None:
    # Some name a namespace of their own.
    crds.within("")("apply", "--dry-run=server", "-f", str(path))


@pytest.mark.parametrize("name", CRD_NAMES)
def test_crds_are_structural(name: str, crds: Kubectl) -> None:
    found = crds.json("get", f"crd/{name}")
    conditions = {each["type"]: each["status"] for each in found["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"


@pytest.mark.parametrize("group", GROUPS)
def test_fields_are_explained(group: str, crds: Kubectl) -> None:
    text = crds("explain", "tfjobs.spec", f"--api-version={group}/v1")
    fields = [line for line in text.splitlines() if line.startswith("  ") and "\t" in line]
    assert {line.split("\t")[0].strip() for line in fields} >= {"tfReplicaSpecs", "successPolicy"}
    assert "<no description>" not in text
    assert "<no description>" not in crds("explain", "tfjobs.status", f"--api-version={group}/v1")


def test_fields_of_model_servers_are_explained(crds: Kubectl) -> None:
    for part in ("spec", "spec.models", "spec.autoscaling", "spec.ingress", "spec.gateway", "status"):
        assert "<no description>" not in crds("explain", f"modelservers.{part}")


@pytest.mark.parametrize("group", GROUPS)
def test_a_misspelt_field_is_named(group: str, crds: Kubectl, namespace: Kubectl) -> None:
    job = tf_job(group)
    job["spec"]["tfReplicaSpecs"]["Worker"]["replcas"] = 2
    with pytest.raises(ClusterError, match="replcas"):
        namespace.apply(job)


@pytest.mark.parametrize("group", GROUPS)
def test_a_job_is_kept_whole_and_can_be_scaled(group: str, crds: Kubectl, namespace: Kubectl) -> None:
    job = tf_job(group)
    namespace.apply(job)
    name = f"tfjobs.v1.{group}/job"
    stored = namespace.json("get", name)["spec"]["tfReplicaSpecs"]["Worker"]
    assert stored["template"]["spec"]["containers"][0]["image"] == "busybox"
    namespace("scale", name, "--replicas=3")
    assert namespace.json("get", name)["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 3


def _established(crd: Any) -> bool:
    conditions = crd.get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def tf_job(group: str) -> dict[str, Any]:
    container = {"name": "tensorflow", "image": "busybox", "command": ["true"]}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": f"{group}/v1",
        "kind": "TFJob",
        "metadata": {"name": "job"},
        "spec": {"tfReplicaSpecs": {"Worker": worker}},
    }


def pod_group() -> dict[str, Any]:
    """Volcano's PodGroup, as far as the API server must know it to accept one."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "podgroups.scheduling.volcano.sh"},
        "spec": {
            "group": "scheduling.volcano.sh",
            "scope": "Namespaced",
            "names": {"kind": "PodGroup", "listKind": "PodGroupList", "plural": "podgroups", "singular": "podgroup"},
            "versions": [{"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
