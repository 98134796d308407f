"""A job under Kueue, whose part the test plays: the same edits in the same order, as the integration
`kubeflow.org/tfjob` of Kueue 0.17 makes them. The webhook is asked about each, and has to let all of them through.

`tests/cluster/queues` has Kueue itself, which takes minutes to build.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.api.operators import established, install_crds
from tests.cluster.api.test_manifests import pod_group
from tests.cluster.api.tfjobs import names, role, tell, tfjob, wait_for_attempt, wait_for_phase
from tests.cluster.api.webhooks import WebhookOperator, register, unregister
from tests.cluster.api_level import ApiCluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until

API = "kubeflow.org/v1"
KIND = "tfjobs.v1.kubeflow.org"
ROLES = ("Chief", "PS", "Worker")
TAINT = {"key": "pool", "operator": "Exists", "effect": "NoSchedule"}
GATE = {"name": "kueue.x-k8s.io/topology"}


@pytest.fixture(scope="module", autouse=True)
def operator(api_cluster: ApiCluster) -> Iterator[WebhookOperator]:
    install_crds(api_cluster)
    running = WebhookOperator(api_cluster, "kueue", "--no-leader-elect")
    register(api_cluster, running)
    nodes = sorted(each["metadata"]["name"] for each in api_cluster.kubectl.json("get", "nodes")["items"])
    for node, pool in zip(nodes, "ab", strict=False):
        api_cluster.kubectl("label", "--overwrite", f"node/{node}", f"pool={pool}")
    yield running.wait_until_ready()
    api_cluster.kubectl("label", "nodes", "--all", "pool-")
    running.process.program.stop()
    unregister(api_cluster)
    assert running.process.faults() == []


def queued(name: str, **run_policy: Any) -> dict[str, Any]:
    """As Kueue's own webhook leaves a job that names a queue."""
    job = tfjob(name, {"suspend": True, **run_policy}, API, Chief=role(), PS=role(), Worker=role(2))
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    return job


def admit(namespace: Kubectl, name: str, pool: str) -> None:
    """Kueue starts the job: in one edit it is resumed, and every template is told where its pods may run."""
    template = {
        "metadata": {
            "labels": {"kueue.x-k8s.io/podset": "main"},
            "annotations": {"kueue.x-k8s.io/workload": f"tfjob-{name}"},
        },
        "spec": {"nodeSelector": {"pool": pool}, "tolerations": [TAINT]},
    }
    patch(namespace, name, suspend=False, template=template)


def evict(namespace: Kubectl, name: str) -> None:
    """Kueue stops the job: in one edit it is suspended, and the templates are as they were."""
    template = {
        "metadata": {
            "labels": {"kueue.x-k8s.io/podset": None},
            "annotations": {"kueue.x-k8s.io/workload": None},
        },
        "spec": {"nodeSelector": None, "tolerations": None},
    }
    patch(namespace, name, suspend=True, template=template)


def patch(namespace: Kubectl, name: str, suspend: bool, template: dict[str, Any]) -> None:
    specs = {each: {"template": template} for each in ROLES}
    edit = {"spec": {"runPolicy": {"suspend": suspend}, "tfReplicaSpecs": specs}}
    namespace("patch", f"{KIND}/{name}", "--type=merge", "-p", json.dumps(edit))


def conditions(job: dict[str, Any]) -> dict[str, str]:
    return {each["type"]: each["status"] for each in job["status"]["conditions"]}


def active(job: dict[str, Any]) -> int:
    """What Kueue takes for the job's use of its quota."""
    return sum(each.get("active", 0) for each in job["status"].get("replicaStatuses", {}).values())


def pools(namespace: Kubectl) -> set[str]:
    return {pod["spec"]["nodeSelector"]["pool"] for pod in namespace.json("get", "pods")["items"]}


def test_a_job_waits_is_admitted_evicted_and_admitted_elsewhere(namespace: Kubectl) -> None:
    namespace.apply(queued("train", activeDeadlineSeconds=600, backoffLimit=0))
    job = wait_for_phase(namespace, "train", "Suspended", kind=KIND)
    assert conditions(job) == {"Suspended": "True"}
    assert not names(namespace, "pods,services,configmaps")

    admit(namespace, "train", "a")
    job = wait_for_phase(namespace, "train", "Running", kind=KIND)
    wait_until(lambda: active(namespace.json("get", f"{KIND}/train")) == 4, 20, "all four replicas")
    assert conditions(job)["Running"] == "True"
    assert conditions(job)["Suspended"] == "False"
    assert pools(namespace) == {"a"}
    pod = namespace.json("get", "pod/train-worker-1")
    assert pod["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "main"
    assert pod["metadata"]["annotations"]["kueue.x-k8s.io/workload"] == "tfjob-train"
    assert TAINT in pod["spec"]["tolerations"]
    began = job["status"]["startTime"]

    evict(namespace, "train")
    job = wait_for_phase(namespace, "train", "Suspended", kind=KIND)
    assert (active(job), "startTime" in job["status"]) == (0, False)
    assert conditions(job)["Running"] == "False"
    assert conditions(job)["Suspended"] == "True"
    wait_until(lambda: not names(namespace, "pods,services,configmaps"), 20, "the end of all that it had")

    admit(namespace, "train", "b")
    wait_for_attempt(namespace, "train-chief-0", 1)
    job = wait_for_phase(namespace, "train", "Running", kind=KIND)
    assert pools(namespace) == {"b"}
    assert job["status"]["startTime"] > began
    tell(namespace, "train-chief-0", exit="0@0s")
    job = wait_for_phase(namespace, "train", "Succeeded", kind=KIND)
    # With a limit of none, one retry would have been the end of it.
    assert "retries" not in job["status"]
    assert conditions(job)["Succeeded"] == "True"
    namespace.wait_for(f"{KIND}/train", lambda job: active(job) == 0)


def test_a_job_that_is_admitted_again_at_once_leaves_its_old_place(namespace: Kubectl) -> None:
    """Kueue waits for no pod to be gone, only for none to be active."""
    namespace.apply(queued("quick"))
    wait_for_phase(namespace, "quick", "Suspended", kind=KIND)
    admit(namespace, "quick", "a")
    wait_for_attempt(namespace, "quick-worker-1", 0)
    evict(namespace, "quick")
    namespace.wait_for(f"{KIND}/quick", lambda job: active(job) == 0)
    admit(namespace, "quick", "b")
    for name in ("chief-0", "ps-0", "worker-0", "worker-1"):
        wait_for_attempt(namespace, f"quick-{name}", 1)
    assert pools(namespace) == {"b"}
    assert "retries" not in namespace.json("get", f"{KIND}/quick")["status"]


def test_a_job_that_waits_has_no_pod_group(api_cluster: ApiCluster, namespace: Kubectl) -> None:
    api_cluster.kubectl.apply(pod_group())
    api_cluster.kubectl.wait_for("crd/podgroups.scheduling.volcano.sh", established)
    namespace.apply(queued("gang", schedulingPolicy={"minAvailable": 4}))
    wait_for_phase(namespace, "gang", "Suspended", kind=KIND)
    assert not names(namespace, "podgroups")
    admit(namespace, "gang", "a")
    namespace.wait_for("podgroups.scheduling.volcano.sh/gang", lambda group: group["spec"]["minMember"] == 4)
    evict(namespace, "gang")
    wait_until(lambda: not names(namespace, "podgroups,pods"), 20, "the end of the group")


def test_a_scheduling_gate_reaches_the_pods(namespace: Kubectl) -> None:
    namespace.apply(queued("gated"))
    wait_for_phase(namespace, "gated", "Suspended", kind=KIND)
    patch(namespace, "gated", suspend=False, template={"spec": {"schedulingGates": [GATE]}})
    pod = namespace.wait_for("pod/gated-worker-0", lambda _: True)
    assert pod["spec"]["schedulingGates"] == [GATE]


def test_a_job_that_runs_in_another_cluster_keeps_the_status_that_kueue_copies(namespace: Kubectl) -> None:
    """MultiKueue: the copy in the other cluster has no `managedBy`, and runs there; this one only shows its status."""
    namespace.apply(queued("remote", managedBy="kueue.x-k8s.io/multikueue"))
    now = "2026-01-01T00:00:00Z"
    running = {"type": "Running", "status": "True", "reason": "TFJobRunning", "message": "there"}
    running |= {"lastUpdateTime": now, "lastTransitionTime": now}
    copied = {"conditions": [running], "replicaStatuses": {"Worker": {"active": 2}}, "startTime": now}
    words = ("--subresource=status", "--type=merge", "-p", json.dumps({"status": copied}))
    namespace("patch", f"{KIND}/remote", *words)
    namespace("patch", f"{KIND}/remote", "--type=merge", "-p", '{"spec": {"runPolicy": {"suspend": false}}}')
    # Of a job that came later the operator has thought already.
    namespace.apply(tfjob("later", Worker=role(exit="0@0s")))
    wait_for_phase(namespace, "later", "Succeeded")
    stored = namespace.json("get", f"{KIND}/remote")
    assert stored["status"]["conditions"] == [running]
    assert active(stored) == 2
    assert names(namespace, "pods") == {"later-worker-0"}
