"""Pods that ask for GPUs of a pool: a real broker and a real agent beside a real API server and scheduler."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.kubernetes.install import Values
from tests.cluster.api.operators import install_crds
from tests.cluster.api.pools import Pool
from tests.cluster.api.test_tenants import create, tenant
from tests.cluster.api.tfjobs import SCRIPT, role, tfjob
from tests.cluster.api.webhooks import WebhookOperator, register, unregister
from tests.cluster.api_level import ApiCluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.pods import container, pod
from tests.cluster.waiting import wait_until
from tests.integration.gpu.brokers import TOKENS

VALUES = Values.model_validate({"gpu": {"pool": {"broker": "https://127.0.0.1:1"}}})


@pytest.fixture
def pool(api_cluster: ApiCluster, tmp_path: Path) -> Iterator[Pool]:
    install_crds(api_cluster)
    made = Pool(tmp_path, 4, gpus=6, maxPriority=1)
    yield made
    made.stop()
    unregister(api_cluster)


def operator(cluster: ApiCluster, pool: Pool, name: str) -> WebhookOperator:
    made = WebhookOperator(cluster, name, "--no-leader-elect", *pool.options, values=VALUES)
    register(cluster, made, values=VALUES)
    return made.wait_until_ready()


def asking(name: str, gpus: int = 1, **annotations: str) -> dict[str, Any]:
    limits = {"resources": {"limits": {"bitfusion.io/gpu": gpus}}}
    return pod(name, [container(**limits)], annotations={f"shoal.dev/gpu-{k}": v for k, v in annotations.items()})


def job_of(workers: int) -> dict[str, Any]:
    """A TFJob, each of whose workers asks for a GPU of the pool."""
    job = tfjob("job", Worker=role(workers))
    container = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"shoal.dev/gpu": 1}}
    return job


def phases(namespace: Kubectl) -> dict[str, str]:
    return {each["metadata"]["name"]: each["status"]["phase"] for each in namespace.json("get", "pods")["items"]}


def running(namespace: Kubectl) -> set[str]:
    return {name for name, phase in phases(namespace).items() if phase == "Running"}


def told(namespace: Kubectl, name: str) -> tuple[str, str]:
    """Reason and message of its condition; empty while there is none, or no such pod yet."""
    pods = [each for each in namespace.json("get", "pods")["items"] if each["metadata"]["name"] == name]
    conditions = [each for found in pods for each in found["status"].get("conditions", [])]
    return next(((e["reason"], e["message"]) for e in conditions if e["type"] == "shoal.dev/gpu-lease"), ("", ""))


def test_ten_pods_share_four_gpus_and_the_next_runs_when_one_ends(
    api_cluster: ApiCluster, namespace: Kubectl, pool: Pool
) -> None:
    at_work = operator(api_cluster, pool, "ten")
    try:
        names = [f"pod-{number}" for number in range(10)]
        namespace.apply(*(asking(name) for name in names))
        wait_until(lambda: len(running(namespace)) == 4, 90, "four pods that run")
        wait_until(lambda: pool.states() == ["queued"] * 6 + ["running"] * 4, 30, "six that are queued")
        first = running(namespace)
        waiting = sorted(set(names) - first)
        wait_until(lambda: all(told(namespace, name)[0] == "GPUsAwaited" for name in waiting), 30, "a reason each")
        assert all("place " in told(namespace, name)[1] for name in waiting), [told(namespace, n) for n in waiting]
        assert {each["metadata"]["ownerReferences"][0]["name"] for each in secrets(namespace)} == first
        assert len(set(servers(namespace))) == 4, "each has a server of its own"
        namespace.apply(asking("urgent", priority="1"), asking("beyond", priority="2"))
        wait_until(lambda: told(namespace, "urgent")[0] == "GPUsAwaited", 30, "one more that waits")
        wait_until(lambda: told(namespace, "beyond")[0] == "GPUsRefused", 30, "what the tenant may not")
        namespace("delete", f"pod/{min(first)}", "--wait=false")
        wait_until(lambda: running(namespace) - first == {"urgent"}, 60, "the next one, which is not the oldest")
        wait_until(lambda: pool.states() == ["queued"] * 6 + ["running"] * 4, 30, "what was given back")
        namespace("delete", "pods", "--all", "--wait=false")
        wait_until(lambda: pool.states() == [], 60, "nothing that is held")
        assert at_work.process.faults() == []
    finally:
        at_work.process.program.stop()


def test_what_cannot_be_asked_for_or_granted_is_told(api_cluster: ApiCluster, namespace: Kubectl, pool: Pool) -> None:
    at_work = operator(api_cluster, pool, "told")
    try:
        done = namespace.try_("apply", "-f", "-", stdin=_yaml(asking("odd", percent="half")))
        assert "'half' is no number from 0.1 to 100" in done.stderr
        namespace.apply(asking("many", 7))
        wait_until(lambda: told(namespace, "many")[0] == "GPUsRefused", 60, "what the quota says")
        assert "tenant vision" in told(namespace, "many")[1]
        assert phases(namespace)["many"] == "Pending"
    finally:
        at_work.process.program.stop()


def test_a_job_gets_all_its_gpus_at_once(api_cluster: ApiCluster, namespace: Kubectl, pool: Pool) -> None:
    at_work = operator(api_cluster, pool, "gang")
    try:
        namespace.apply(asking("first", 2))
        wait_until(lambda: running(namespace) == {"first"}, 60, "the first pod")
        namespace.apply(job_of(3))
        wait_until(lambda: told(namespace, "job-worker-2")[0] == "GPUsAwaited", 60, "a job that waits")
        assert pool.states() == ["queued", "running"], "one lease for the job"
        assert running(namespace) == {"first"}
        namespace("delete", "pod/first", "--wait=false")
        wait_until(lambda: len(running(namespace)) == 3, 60, "all of the job")
        assert [len(lease["shares"]) for lease in pool.leases()] == [3]
        namespace("delete", "tfjob.kubeflow.org,tfjob.shoal.dev", "--all", "--wait=false")
        wait_until(lambda: pool.states() == [], 60, "nothing that is held")
        assert at_work.process.faults() == []
    finally:
        at_work.process.program.stop()


def test_neither_a_new_broker_nor_a_new_operator_takes_or_loses_anything(
    api_cluster: ApiCluster, namespace: Kubectl, pool: Pool
) -> None:
    at_work = operator(api_cluster, pool, "before")
    try:
        namespace.apply(*(asking(f"pod-{number}") for number in range(6)))
        wait_until(lambda: len(running(namespace)) == 4, 90, "four pods that run")
        had = {lease["id"] for lease in pool.leases() if lease["state"] == "running"}
        at_work.process.program.kill()
        at_work = operator(api_cluster, pool, "after")
        pool.kill_broker()
        pool.start_broker()
        wait_until(lambda: pool.states() == ["queued"] * 2 + ["running"] * 4, 60, "all leases, once each")
        assert {lease["id"] for lease in pool.leases() if lease["state"] == "running"} == had
        assert len(running(namespace)) == 4
    finally:
        at_work.process.program.stop()


def test_a_lease_that_ends_under_its_pods_is_told_and_a_job_gets_another(
    api_cluster: ApiCluster, namespace: Kubectl, pool: Pool
) -> None:
    at_work = operator(api_cluster, pool, "lost")
    try:
        namespace.apply(asking("alone"), job_of(3))
        wait_until(lambda: len(running(namespace)) == 4, 90, "a pod and a job that run")
        before = {lease["id"] for lease in pool.leases()}
        workers = uids(namespace)
        for lease in before:
            pool.release(lease)
        wait_until(lambda: told(namespace, "alone")[0] == "GPUsLost", 60, "what became of its lease")
        wait_until(
            lambda: (
                running(namespace) == {"alone", *workers} and not set(uids(namespace).values()) & set(workers.values())
            ),
            90,
            "the job anew",
        )
        (lease,) = pool.leases()
        assert lease["id"] not in before
        assert len(lease["shares"]) == 3
    finally:
        at_work.process.program.stop()


def test_where_a_restarted_agent_serves_is_told_to_containers_that_start(
    api_cluster: ApiCluster, namespace: Kubectl, pool: Pool
) -> None:
    at_work = operator(api_cluster, pool, "moved")
    try:
        namespace.apply(asking("alone"))
        wait_until(lambda: running(namespace) == {"alone"}, 60, "the pod")
        before, lease = servers(namespace), pool.leases()[0]["id"]
        assert before == [pool.leases()[0]["shares"][0]["address"]]
        pool.kill_agent()
        pool.start_agent()
        wait_until(lambda: told(namespace, "alone")[0] == "GPUsMoved", 90, "that its server has moved")
        assert [each["id"] for each in pool.leases()] == [lease]
        assert servers(namespace) == [pool.leases()[0]["shares"][0]["address"]] != before
        assert running(namespace) == {"alone"}
        assert at_work.process.faults() == []
    finally:
        at_work.process.program.stop()


def test_a_lost_nodes_pods_keep_their_gpus_until_the_node_is_given_up(
    api_cluster: ApiCluster, namespace: Kubectl, pool: Pool
) -> None:
    """Before, what runs there may still compute, where nobody can see it."""
    at_work = operator(api_cluster, pool, "node")
    node = ""
    try:
        impatient = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "tolerationSeconds": 0}]
        asks = [asking(f"pod-{number}") for number in range(6)]
        namespace.apply(*({**each, "spec": {**each["spec"], "tolerations": impatient}} for each in asks))
        wait_until(lambda: len(running(namespace)) == 4 and pool.agrees(namespace), 90, "four pods that run")
        first = min(running(namespace))
        node = namespace.json("get", f"pod/{first}")["spec"]["nodeName"]
        there = [
            each["metadata"]["name"]
            for each in namespace.json("get", "pods")["items"]
            if each["spec"].get("nodeName") == node
        ]
        held = {lease["id"] for lease in pool.leases() if lease["state"] == "running"}
        api_cluster.kubectl("annotate", f"node/{node}", f"{SCRIPT}silent=true")
        for name in there:
            namespace.wait_for(f"pod/{name}", lambda each: each["metadata"].get("deletionTimestamp"), 90)
        assert {lease["id"] for lease in pool.leases() if lease["state"] == "running"} == held
        api_cluster.kubectl("taint", "node", node, "node.kubernetes.io/out-of-service=gone:NoExecute")
        wait_until(lambda: not set(phases(namespace)) & set(there), 90, "pods that are given up")
        left = min(4, 6 - len(there))
        wait_until(lambda: len(running(namespace)) == left and pool.agrees(namespace), 90, "what was given back")
        assert at_work.process.faults() == []
    finally:
        api_cluster.kubectl.try_("taint", "node", node, "node.kubernetes.io/out-of-service-")
        api_cluster.kubectl.try_("annotate", f"node/{node}", f"{SCRIPT}silent-")
        at_work.process.program.stop()


def test_pods_of_a_tenant_ask_with_its_token_or_not_at_all(api_cluster: ApiCluster, pool: Pool) -> None:
    at_work = operator(api_cluster, pool, "tenants")
    team = api_cluster.kubectl.within("pooled")
    (pool.folder / "ops.token").write_text(TOKENS["ops"])
    broker = ("--broker", pool.address, "--ca", str(pool.ca), "--token-file", str(pool.folder / "ops.token"))
    try:
        assert create(api_cluster, "pooled").code == 0
        team.apply(job_of(2))
        wait_until(lambda: told(team, "job-worker-1")[0] == "GPUsRefused", 60, "that it may not ask")
        assert "has no Secret shoal-gpu-pool" in told(team, "job-worker-1")[1]
        assert pool.leases("ops") == []
        assert create(api_cluster, "pooled", *broker).code == 0
        wait_until(lambda: len(running(team)) == 2, 90, "the job")
        assert [lease["tenant"] for lease in pool.leases("ops")] == ["pooled"]
        assert at_work.process.faults() == []
    finally:
        at_work.process.program.stop()
        tenant(api_cluster, "delete", "pooled", "--yes")


def secrets(namespace: Kubectl) -> list[dict[str, Any]]:
    """Of pods with a lease."""
    return [each for each in namespace.json("get", "secrets")["items"] if "-gpu-" in each["metadata"]["name"]]


def servers(namespace: Kubectl) -> list[str]:
    """Addresses, as those Secrets have them."""
    return [base64.b64decode(each["data"]["main.servers"]).decode() for each in secrets(namespace)]


def uids(namespace: Kubectl) -> dict[str, str]:
    """Of the job's pods."""
    pods = [each["metadata"] for each in namespace.json("get", "pods")["items"]]
    return {each["name"]: each["uid"] for each in pods if each["name"].startswith("job-")}


def _yaml(manifest: dict[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(manifest)
