"""The commands on model servers of a cluster: a real API server, the real operator, pods that pretend."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.cluster.api.commands import Result, Shoal
from tests.cluster.api.model_servers import SERVER, model_server, wait_for_server
from tests.cluster.api.operators import OperatorProcess, operator_with_its_rights
from tests.cluster.api.tfjobs import KIND, names, role, tfjob, wait_for_phase
from tests.cluster.api_level import ApiCluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until

LOG = "2026-01-01T00:00:00.000000001Z loaded\n2026-01-01T00:00:01.000000001Z ready\n"


@pytest.fixture(scope="module", autouse=True)
def operator(api_cluster: ApiCluster) -> Iterator[OperatorProcess]:
    with operator_with_its_rights(api_cluster, "cli-servers") as running:
        yield running


@pytest.fixture
def shoal(api_cluster: ApiCluster, namespace: Kubectl) -> Shoal:
    return Shoal(api_cluster.kubeconfig, namespace.namespace)


def test_a_server_is_listed_described_and_removed(shoal: Shoal, namespace: Kubectl) -> None:
    namespace.apply(model_server("digits", {"log": LOG}, replicas=2))
    assert shoal("wait", "digits", "--timeout", "60") == Result(0, "", "digits ready\n")
    header, row = shoal("ps").out.splitlines()
    assert header.split() == ["NAME", "PHASE", "REPLICAS", "PROGRESS", "RETRIES", "TIME"]
    assert row.split()[:4] == ["digits", "Ready", "2", "ready"]
    wait_until(lambda: "ServerReady" in shoal("describe", "digits").out, 30, "the event")
    told = shoal("describe", "modelserver/digits").out
    url = f"http://digits.{namespace.namespace}.svc:8501"
    for words in (
        f"REST      {url}\n",
        f"Namespace {namespace.namespace}\n",
        "TensorFlowServing",
        "2 ready",
        "AllReady",
    ):
        assert words in told
    (data,) = json.loads(shoal("ps", "-o", "json").out)
    assert (data["kind"], data["phase"], data["namespace"]) == ("ModelServer", "Ready", namespace.namespace)
    lines = shoal("logs", "digits").out.splitlines()
    pods = sorted(names(namespace, "pods"))
    assert lines == [f"{pod} | {text}" for pod in pods for text in ("loaded", "ready")]
    assert shoal("logs", "digits", "--replica", pods[0], "--tail", "1").out == f"{pods[0]} | ready\n"
    assert shoal("rm", "digits") == Result(0, "", "digits is removed\n")
    # It was waited for, not for the server alone.
    assert not namespace.exists(f"{SERVER}/digits")
    assert names(namespace, "pods,deployments,services,configmaps") <= {"kube-root-ca.crt"}


def test_logs_are_followed_until_the_server_is_gone_and_each_line_is_told_once(
    shoal: Shoal, namespace: Kubectl
) -> None:
    namespace.apply(model_server("digits", {"log": LOG}))
    wait_for_server(namespace, "digits", "Ready")
    (first,) = names(namespace, "pods")
    process = shoal.begin("logs", "-f", "modelserver/digits")
    try:
        assert process.stdout is not None
        # Line by line: what a reader has buffered, `communicate` would not see.
        assert process.stdout.readline() == f"{first} | loaded\n"
        assert process.stdout.readline() == f"{first} | ready\n"
        # A pod that comes later is followed, too, and the one that stays is told of once.
        namespace("scale", f"{SERVER}/digits", "--replicas=2")
        wait_until(lambda: len(names(namespace, "pods")) == 2, 30, "the second pod")
        (second,) = names(namespace, "pods") - {first}
        assert process.stdout.readline() == f"{second} | loaded\n"
        assert process.stdout.readline() == f"{second} | ready\n"
        namespace("delete", f"{SERVER}/digits", "--wait=false")
        assert process.communicate(timeout=30) == ("", "")
    finally:
        process.kill()
    assert process.returncode == 0


def test_jobs_and_servers_beside_each_other(shoal: Shoal, namespace: Kubectl) -> None:
    namespace.apply(tfjob("digits", Worker=role()), model_server("digits"), model_server("other"))
    wait_for_phase(namespace, "digits", "Running")
    wait_for_server(namespace, "digits", "Ready")
    rows = [line.split()[:3] for line in shoal("ps").out.splitlines()]
    assert rows[:2] == [["NAME", "KIND", "PHASE"], ["digits", "TFJob", "Running"]]
    assert ["digits", "ModelServer", "Ready"] in rows
    ambiguous = shoal("rm", "digits")
    assert ambiguous.code == 2
    assert ambiguous.err.endswith("hint: say which: tfjob/digits or modelserver/digits\n")
    assert shoal("describe", "digts").err.endswith("hint: did you mean digits?\n")
    assert "not a run" in shoal("stop", "other").err
    assert shoal("rm", "modelserver/digits", "modelserver/other").code == 0
    assert namespace.exists(f"{KIND}/digits")
    assert shoal("describe", "digits").code == 0


def test_the_server_of_a_jobs_model_is_not_in_the_way_of_the_job(shoal: Shoal, namespace: Kubectl) -> None:
    namespace.apply(tfjob("digits", Worker=role(exit="0@0s"), serve={"basePath": "s3://bucket/model"}))
    wait_for_server(namespace, "digits", "Ready")
    assert shoal("wait", "digits") == Result(0, "", "digits succeeded\n")
    assert "Strategy" in shoal("describe", "digits").out
    assert "gRPC" in shoal("describe", "modelserver/digits").out


def test_a_server_that_cannot_be_is_a_failure(shoal: Shoal, namespace: Kubectl) -> None:
    namespace.apply(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "digits"}, "spec": {"ports": [{"port": 80}]}}
    )
    namespace.apply(model_server("digits"))
    result = shoal("wait", "digits", "--timeout", "60")
    assert (result.code, result.err) == (1, "digits failed\n")
    assert "Service digits: is there already" in shoal("describe", "digits").out
