"""The operator as users have it: the Dockerfile's image, installed from its chart by the real Helm."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.cluster.api.operators import CRD_NAMES
from tests.cluster.dockerfile import built_by_dockerfile
from tests.cluster.helm_program import CHART, Helm
from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.python_image import python_image

WHERE = "shoal-system"
SECONDS = 180


@pytest.fixture(scope="package")
def installed(node_cluster: NodeCluster, helm: Helm) -> Iterator[Kubectl]:
    """kubectl in the operators' namespace. In the end none of them was restarted, and none had a fault."""
    with built_by_dockerfile("operator", python_image("python-with-pip", ["pip>=25"])) as image:
        node_cluster.load(image)
    repository, _, tag = image.name.rpartition(":")
    about = [f"--kubeconfig={node_cluster.kubeconfig}", f"--namespace={WHERE}"]
    chosen = [f"--set=image.{key}={value}" for key, value in (("repository", repository), ("pullPolicy", "Never"))]
    chosen += ["--set=devicePlugin.enabled=true", "--set=devicePlugin.args={--software-gpus=2,--gpu-model=A100}"]
    helm("install", "shoal", CHART, *about, "--create-namespace", *chosen, f"--set-string=image.tag={tag}")
    kubectl = node_cluster.kubectl.within(WHERE)
    kubectl.wait_for("deployment/shoal-operator", lambda it: it["status"].get("availableReplicas") == 2, SECONDS)
    yield kubectl
    assert restarts(kubectl) == {0}
    assert faults(kubectl) == []
    helm("uninstall", "shoal", *about)
    node_cluster.kubectl("delete", "crds", *CRD_NAMES, "--wait=false")
    node_cluster.kubectl("delete", f"namespace/{WHERE}", "--wait=false")


def restarts(kubectl: Kubectl) -> set[int]:
    """How often the containers of the operators were restarted: neither a probe nor a fault should have ended one."""
    pods = kubectl.json("get", "pods")["items"]
    return {status["restartCount"] for pod in pods for status in pod["status"].get("containerStatuses", [])}


def faults(kubectl: Kubectl) -> list[str]:
    """Where the operators themselves went wrong, by their logs, in which every line is JSON."""
    lines = kubectl("logs", "--selector=app.kubernetes.io/name=shoal", "--tail=-1").splitlines()
    return [line for line in lines if json.loads(line)["event"] == "a fault in the operator"]
