"""The real controllers at work on pods of the fake kubelet."""

from __future__ import annotations

from typing import Any

from tests.cluster.kubectl import Kubectl
from tests.cluster.pods import annotations, container
from tests.cluster.waiting import wait_until


def template(restart: str, **script: str) -> dict[str, Any]:
    metadata = {"labels": {"app": "thing"}, "annotations": annotations(**script)}
    return {"metadata": metadata, "spec": {"restartPolicy": restart, "containers": [container()]}}


def test_a_deployment_becomes_available_and_replaces_lost_pods(namespace: Kubectl) -> None:
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "thing"}}, "template": template("Always")}
    namespace.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "thing"}, "spec": spec})
    namespace.wait_for("deployment/thing", lambda each: each["status"].get("availableReplicas") == 3)
    lost = namespace.json("get", "pods")["items"][0]["metadata"]["name"]
    namespace("delete", "pod", lost)
    namespace.wait_for("deployment/thing", lambda each: each["status"].get("availableReplicas") == 3)
    assert lost not in {each["metadata"]["name"] for each in namespace.json("get", "pods")["items"]}


def test_a_service_gets_the_addresses_of_ready_pods(namespace: Kubectl) -> None:
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "thing"}}, "template": template("Always")}
    namespace.apply(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "thing"}, "spec": spec},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "thing"},
            "spec": {"selector": {"app": "thing"}, "ports": [{"port": 80}]},
        },
    )

    def ready() -> bool:
        slices = namespace.json("get", "endpointslices", "-l", "kubernetes.io/service-name=thing")["items"]
        return sum(each["conditions"]["ready"] for one in slices for each in one.get("endpoints") or []) == 2

    wait_until(ready, 20, "two ready endpoints")


def test_a_job_retries_and_completes(namespace: Kubectl) -> None:
    spec = {"completions": 3, "parallelism": 3, "template": template("OnFailure", exit="1@0s, 0@0s")}
    namespace.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sums"}, "spec": spec})
    found = namespace.wait_for("job/sums", lambda each: each["status"].get("completionTime"))
    assert found["status"]["succeeded"] == 3


def test_a_job_over_its_limit_fails(namespace: Kubectl) -> None:
    spec = {"backoffLimit": 0, "template": template("Never", exit="1@0s")}
    namespace.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "breaks"}, "spec": spec})
    found = namespace.wait_for("job/breaks", lambda each: "Failed" in kinds(each))
    assert found["status"]["failed"] == 1


def test_owned_objects_go_with_their_owner(namespace: Kubectl) -> None:
    spec = {"template": template("Never")}
    namespace.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "owner"}, "spec": spec})
    wait_until(lambda: namespace.json("get", "pods")["items"], 20, "the job's pod")
    namespace("delete", "job/owner", "--wait=false")
    wait_until(lambda: not namespace.json("get", "pods")["items"], 20, "the end of the job's pod")


def kinds(found: Any) -> set[str]:
    return {each["type"] for each in found["status"].get("conditions", []) if each["status"] == "True"}
