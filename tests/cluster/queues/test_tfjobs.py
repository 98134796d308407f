"""Jobs of `kubeflow.org/v1` in the queues of Kueue itself: its manager, its webhooks, its own rights.

`tests/cluster/api/test_kueue.py` plays Kueue's part, and is the faster of the two.
"""

from __future__ import annotations

from typing import Any

from tests.cluster.api.test_kueue import conditions, pools
from tests.cluster.api.tfjobs import names, role, tell, tfjob, wait_for_attempt, wait_for_phase
from tests.cluster.kubectl import Kubectl
from tests.cluster.queues.objects import (
    PRIORITY,
    QUEUE,
    condition,
    make_queue,
    templates,
    wait_until_it_queues,
    workloads,
)
from tests.cluster.waiting import wait_until

KIND = "tfjobs.v1.kubeflow.org"
PODS = ("chief-0", "ps-0", "worker-0", "worker-1")


def queued(name: str, *, workers: int = 2, labels: dict[str, str] | None = None, **run_policy: Any) -> dict[str, Any]:
    """A job that takes `workers` + 2 CPUs, as a user writes it."""
    job = tfjob(name, run_policy, "kubeflow.org/v1", Chief=role(), PS=role(), Worker=role(workers))
    templates(job)
    job["metadata"]["labels"] = {QUEUE: "team", **(labels or {})}
    return job


def wait_until_all_run(namespace: Kubectl, name: str, attempt: int = 0) -> None:
    for each in PODS:
        wait_for_attempt(namespace, f"{name}-{each}", attempt)


def condition_of(thing: dict[str, Any], type: str) -> dict[str, str]:
    return next(each for each in thing["status"]["conditions"] if each["type"] == type)


def test_what_fits_runs_and_the_rest_waits_for_it_to_end(namespace: Kubectl) -> None:
    namespace.apply(queued("first"))
    wait_until_all_run(namespace, "first")
    namespace.apply(queued("second"))
    wait_until_it_queues(namespace, "second")
    job = wait_for_phase(namespace, "second", "Suspended", kind=KIND)
    assert conditions(job) == {"Suspended": "True"}
    assert names(namespace, "pods") == {f"first-{each}" for each in PODS}
    assert pools(namespace) == {"a"}
    wait_until(lambda: condition(namespace, "first", "PodsReady") == "True", 20, "Kueue to see that it runs")

    tell(namespace, "first-chief-0", exit="0@0s")
    wait_for_phase(namespace, "first", "Succeeded", kind=KIND)
    wait_until_all_run(namespace, "second")
    assert condition(namespace, "first", "Finished") == "True"


def test_a_job_gives_way_to_a_more_important_one_and_costs_no_retry(namespace: Kubectl) -> None:
    namespace.apply(queued("low", labels={PRIORITY: "low"}, backoffLimit=0, activeDeadlineSeconds=600))
    wait_until_all_run(namespace, "low")
    namespace.apply(queued("high", labels={PRIORITY: "high"}))
    wait_until_all_run(namespace, "high")
    job = wait_for_phase(namespace, "low", "Suspended", kind=KIND)
    assert "nodeSelector" not in job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    assert condition(namespace, "low", "Preempted") == "True"
    wait_until(lambda: names(namespace, "pods") == {f"high-{each}" for each in PODS}, 20, "the end of low's pods")

    tell(namespace, "high-chief-0", exit="0@0s")
    wait_until_all_run(namespace, "low", attempt=1)
    tell(namespace, "low-chief-0", exit="0@0s")
    job = wait_for_phase(namespace, "low", "Succeeded", kind=KIND)
    assert "retries" not in job["status"]


def test_jobs_that_are_deleted_leave_the_queue_and_their_quota(namespace: Kubectl) -> None:
    def left(name: str) -> bool:
        return any(name in each for each in names(namespace, f"workloads,{KIND}"))

    namespace.apply(queued("runs"))
    wait_until_all_run(namespace, "runs")
    for name in ("waits", "next"):
        namespace.apply(queued(name))
        wait_until_it_queues(namespace, name)
    namespace("delete", f"{KIND}/waits", "--wait=false")
    wait_until(lambda: not left("waits"), 20, "the end of a job that waits")
    namespace("delete", f"{KIND}/runs", "--wait=false")
    wait_until_all_run(namespace, "next")
    assert not left("runs")


def test_pods_that_fail_are_started_again_within_the_quota_until_the_job_has_failed(namespace: Kubectl) -> None:
    namespace.apply(queued("fails", backoffLimit=1))
    wait_until_all_run(namespace, "fails")
    namespace.apply(queued("next"))
    wait_until_it_queues(namespace, "next")
    namespace("delete", "pod/fails-worker-0", "--wait=false")
    wait_for_attempt(namespace, "fails-worker-0", 1)
    assert condition(namespace, "next", "QuotaReserved") == "False"
    tell(namespace, "fails-chief-0", exit="1@0s")
    job = wait_for_phase(namespace, "fails", "Failed", kind=KIND)
    wait_until_all_run(namespace, "next")
    known = condition_of(workloads(namespace, "fails")[0], "Finished")
    assert (known["reason"], known["message"]) == ("Failed", condition_of(job, "Failed")["message"])


def test_a_job_that_is_scaled_is_stopped_and_admitted_anew(namespace: Kubectl) -> None:
    namespace.apply(queued("scaled", workers=1))
    wait_for_attempt(namespace, "scaled-worker-0", 0)
    namespace("scale", f"{KIND}/scaled", "--replicas=2")
    for each in PODS[:3]:
        wait_for_attempt(namespace, f"scaled-{each}", 1)
    namespace.wait_for("pod/scaled-worker-1", lambda pod: pod["status"].get("phase") == "Running")
    namespace("scale", f"{KIND}/scaled", "--replicas=3")
    wait_until_it_queues(namespace, "scaled")
    job = wait_for_phase(namespace, "scaled", "Suspended", kind=KIND)
    assert "retries" not in job["status"]


def test_replicas_that_want_one_machine_get_it(namespace: Kubectl) -> None:
    """Topology-aware scheduling: Kueue chooses the node, and lifts the gate that it put on the templates."""
    make_queue(namespace, "near", "b")
    job = tfjob("near", api="kubeflow.org/v1", Worker=role(4))
    for template in templates(job):
        template["metadata"]["annotations"]["kueue.x-k8s.io/podset-required-topology"] = "kubernetes.io/hostname"
    job["metadata"]["labels"] = {QUEUE: "near"}
    namespace.apply(job)
    for index in range(4):
        wait_for_attempt(namespace, f"near-worker-{index}", 0)
    assert len({pod["spec"]["nodeName"] for pod in namespace.json("get", "pods")["items"]}) == 1
