"""`shoal install --print` on a real API server, and the operator with the rights of what was installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from tests.cluster.api.operators import CRD_NAMES, OperatorProcess, established, service_account_kubeconfig
from tests.cluster.api.tfjobs import names, role, tfjob, wait_for_phase
from tests.cluster.api_level import ApiCluster
from tests.cluster.errors import ClusterError
from tests.cluster.kubectl import Kubectl
from tests.cluster.pods import container, pod
from tests.cluster.programs import run_to_end

WHERE = "shoal-installed"
COMMAND = [sys.executable, "-c", "from shoal.cli import main; main()", "install", "--print"]


def install(cluster: ApiCluster, where: str, *options: str) -> Kubectl:
    """Install the operator as a user would; answer kubectl in its namespace."""
    cluster.kubectl.within("")("apply", "-f", "-", stdin=run_to_end([*COMMAND, f"--namespace={where}", *options]))
    for name in CRD_NAMES:
        cluster.kubectl.wait_for(f"crd/{name}", established)
    return cluster.kubectl.within(where)


@pytest.fixture(scope="module")
def installed(api_cluster: ApiCluster) -> Iterator[Kubectl]:
    yield install(api_cluster, WHERE)
    remove(api_cluster, WHERE)


def remove(cluster: ApiCluster, where: str, *options: str) -> None:
    """Everything but the CRDs, which other tests need."""
    printed = run_to_end([*COMMAND, f"--namespace={where}", "--only=operator", *options])
    cluster.kubectl.within("")("delete", "--wait=false", "--ignore-not-found", "-f", "-", stdin=printed)


@pytest.fixture
def operate(api_cluster: ApiCluster) -> Iterator[Callable[..., OperatorProcess]]:
    """Starts the operator as the service account of an installation, which also says where the lease lies."""
    started: list[OperatorProcess] = []

    def start(where: str, *options: str) -> OperatorProcess:
        identity = service_account_kubeconfig(api_cluster, where, "shoal-operator")
        started.append(OperatorProcess(api_cluster, f"{where}-{len(started)}", *options, kubeconfig=identity))
        return started[-1]

    yield start
    for each in started:
        each.program.stop()
    assert [fault for each in started for fault in each.faults()] == []


def may(kubectl: Kubectl, verb: str, what: str, account: str = WHERE) -> bool:
    """Whether the operator of `account` may do something in kubectl's namespace. `what` is as in pods:log."""
    resource, _, part = what.partition(":")
    user = f"system:serviceaccount:{account}:shoal-operator"
    answer = kubectl.try_("auth", "can-i", verb, resource, f"--subresource={part}", f"--as={user}").stdout.split()
    return {"yes": True, "no": False}[answer[-1]]


def test_the_pods_are_admitted_and_become_available(installed: Kubectl) -> None:
    found = installed.wait_for("deployment/shoal-operator", lambda it: it["status"].get("availableReplicas") == 2)
    assert found["status"]["readyReplicas"] == 2
    # Admission does hold the level: what is not restricted is refused.
    with pytest.raises(ClusterError, match='violates PodSecurity "restricted'):
        installed.apply(pod("plain", [container()]))


def test_applying_it_again_changes_nothing(installed: Kubectl, api_cluster: ApiCluster) -> None:
    printed = run_to_end([*COMMAND, f"--namespace={WHERE}"])
    said = api_cluster.kubectl.within("")("apply", "-f", "-", stdin=printed).splitlines()
    # kubectl says "configured" of every budget, changed or not: its selector is replaced as a whole.
    changed = {line.split()[0] for line in said if not line.endswith("unchanged")}
    assert len(said) > len(changed)
    assert changed <= {"poddisruptionbudget.policy/shoal-operator"}
    assert installed.json("get", "poddisruptionbudget/shoal-operator")["metadata"]["generation"] == 1


@pytest.mark.parametrize("api", ["shoal.dev/v1", "kubeflow.org/v1"])
def test_the_operator_of_the_installation_runs_a_job_to_its_end(
    api: str, installed: Kubectl, operate: Callable[..., OperatorProcess], namespace: Kubectl
) -> None:
    operator = operate(WHERE).wait_until_ready()
    namespace.apply(tfjob("job", api=api, Chief=role(exit="0@1s"), PS=role(), Worker=role()))
    wait_for_phase(namespace, "job", "Succeeded", kind=f"tfjobs.v1.{api.split('/')[0]}")
    assert "shoal-operator" in names(installed, "leases")
    assert [line for line in operator.said() if line.get("level") == "error"] == []


def test_rights_end_where_the_work_ends(installed: Kubectl, namespace: Kubectl) -> None:
    assert may(namespace, "create", "pods")
    assert may(namespace, "get", "pods:log")
    assert may(installed, "patch", "leases/shoal-operator")
    refused = [("get", "secrets"), ("update", "deployments:scale"), ("patch", "pods"), ("create", "pods:exec")]
    refused += [("update", "tfjobs.shoal.dev"), ("create", "clusterroles"), ("patch", "nodes")]
    assert [each for each in refused if may(namespace, *each)] == []
    # Of Secrets and of webhook configurations, those of its own webhook.
    assert may(installed, "patch", "secrets/shoal-operator-webhook")
    assert may(installed, "patch", "validatingwebhookconfigurations/shoal-operator")
    refused = [("get", "secrets/another"), ("list", "secrets"), ("delete", "secrets/shoal-operator-webhook")]
    refused += [("patch", "mutatingwebhookconfigurations/another"), ("create", "validatingwebhookconfigurations")]
    assert [each for each in refused if may(installed, *each)] == []
    assert not may(namespace, "get", "secrets/shoal-operator-webhook")
    # Leases elsewhere are the nodes', and those of other controllers.
    assert not may(installed, "patch", "leases/another")
    assert not may(namespace.within("kube-node-lease"), "get", "leases")


def test_one_namespace_only(
    api_cluster: ApiCluster,
    operate: Callable[..., OperatorProcess],
    make_namespace: Callable[[Kubectl], Kubectl],
) -> None:
    watched, other = make_namespace(api_cluster.kubectl), make_namespace(api_cluster.kubectl)
    where = f"{watched.namespace}-system"
    options = [f"--set=operator.watchNamespace={watched.namespace}", "--set=serviceAccount.name=shoal-operator"]
    # Roles of the cluster are everybody's: the other installation's must not be overwritten.
    options.append("--set=fullnameOverride=shoal-of-one")
    install(api_cluster, where, *options)
    try:
        assert may(watched, "create", "pods", where)
        assert not may(other, "create", "pods", where)
        operate(where, "--namespace", watched.namespace).wait_until_ready()
        watched.apply(tfjob("job", Worker=role(exit="0@1s")))
        wait_for_phase(watched, "job", "Succeeded")
        assert "shoal-operator" in names(watched, "leases")
    finally:
        remove(api_cluster, where, *options)
