"""What goes wrong with real containers, and what the job's status makes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.api.operators import OperatorProcess, install_crds
from tests.cluster.api.tfjobs import KIND, tfjob, wait_for_attempt, wait_for_phase
from tests.cluster.busybox import BUSYBOX
from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.node_level.kubelet import NODE
from tests.cluster.pods import container
from tests.cluster.waiting import wait_until

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
FIRST_TIME_ONLY = 'test "$SHOAL_ATTEMPT" = 0 || exit 0;'
"""The first attempt does what follows; the next one succeeds at once."""


@pytest.fixture(scope="module", autouse=True)
def operator(node_cluster: NodeCluster) -> Iterator[OperatorProcess]:
    install_crds(node_cluster)
    running = OperatorProcess(node_cluster, "faults").wait_until_ready()
    yield running
    running.program.stop()
    assert running.faults() == []


def worker(script: str, restart: str = "Never", pod: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """One worker that runs a script in the busybox image; `more` is of its container."""
    main = container("tensorflow", BUSYBOX, command=["sh", "-c", script], imagePullPolicy="Never") | more
    spec = {"containers": [main], "terminationGracePeriodSeconds": 1, **(pod or {})}
    return {"replicas": 1, "restartPolicy": restart, "template": {"spec": spec}}


@pytest.mark.parametrize(
    ("code", "phase"), [(1, "Failed"), (42, "Failed"), (130, "Succeeded"), (137, "Succeeded"), (143, "Succeeded")]
)
def test_exit_codes_under_exit_code_policy(code: int, phase: str, namespace: Kubectl) -> None:
    script = f"{FIRST_TIME_ONLY} echo the last words; exit {code}"
    namespace.apply(tfjob("exits", Worker=worker(script, "ExitCode")))
    status = wait_for_phase(namespace, "exits", phase)["status"]
    assert status.get("retries", 0) == (phase == "Succeeded")
    assert status["firstFailure"]["exitCode"] == code
    assert status["firstFailure"]["logTail"] == ["the last words"]


def test_out_of_memory_is_named(namespace: Kubectl) -> None:
    grows = "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done"
    namespace.apply(tfjob("hungry", Worker=worker(grows, resources={"limits": {"memory": "16Mi"}})))
    status = wait_for_phase(namespace, "hungry", "Failed")["status"]
    assert status["firstFailure"]["cause"] == "OOMKilled"
    assert "ran out of memory" in status["message"]


def test_a_deleted_pod_is_recreated(namespace: Kubectl) -> None:
    namespace.apply(tfjob("loses", Worker=worker(f"{FIRST_TIME_ONLY} exec sleep 600")))
    wait_for_attempt(namespace, "loses-worker-0", 0)
    namespace("delete", "pod/loses-worker-0", "--wait=false")
    status = wait_for_phase(namespace, "loses", "Succeeded", 60)["status"]
    assert (status["retries"], status["firstFailure"]["cause"]) == (1, "Vanished")


def test_a_pod_that_is_evicted_by_request_is_recreated(namespace: Kubectl) -> None:
    """As `kubectl drain` does it."""
    namespace.apply(tfjob("drained", Worker=worker(f"{FIRST_TIME_ONLY} exec sleep 600")))
    wait_for_attempt(namespace, "drained-worker-0", 0)
    about = {"name": "drained-worker-0", "namespace": namespace.namespace}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": about}
    path = f"/api/v1/namespaces/{namespace.namespace}/pods/drained-worker-0/eviction"
    namespace("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))
    status = wait_for_phase(namespace, "drained", "Succeeded", 60)["status"]
    assert (status["retries"], status["firstFailure"]["cause"]) == (1, "Evicted")


def test_a_pod_that_the_kubelet_evicts_is_recreated(namespace: Kubectl) -> None:
    """It writes more than its volume may hold, which the kubelet looks for every ten seconds."""
    fills = "dd if=/dev/zero of=/scratch/much bs=1M count=8; exec sleep 600"
    volume = {"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}
    mounts = [{"name": "scratch", "mountPath": "/scratch"}]
    role = worker(f"{FIRST_TIME_ONLY} {fills}", pod={"volumes": [volume]}, volumeMounts=mounts)
    namespace.apply(tfjob("fills", Worker=role))
    status = wait_for_phase(namespace, "fills", "Succeeded", 90)["status"]
    assert (status["retries"], status["firstFailure"]["cause"]) == (1, "Evicted")
    assert "scratch" in status["firstFailure"]["message"]


def test_a_missing_image_is_told_and_ends_the_job_in_time(namespace: Kubectl) -> None:
    missing = worker("true", image="shoal.test/no-such-image:1")
    namespace.apply(tfjob("imageless", {"startupTimeoutSeconds": 5}, Worker=missing))
    message = namespace.wait_for(
        f"{KIND}/imageless", lambda job: "no-such-image" in job.get("status", {}).get("message", "")
    )["status"]["message"]
    assert "worker-0" in message
    status = wait_for_phase(namespace, "imageless", "Failed")["status"]
    assert "no-such-image" in status["message"]
    wait_until(lambda: not namespace.exists("pod/imageless-worker-0"), 30, "the end of the pod")


def test_a_lost_node_is_waited_for_until_it_is_given_up(node_cluster: NodeCluster, namespace: Kubectl) -> None:
    """Nobody can tell whether the containers of a silent node still run, so Kubernetes is told by who knows."""
    namespace.apply(tfjob("stranded", Worker=worker(f"{FIRST_TIME_ONLY} exec sleep 600")))
    wait_for_attempt(namespace, "stranded-worker-0", 0)
    node_cluster.kubelet.stop()
    try:
        namespace.wait_for(f"node/{NODE}", lambda node: ready(node) == "Unknown", 90)
        namespace("delete", "pod/stranded-worker-0", "--wait=false")
        namespace.wait_for(f"{KIND}/stranded", lambda job: "its pod is being deleted" in job["status"]["message"])
        assert attempt(namespace.json("get", "pod/stranded-worker-0")) == "0"
        namespace("taint", "node", NODE, f"{OUT_OF_SERVICE}=gone:NoExecute")
        namespace.wait_for(
            "pod/stranded-worker-0", lambda pod: pod["metadata"]["labels"]["shoal.dev/attempt"] == "1", 90
        )
    finally:
        namespace.try_("taint", "node", NODE, f"{OUT_OF_SERVICE}-")
        node_cluster.restart_kubelet()
    status = wait_for_phase(namespace, "stranded", "Succeeded", 90)["status"]
    assert status["retries"] == 1


def ready(node: dict[str, Any]) -> str:
    return next(str(each["status"]) for each in node["status"]["conditions"] if each["type"] == "Ready")


def attempt(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["labels"]["shoal.dev/attempt"])
