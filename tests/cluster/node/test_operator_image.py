"""The operator as users run it: the Dockerfile's image, installed by `shoal install`, in pods of a real node."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.cluster.busybox import BUSYBOX
from tests.cluster.dockerfile import built_by_dockerfile
from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.programs import run_to_end
from tests.cluster.python_image import python_image
from tests.cluster.waiting import wait_until

WHERE = "shoal-system"


@pytest.fixture(scope="module")
def installed(node_cluster: NodeCluster) -> Iterator[Kubectl]:
    """kubectl in the operator's namespace."""
    with built_by_dockerfile("operator", python_image("python-with-pip", ["pip>=25"])) as image:
        node_cluster.load(image)
    install = [sys.executable, "-c", "from shoal.cli import main; main()", "install", "--print"]
    options = [f"--namespace={WHERE}", f"--image={image.name}", "--set=image.pullPolicy=Never"]
    printed = run_to_end([*install, *options])
    everywhere = node_cluster.kubectl.within("")
    everywhere("apply", "-f", "-", stdin=printed)
    yield node_cluster.kubectl.within(WHERE)
    everywhere("delete", "--wait=false", "-f", "-", stdin=printed)


@pytest.mark.timeout(900)
def test_two_operators_run_in_pods_and_one_takes_over(installed: Kubectl, namespace: Kubectl) -> None:
    installed.wait_for("deployment/shoal-operator", lambda it: it["status"].get("availableReplicas") == 2, timeout=120)
    succeed(namespace, "first")
    leader = holder(installed)
    installed("delete", f"pod/{leader}", "--wait=false")
    wait_until(lambda: holder(installed) not in ("", leader), 60, "another leader")
    succeed(namespace, "second")
    # Neither a probe nor a fault has ended any of them.
    pods = installed.json("get", "pods")["items"]
    restarts = [status["restartCount"] for pod in pods for status in pod["status"].get("containerStatuses", [])]
    assert set(restarts) == {0}


@pytest.mark.timeout(900)
def test_the_webhook_is_reached_through_its_service(installed: Kubectl, namespace: Kubectl) -> None:
    """The operators make their certificates, the API server calls the Service by name: nothing is set up by hand."""
    installed.wait_for("deployment/shoal-operator", lambda it: it["status"].get("availableReplicas") == 2, timeout=120)
    assert {each["type"] for each in installed.json("get", "secrets")["items"]} == {"Opaque"}
    faulty = job("faulty")
    pod = faulty["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    pod["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    refused = namespace.try_("apply", "-f", "-", stdin=yaml.safe_dump(faulty))
    place = "spec.tfReplicaSpecs.Worker.template.spec.containers[0].volumeMounts[0].name"
    assert f'{place}: no volume is named "data"; add it to the template\'s spec.volumes' in refused.stderr
    assert refused.returncode == 1
    # The default is Ignore: that it was asked at all shows by what it has written.
    spelt = job("spelt")
    spelt["spec"]["tfReplicaSpecs"] = {"worker": spelt["spec"]["tfReplicaSpecs"]["Worker"]}
    namespace.apply(spelt)
    assert list(namespace.json("get", "tfjob.v1.shoal.dev/spelt")["spec"]["tfReplicaSpecs"]) == ["Worker"]


def succeed(namespace: Kubectl, name: str) -> None:
    namespace.apply(job(name))
    namespace.wait_for(f"tfjob.v1.shoal.dev/{name}", lambda it: phase(it) == "Succeeded", timeout=60)


def holder(installed: Kubectl) -> str:
    """The pod that leads, by the lease."""
    return str(installed.json("get", "lease/shoal-operator")["spec"].get("holderIdentity", ""))


def phase(job: dict[str, Any]) -> str:
    return str(job.get("status", {}).get("phase", ""))


def job(name: str) -> dict[str, Any]:
    container = {"name": "tensorflow", "image": BUSYBOX, "imagePullPolicy": "Never", "command": ["true"]}
    worker = {"replicas": 2, "restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "shoal.dev/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {"tfReplicaSpecs": {"Worker": worker}},
    }
