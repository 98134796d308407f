"""Jobs of `shoal.dev/v1`, for which Kueue has no integration: by its Pod integration, each replica waits for itself."""

from __future__ import annotations

import time
from typing import Any

from tests.cluster.api.tfjobs import KIND, names, role, tell, tfjob, wait_for_attempt, wait_for_phase
from tests.cluster.kubectl import Kubectl
from tests.cluster.queues.objects import PRIORITY, QUEUE, condition, templates, wait_until_it_queues
from tests.cluster.waiting import wait_until

PODS = ("chief-0", "ps-0", "worker-0", "worker-1")


def queued(name: str, priority: str = "low", **run_policy: Any) -> dict[str, Any]:
    """A job whose four pods take a CPU each."""
    job = tfjob(name, run_policy, Chief=role(), PS=role(), Worker=role(2))
    for template in templates(job):
        template["metadata"]["labels"] |= {QUEUE: "team", PRIORITY: priority}
    return job


def test_replicas_wait_at_a_gate_until_there_is_room(namespace: Kubectl) -> None:
    namespace.apply(queued("first"))
    for each in PODS:
        wait_for_attempt(namespace, f"first-{each}", 0)
    namespace.apply(queued("second", startupTimeoutSeconds=1))
    for each in PODS:
        wait_until_it_queues(namespace, f"second-{each}")
    time.sleep(1.5)  # longer than replicas may take to start
    job = wait_for_phase(namespace, "second", "Pending")
    assert "SchedulingGated" in job["status"]["message"]

    namespace("patch", f"{KIND}/second", "--type=merge", "-p", '{"spec": {"runPolicy": {"startupTimeoutSeconds": 60}}}')
    tell(namespace, "first-chief-0", exit="0@0s")
    for each in PODS:
        wait_for_attempt(namespace, f"second-{each}", 0)
    assert condition(namespace, "first-chief-0", "Finished") == "True"


def test_replicas_give_way_to_more_important_ones_and_come_back(namespace: Kubectl) -> None:
    namespace.apply(queued("low"))
    for each in PODS:
        wait_for_attempt(namespace, f"low-{each}", 0)
    namespace.apply(queued("high", "high"))
    for each in PODS:
        wait_for_attempt(namespace, f"high-{each}", 0)
        wait_until_it_queues(namespace, f"low-{each}")
    namespace("delete", f"{KIND}/high", "--wait=false")
    wait_until(lambda: names(namespace, "pods") == {f"low-{each}" for each in PODS}, 20, "the end of high's pods")
    for each in PODS:
        namespace.wait_for(f"pod/low-{each}", lambda pod: pod["status"].get("phase") == "Running")
