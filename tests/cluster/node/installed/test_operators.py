"""Two operators in pods: who leads, and how the API server reaches their webhook."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.cluster.busybox import BUSYBOX
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until

pytestmark = pytest.mark.timeout(900)


def test_two_operators_run_in_pods_and_one_takes_over(installed: Kubectl, namespace: Kubectl) -> None:
    succeed(namespace, "first")
    leader = holder(installed)
    installed("delete", f"pod/{leader}", "--wait=false")
    wait_until(lambda: holder(installed) not in ("", leader), 60, "another leader")
    succeed(namespace, "second")


def test_the_webhook_is_reached_through_its_service(installed: Kubectl, namespace: Kubectl) -> None:
    """The operators make their certificates, the API server calls the Service by name: nothing is set up by hand."""
    assert installed.json("get", "secret/shoal-operator-webhook")["type"] == "Opaque"
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
