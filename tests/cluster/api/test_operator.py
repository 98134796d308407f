"""The operator runs jobs on a real API server: how they start, go wrong, recover and end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.api.operators import OperatorProcess, established, operator_with_its_rights
from tests.cluster.api.test_manifests import pod_group
from tests.cluster.api.tfjobs import (
    KIND,
    SCRIPT,
    names,
    reasons,
    role,
    tell,
    tfjob,
    wait_for_attempt,
    wait_for_phase,
    wait_until_nothing_is_left,
)
from tests.cluster.api.webhooks import mounting
from tests.cluster.api_level import ApiCluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until


@pytest.fixture(scope="module", autouse=True)
def operator(api_cluster: ApiCluster) -> Iterator[OperatorProcess]:
    with operator_with_its_rights(api_cluster, "all") as running:
        yield running


@pytest.fixture(scope="module")
def volcano(operator: OperatorProcess, api_cluster: ApiCluster) -> None:
    api_cluster.kubectl.apply(pod_group())
    api_cluster.kubectl.wait_for("crd/podgroups.scheduling.volcano.sh", established)


@pytest.mark.parametrize("api", ["shoal.dev/v1", "kubeflow.org/v1"])
def test_a_parameter_server_job_succeeds(api: str, namespace: Kubectl) -> None:
    kind = f"tfjobs.v1.{api.split('/')[0]}"
    namespace.apply(tfjob("ps-job", api=api, Chief=role(), PS=role(), Worker=role(2)))
    wait_for_phase(namespace, "ps-job", "Running", kind=kind)
    replicas = {"ps-job-chief-0", "ps-job-ps-0", "ps-job-worker-0", "ps-job-worker-1"}
    assert names(namespace, "pods") == names(namespace, "services") == replicas
    assert names(namespace, "configmaps") == {"ps-job-cluster-spec"}
    tell(namespace, "ps-job-chief-0", exit="0@0s")
    job = wait_for_phase(namespace, "ps-job", "Succeeded", kind=kind)
    assert job["status"]["replicaStatuses"]["Chief"]["succeeded"] == 1
    # The servers were ended, and what trained is kept for its log.
    wait_until(lambda: names(namespace, "pods") == {"ps-job-chief-0"}, 10, "the end of the servers")
    wait_until(lambda: not names(namespace, "services,configmaps"), 10, "the end of the Services")
    assert {"TFJobCreated", "SuccessfulCreatePod", "TFJobRunning", "TFJobSucceeded"} <= set(
        reasons(namespace, "ps-job")
    )
    assert "Succeeded" in namespace("get", f"{kind}/ps-job")


def test_an_all_reduce_job_succeeds(namespace: Kubectl) -> None:
    namespace.apply(tfjob("reduce", Worker=role(3, exit="0@1s")))
    job = wait_for_phase(namespace, "reduce", "Succeeded")
    assert job["status"]["completed"] == {"worker": "0-2"}
    assert "retries" not in job["status"]


@pytest.mark.parametrize(
    ("code", "phase", "attempts"),
    [
        (1, "Failed", 0),
        (42, "Failed", 0),
        (130, "Succeeded", 1),
        (137, "Succeeded", 1),
        (143, "Succeeded", 1),
    ],
)
def test_exit_codes_under_exit_code_policy(code: int, phase: str, attempts: int, namespace: Kubectl) -> None:
    namespace.apply(tfjob("exits", Worker=role(restart="ExitCode")))
    wait_for_attempt(namespace, "exits-worker-0", 0)
    tell(namespace, "exits-worker-0", exit=f"{code}@0s", message="the last\nwords")
    if attempts:
        wait_for_attempt(namespace, "exits-worker-0", attempts)
        tell(namespace, "exits-worker-0", exit="0@0s")
    status = wait_for_phase(namespace, "exits", phase)["status"]
    assert status.get("retries", 0) == attempts
    assert status["firstFailure"]["exitCode"] == code
    assert status["firstFailure"]["logTail"] == ["the last", "words"]


def test_out_of_memory_is_named(namespace: Kubectl) -> None:
    namespace.apply(tfjob("hungry", Worker=role(restart="Never")))
    wait_for_attempt(namespace, "hungry-worker-0", 0)
    tell(namespace, "hungry-worker-0", exit="137:OOMKilled@0s")
    status = wait_for_phase(namespace, "hungry", "Failed")["status"]
    assert status["firstFailure"]["cause"] == "OOMKilled"
    assert "ran out of memory" in status["message"]


def test_a_deleted_pod_is_recreated(namespace: Kubectl) -> None:
    namespace.apply(tfjob("loses", Chief=role(), PS=role(), Worker=role(1, restart="Never", stop="0@1s")))
    wait_for_phase(namespace, "loses", "Running")
    wait_for_attempt(namespace, "loses-worker-0", 0)
    namespace("delete", "pod/loses-worker-0", "--wait=false")
    wait_for_attempt(namespace, "loses-worker-0", 1)
    tell(namespace, "loses-chief-0", exit="0@0s")
    status = wait_for_phase(namespace, "loses", "Succeeded")["status"]
    # It ended with 0 after it was told to end: that is no completion.
    assert status["retries"] == 1
    assert status["firstFailure"]["cause"] == "Vanished"
    assert status["attempts"] == {"worker-0": 1}


def test_an_evicted_pod_is_recreated_under_any_policy(namespace: Kubectl) -> None:
    namespace.apply(tfjob("evicted", Worker=role(restart="Never")))
    wait_for_attempt(namespace, "evicted-worker-0", 0)
    tell(namespace, "evicted-worker-0", evict_after="0s")
    wait_for_attempt(namespace, "evicted-worker-0", 1)
    tell(namespace, "evicted-worker-0", exit="0@0s")
    status = wait_for_phase(namespace, "evicted", "Succeeded")["status"]
    assert status["firstFailure"]["cause"] == "Evicted"


def test_a_replica_of_a_lost_node_runs_elsewhere_once_the_node_is_given_up(
    api_cluster: ApiCluster, namespace: Kubectl
) -> None:
    """Before, its first pod may still be running where nobody can see it."""
    patient = role(restart="Never")
    unreachable = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "tolerationSeconds": 0}
    patient["template"]["spec"]["tolerations"] = [unreachable]
    namespace.apply(tfjob("lost", Worker=patient))
    node = wait_for_attempt(namespace, "lost-worker-0", 0)["spec"]["nodeName"]
    api_cluster.kubectl("annotate", f"node/{node}", f"{SCRIPT}silent=true")
    try:
        lost = namespace.wait_for("pod/lost-worker-0", lambda pod: pod["metadata"].get("deletionTimestamp"), 90)
        namespace.wait_for(f"{KIND}/lost", lambda job: "its pod is being deleted" in job["status"]["message"])
        assert namespace.json("get", "pod/lost-worker-0")["metadata"]["uid"] == lost["metadata"]["uid"]
        api_cluster.kubectl("taint", "node", node, "node.kubernetes.io/out-of-service=gone:NoExecute")
        assert wait_for_attempt(namespace, "lost-worker-0", 1, 90)["spec"]["nodeName"] != node
    finally:
        api_cluster.kubectl.try_("taint", "node", node, "node.kubernetes.io/out-of-service-")
        api_cluster.kubectl("annotate", f"node/{node}", f"{SCRIPT}silent-")
    tell(namespace, "lost-worker-0", exit="0@0s")
    status = wait_for_phase(namespace, "lost", "Succeeded")["status"]
    assert (status["retries"], status["firstFailure"]["cause"]) == (1, "NodeLost")


def test_an_image_that_is_missing_ends_the_job_in_time(namespace: Kubectl) -> None:
    namespace.apply(tfjob("late", {"startupTimeoutSeconds": 3}, Worker=role(1, exit="oops")))
    status = wait_for_phase(namespace, "late", "Failed")["status"]
    assert "worker-0" in status["message"]
    assert status["conditions"][-1]["reason"] == "StartupTimeout"


def test_a_group_restarts_as_a_whole(namespace: Kubectl) -> None:
    namespace.apply(tfjob("group", Worker=role(3)))
    for index in range(3):
        wait_for_attempt(namespace, f"group-worker-{index}", 0)
    tell(namespace, "group-worker-1", exit="137@0s")
    for index in range(3):
        wait_for_attempt(namespace, f"group-worker-{index}", 1)
    for index in range(3):
        tell(namespace, f"group-worker-{index}", exit="0@0s")
    status = wait_for_phase(namespace, "group", "Succeeded")["status"]
    assert status["retries"] == 1
    assert status["firstFailure"]["signal"] == "SIGKILL"


def test_a_server_that_dies_takes_the_chief_with_it_but_no_worker(namespace: Kubectl) -> None:
    namespace.apply(tfjob("server", Chief=role(restart="ExitCode"), PS=role(restart="ExitCode"), Worker=role(2)))
    for name in ("chief-0", "ps-0", "worker-0", "worker-1"):
        wait_for_attempt(namespace, f"server-{name}", 0)
    tell(namespace, "server-ps-0", exit="137@0s")
    for name, attempt in (("chief-0", 1), ("ps-0", 1), ("worker-0", 0), ("worker-1", 0)):
        wait_for_attempt(namespace, f"server-{name}", attempt)
    tell(namespace, "server-chief-0", exit="0@0s")
    assert wait_for_phase(namespace, "server", "Succeeded")["status"]["retries"] == 1


def test_restarts_in_place_count_in_the_one_budget(namespace: Kubectl) -> None:
    flaky = role(1, exit="1@500ms, 1@500ms, 1@500ms, run")
    namespace.apply(tfjob("flaky", {"backoffLimit": 1}, Chief=role(), PS=role(), Worker=flaky))
    status = wait_for_phase(namespace, "flaky", "Failed", 60)["status"]
    assert status["retries"] == 2
    assert "BackoffLimitExceeded" in [each["reason"] for each in status["conditions"]]


def test_why_a_replica_does_not_start_is_told(namespace: Kubectl) -> None:
    namespace.apply(tfjob("waits", Worker=role(1, exit="oops")))
    namespace.wait_for(f"{KIND}/waits", lambda job: "worker-0 (" in job.get("status", {}).get("message", ""))


def test_suspension_ends_the_pods_and_keeps_what_was_done(namespace: Kubectl) -> None:
    namespace.apply(tfjob("pauses", Chief=role(), PS=role(), Worker=role(2)))
    wait_for_phase(namespace, "pauses", "Running")
    namespace("patch", f"{KIND}/pauses", "--type=merge", "-p", '{"spec": {"runPolicy": {"suspend": true}}}')
    job = wait_for_phase(namespace, "pauses", "Suspended")
    assert "startTime" not in job["status"]
    wait_until(lambda: not names(namespace, "pods,services,configmaps"), 15, "the end of pods and Services")
    namespace("patch", f"{KIND}/pauses", "--type=merge", "-p", '{"spec": {"runPolicy": {"suspend": false}}}')
    wait_for_attempt(namespace, "pauses-chief-0", 1)
    tell(namespace, "pauses-chief-0", exit="0@0s")
    assert "retries" not in wait_for_phase(namespace, "pauses", "Succeeded")["status"]


def test_a_job_that_another_controller_manages_is_left_alone(namespace: Kubectl) -> None:
    theirs = tfjob("theirs", {"managedBy": "kueue.x-k8s.io/multikueue"}, Worker=role(exit="0@0s"))
    namespace.apply(theirs, tfjob("ours", {"managedBy": "shoal.dev/operator"}, Worker=role(exit="0@0s")))
    wait_for_phase(namespace, "ours", "Succeeded")
    assert "status" not in namespace.json("get", f"{KIND}/theirs")
    assert names(namespace, "pods") == {"ours-worker-0"}


def test_deadline_and_time_to_live_fire_on_time(namespace: Kubectl) -> None:
    namespace.apply(tfjob("late", {"activeDeadlineSeconds": 2, "ttlSecondsAfterFinished": 2}, Worker=role(2)))
    began = time.monotonic()
    status = wait_for_phase(namespace, "late", "Failed")["status"]
    assert "DeadlineExceeded" in [each["reason"] for each in status["conditions"]]
    assert 1.5 < time.monotonic() - began < 4.5
    wait_until(lambda: not namespace.exists(f"{KIND}/late"), 6, "the end of the job")
    assert time.monotonic() - began > 3.5
    wait_until_nothing_is_left(namespace)


def test_a_job_that_logs_nothing_is_restarted_and_one_that_does_is_not(namespace: Kubectl) -> None:
    policy = {"stallTimeoutSeconds": 2}
    silent = role(log="2026-01-01T00:00:00.123456789Z step 1")
    namespace.apply(
        tfjob("silent", policy, Worker=silent),
        tfjob("busy", policy, Worker=role(log="2099-01-01T00:00:00.123456789Z step 1", exit="0@5s")),
        tfjob("lost", policy, Worker=role(log="unable to retrieve container logs", exit="0@5s")),
    )
    wait_for_attempt(namespace, "silent-worker-0", 1)
    assert namespace.json("get", f"{KIND}/silent")["status"]["firstFailure"]["cause"] == "Stalled"
    for name in ("busy", "lost"):
        assert "retries" not in wait_for_phase(namespace, name, "Succeeded")["status"]


def test_a_deleted_job_leaves_nothing(namespace: Kubectl) -> None:
    storage = [{"name": "data", "mountPath": "/data", "size": "1Gi"}]
    namespace.apply(tfjob("gone", Chief=role(), PS=role(), Worker=role(2), storage=storage))
    wait_until(lambda: names(namespace, "persistentvolumeclaims") == {"gone-data"}, 10, "the claim")
    wait_until(lambda: len(names(namespace, "pods")) == 4, 10, "the pods")
    namespace("delete", f"{KIND}/gone", "--wait=false")
    # The garbage collector learns of new kinds, such as TFJob a moment ago, twice a minute.
    wait_until_nothing_is_left(namespace, 90)


def test_a_deleted_job_takes_its_nfs_volume_with_it(namespace: Kubectl) -> None:
    storage = [{"name": "data", "mountPath": "/data", "nfs": {"server": "nfs.example", "path": "/export"}}]
    namespace.apply(*(tfjob(name, Worker=role(), storage=storage) for name in ("shares", "stays")))
    namespace.wait_for("pvc/shares-data", lambda claim: claim["status"].get("phase") == "Bound")
    shares, stays = (f"pv/{namespace.namespace}-{name}-data" for name in ("shares", "stays"))
    assert namespace.exists(shares)
    namespace("delete", f"{KIND}/shares", "--wait=false")
    wait_until(lambda: not namespace.exists(shares), 40, "the end of the volume")
    assert namespace.exists(stays)
    namespace("delete", f"{KIND}/stays", "--wait=false")
    wait_until(lambda: not namespace.exists(stays), 40, "the end of the other")


@pytest.mark.usefixtures("volcano")
def test_a_gang_has_a_pod_group_as_long_as_it_runs(namespace: Kubectl) -> None:
    # No Volcano runs here: its scheduler would have to place the pods.
    namespace.apply(tfjob("gang", {"schedulingPolicy": {"queue": "night", "minAvailable": 2}}, Worker=role(2)))
    group = namespace.wait_for("podgroups.scheduling.volcano.sh/gang", lambda each: each["spec"])
    assert group["spec"] == {"minMember": 2, "queue": "night"}
    namespace.wait_for("pod/gang-worker-1", lambda pod: pod["spec"]["schedulerName"] == "volcano")
    namespace("patch", f"{KIND}/gang", "--type=merge", "-p", '{"spec": {"runPolicy": {"suspend": true}}}')
    wait_until(lambda: not names(namespace, "podgroups,pods"), 20, "the end of the group")


def test_a_job_of_the_same_name_waits_for_the_pods_of_the_first(namespace: Kubectl) -> None:
    namespace.apply(tfjob("again", Worker=role(2, stop="0@2s")))
    wait_for_attempt(namespace, "again-worker-1", 0)
    first = namespace.json("get", "pod/again-worker-1")["metadata"]["uid"]
    namespace("delete", f"{KIND}/again")
    namespace.apply(tfjob("again", Worker=role(2, exit="0@1s")))
    wait_for_phase(namespace, "again", "Succeeded")
    assert namespace.json("get", "pod/again-worker-1")["metadata"]["uid"] != first
    assert "FailedCreatePod" not in reasons(namespace, "again")


def test_a_name_that_a_stranger_has_is_told_and_waited_for(namespace: Kubectl) -> None:
    stranger: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "taken-worker-0"}}
    namespace.apply({**stranger, "spec": {"containers": [{"name": "main", "image": "busybox"}]}})
    namespace.apply(tfjob("taken", Worker=role(exit="0@0s")))
    wait_until(lambda: "FailedCreatePod" in reasons(namespace, "taken"), 10, "an event that says so")
    namespace("delete", "pod/taken-worker-0")
    wait_for_phase(namespace, "taken", "Succeeded")


def test_gpus_are_found_by_count_and_model(api_cluster: ApiCluster, namespace: Kubectl) -> None:
    """On nodes of eight GPUs each, of which one is labelled."""
    api_cluster.kubectl("label", "node/node-1", "shoal.dev/gpu-model=A100")
    workers = role(2, exit="0@1s") | {"gpu": {"count": 4, "models": ["H100", "A100"]}}
    elsewhere = role() | {"gpu": {"models": ["T4"]}}
    namespace.apply(tfjob("fits", Worker=workers), tfjob("waits", Worker=elsewhere))
    wait_for_phase(namespace, "fits", "Succeeded")
    pods = namespace.json("get", "pods", "-l", "training.kubeflow.org/job-name=fits")["items"]
    assert {pod["spec"]["nodeName"] for pod in pods} == {"node-1"}
    message = namespace.wait_for(
        f"{KIND}/waits", lambda job: "Unschedulable" in job.get("status", {}).get("message", "")
    )["status"]["message"]
    assert "affinity" in message
    api_cluster.kubectl("label", "node/node-1", "shoal.dev/gpu-model-")


def test_a_quota_is_told_and_waited_for(namespace: Kubectl) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
    namespace.apply(quota)
    namespace.wait_for("resourcequota/few", lambda each: each.get("status", {}).get("hard"))
    namespace.apply(tfjob("many", Worker=role(3, exit="0@8s")))
    wait_until(lambda: "FailedCreatePod" in reasons(namespace, "many"), 10, "an event that says so")
    namespace.wait_for(f"{KIND}/many", lambda job: "exceeded quota: few" in job["status"].get("message", ""), 10)
    namespace("delete", "resourcequota/few")
    assert "quota" not in wait_for_phase(namespace, "many", "Succeeded")["status"]["message"]


def test_a_manifest_that_the_schema_lets_through_fails_with_its_fault(namespace: Kubectl) -> None:
    namespace.apply(mounting(tfjob("wrong", Worker=role(2))))
    status = wait_for_phase(namespace, "wrong", "Failed")["status"]
    assert 'no volume is named "dta"' in status["message"]
    assert status["conditions"][-1]["reason"] == "TFJobFailedValidation"


def test_workers_come_and_go_with_scale(namespace: Kubectl) -> None:
    namespace.apply(tfjob("grows", PS=role(), Worker=role(1), enableDynamicWorker=True))
    wait_for_phase(namespace, "grows", "Running")
    namespace("scale", f"{KIND}/grows", "--replicas=3")
    wait_for_attempt(namespace, "grows-worker-2", 0)
    scale = json.loads(
        namespace("get", "--raw", f"/apis/shoal.dev/v1/namespaces/{namespace.namespace}/tfjobs/grows/scale")
    )
    assert "replica-type=worker" in scale["status"]["selector"]
    namespace("scale", f"{KIND}/grows", "--replicas=1")
    wait_until(lambda: names(namespace, "pods") == {"grows-ps-0", "grows-worker-0"}, 20, "the end of two workers")


def test_workers_come_and_go_by_a_rule(namespace: Kubectl) -> None:
    """By what the leader prints, with the operator's own rights, and through the API server's subresource."""

    def progress(step: int, at: float) -> str:
        return f'2026-01-01T00:00:01.5Z SHOAL_PROGRESS: {{"time": {at}, "step": {step}}}\n'

    def scaling(expected: str) -> dict[str, Any]:
        job = namespace.wait_for(f"{KIND}/pays", lambda found: expected in str(found["status"].get("scaling")), 60)
        return dict(job["status"]["scaling"])

    rule = {"minWorkers": 2, "maxWorkers": 3, "stabilizationSeconds": 10}
    namespace.apply(tfjob("pays", PS=role(), Worker=role(1), enableDynamicWorker=True, scaling=rule))
    wait_for_attempt(namespace, "pays-worker-1", 0)
    assert "TooFew" in reasons(namespace, "pays")
    began = time.time() + 10  # after the start, whatever the fake kubelet's clock rounds it to
    tell(namespace, "pays-worker-0", log=progress(100, began))
    assert scaling("measuredFromTime")["measuredFromStep"] == 100
    tell(namespace, "pays-worker-0", log=progress(600, began + 10))
    wait_for_attempt(namespace, "pays-worker-2", 0)
    told = scaling("MoreMayPay")
    assert (told["desiredWorkers"], told["rates"]) == (3, {"2": 50})
    job = namespace.json("get", f"{KIND}/pays")
    assert job["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 3
    (scaled,) = [each for each in job["status"]["conditions"] if each["type"] == "Scaled"]
    assert scaled["message"].startswith("2 → 3 workers: ")
    assert "MoreMayPay" in reasons(namespace, "pays")
    annotations = namespace.json("get", "pod/pays-ps-0")["metadata"]["annotations"]
    assert annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"


def test_dashboards_find_their_numbers(operator: OperatorProcess, namespace: Kubectl) -> None:
    namespace.apply(tfjob("counted", Worker=role(exit="0@0s")))
    wait_for_phase(namespace, "counted", "Succeeded")
    namespace("delete", f"{KIND}/counted", "--wait=false")
    labels = f'{{framework="tensorflow",job_namespace="{namespace.namespace}"}} 1.0'
    wanted = [f"training_operator_jobs_{name}_total{labels}" for name in ("created", "successful", "deleted")]
    wait_until(lambda: all(line in operator.get("/metrics") for line in wanted), 10, "the numbers")
    assert operator.get("/healthz") == operator.get("/readyz") == "ok\n"
