"""The operator looks after workbenches on a real API server."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api.commands import Shoal
from tests.cluster.api.operators import OperatorProcess, operator_with_its_rights, service_account_kubeconfig
from tests.cluster.api.tfjobs import names, reasons, role, tfjob
from tests.cluster.api_level import ApiCluster
from tests.cluster.errors import ClusterError
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until

BENCH = "workbenches.v1.shoal.dev"
OBJECTS = "deployments,services,ingresses,secrets,serviceaccounts,roles,rolebindings,persistentvolumeclaims"
ENDS = "fake-kubelet.shoal.dev/exit"
LOG = "2026-01-01T00:00:00.000000001Z step 1\n"
CODE = Path(__file__).parents[3] / "examples" / "mnist"


def workbench(annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    template = {"template": {"metadata": {"annotations": annotations}, "spec": {}}} if annotations else {}
    return {
        "apiVersion": "shoal.dev/v1",
        "kind": "Workbench",
        "metadata": {"name": "desk"},
        "spec": {**template, **spec},
    }


def wait_for_phase(namespace: Kubectl, phase: str, generation: int = 1) -> Any:
    def there(found: Any) -> bool:
        status = found.get("status", {})
        return status.get("phase") == phase and status.get("observedGeneration", 0) >= generation

    return namespace.wait_for(f"{BENCH}/desk", there, 40)


def owned(namespace: Kubectl) -> set[str]:
    """What belongs to the workbench, as kind/name."""
    found = namespace.json("get", OBJECTS)["items"]
    return {
        f"{each['kind']}/{each['metadata']['name']}"
        for each in found
        if any(owner["kind"] == "Workbench" for owner in each["metadata"].get("ownerReferences", []))
    }


@pytest.fixture(scope="module", autouse=True)
def operator(api_cluster: ApiCluster) -> Iterator[OperatorProcess]:
    with operator_with_its_rights(api_cluster, "workbenches") as running:
        yield running


def test_it_comes_up_with_a_token_of_its_own_and_goes(namespace: Kubectl) -> None:
    work = {"name": "work", "mountPath": "/home/me", "size": "1Gi"}
    namespace.apply(workbench(ingress={"host": "lab.example.com"}))
    bench = wait_for_phase(namespace, "Ready")
    address = f"http://lab.example.com/{namespace.namespace}/desk/"
    assert bench["status"]["url"] == address
    secret = f"desk-token-{bench['metadata']['uid'][:8]}"
    kinds = ("Deployment", "Service", "Ingress", "ServiceAccount", "Role", "RoleBinding")
    assert owned(namespace) == {*(f"{kind}/desk" for kind in kinds), f"Secret/{secret}"}
    token = base64.b64decode(namespace.json("get", f"secret/{secret}")["data"]["token"])
    assert len(bytes.fromhex(token.decode())) == 32
    everything = namespace("get", f"{BENCH},deployments,pods,replicasets,events", "-o", "yaml")
    assert token.decode() not in everything
    assert "WorkbenchReady" in reasons(namespace, "desk")
    header, row = namespace("get", "wb", "--no-headers=false").splitlines()
    assert header.split() == ["NAME", "STATE", "READY", "URL", "AGE"]
    assert row.split()[:4] == ["desk", "Ready", "True", address]

    namespace.apply(workbench(storage=[work]))
    wait_for_phase(namespace, "Pending", 2)  # nobody provides volumes here
    assert {"PersistentVolumeClaim/desk-work", f"Secret/{secret}"} < owned(namespace)
    assert "Ingress/desk" not in owned(namespace)
    again = base64.b64decode(namespace.json("get", f"secret/{secret}")["data"]["token"])
    assert again == token
    namespace("delete", f"{BENCH}/desk")
    wait_until(lambda: not owned(namespace) and not names(namespace, "pods"), 90, "the end of what it owned")


def test_its_pod_passes_the_restricted_level(namespace: Kubectl) -> None:
    namespace.within("")(
        "label", f"namespace/{namespace.namespace}", "pod-security.kubernetes.io/enforce=restricted", "--overwrite"
    )
    namespace.apply(workbench())
    wait_for_phase(namespace, "Ready")


def test_code_in_it_may_run_jobs_here_and_nothing_else(api_cluster: ApiCluster, namespace: Kubectl) -> None:
    namespace.apply(workbench())
    wait_for_phase(namespace, "Ready")
    shoal = Shoal(service_account_kubeconfig(api_cluster, namespace.namespace, "desk"), namespace.namespace)
    ran = shoal.run(tfjob("train", Worker=role(exit="0@1s", log=LOG)), options=("--code", str(CODE)))
    assert ran.code == 0, ran.err
    assert "Succeeded" in shoal("ps", "-a").out
    assert shoal("logs", "train").out.endswith("step 1\n")
    began = shoal.run(tfjob("longer", Worker=role(2)), options=("--detach",))
    assert began.code == 0, began.err
    assert shoal("scale", "longer", "--workers", "1").code == 0
    for words in (("describe", "longer"), ("stop", "longer"), ("rm", "train", "longer")):
        done = shoal(*words)
        assert done.code == 0, done.err

    def may(verb: str, what: str, where: str = "") -> bool:
        who = f"--as=system:serviceaccount:{namespace.namespace}:desk"
        inside = namespace.within(where) if where else namespace
        try:
            return inside("auth", "can-i", verb, what, who).strip() == "yes"
        except ClusterError:
            return False

    assert may("create", "tfjobs.shoal.dev")
    assert not may("create", "tfjobs.shoal.dev", "default")
    for verb, what in [("get", "secrets"), ("create", "pods"), ("create", "pods/exec"), ("create", "roles")]:
        assert not may(verb, what)


def test_it_is_stopped_when_jupyterlab_ends_and_starts_again_when_it_is_told_to(namespace: Kubectl) -> None:
    namespace.apply(workbench({ENDS: "0@2s"}))
    bench = wait_for_phase(namespace, "Stopped", 2)
    assert bench["spec"]["stopped"] is True
    assert bench["status"]["message"].startswith("JupyterLab has ended: nobody was active")
    assert "WorkbenchStopped" in reasons(namespace, "desk")
    wait_until(lambda: not names(namespace, "pods"), 30, "the end of its pod")
    namespace.apply(workbench({ENDS: "run"}))
    assert wait_for_phase(namespace, "Stopped", 3)["spec"]["stopped"] is True
    namespace("patch", f"{BENCH}/desk", "--type=merge", "--patch", '{"spec": {"stopped": null}}')
    wait_for_phase(namespace, "Ready", 4)


def test_one_that_crashes_is_started_again(namespace: Kubectl) -> None:
    namespace.apply(workbench({ENDS: "1@1s, run"}))

    def again(pods: list[Any]) -> bool:
        return any(status["restartCount"] for pod in pods for status in pod["status"].get("containerStatuses", []))

    wait_until(lambda: again(namespace.json("get", "pods")["items"]), 30, "a restart")
    bench = wait_for_phase(namespace, "Ready")
    assert "stopped" not in bench["spec"]


def test_an_account_that_is_there_is_not_taken(namespace: Kubectl) -> None:
    bench = workbench()
    bench["metadata"]["name"] = "default"
    namespace.apply(bench)

    def refused(found: Any) -> bool:
        return "ServiceAccount default: is there already" in str(found.get("status", {}).get("message", ""))

    namespace.wait_for(f"{BENCH}/default", refused, 30)
    assert "ownerReferences" not in namespace.json("get", "serviceaccount/default")["metadata"]


def test_commands_show_stop_and_start_it(api_cluster: ApiCluster, namespace: Kubectl) -> None:
    shoal = Shoal(api_cluster.kubeconfig, namespace.namespace)
    assert shoal("workbench", "list") == (0, "", "there are no workbenches\n")
    namespace.apply(workbench(ingress={"host": "lab.example.com", "tls": {"secretName": "cert"}}))
    wait_for_phase(namespace, "Ready")
    told = shoal("workbench", "url", "desk")
    address, _, token = told.out.strip().partition("?token=")
    assert (told.code, address) == (0, f"https://lab.example.com/{namespace.namespace}/desk/lab")
    assert len(bytes.fromhex(token)) == 32
    (listed,) = json.loads(shoal("workbench", "list", "-o", "json").out)
    assert (listed["name"], listed["phase"]) == ("desk", "Ready")
    assert shoal("workbench", "stop", "desk").code == 0
    wait_for_phase(namespace, "Stopped", 2)
    assert "desk is stopped: start it with `shoal workbench start desk`" in shoal("workbench", "url", "desk").err
    opened = shoal("workbench", "open", "desk")
    assert (opened.code, opened.err.splitlines()[0]) == (2, "error: desk is stopped")
    assert shoal("workbench", "start", "desk").code == 0
    wait_for_phase(namespace, "Ready", 3)
    missing = shoal("workbench", "stop", "dusk")
    assert (missing.code, missing.err.splitlines()[1]) == (2, "hint: did you mean desk?")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"idleTimeoutSeconds": 5}, "greater than or equal to 60"),
        ({"folder": "work"}, "should match"),
        ({"storage": [{"name": "a", "mountPath": "/a"}]}, "exactly one of existingClaim, nfs and size"),
        ({"token": "secret"}, "token"),
    ],
)
def test_what_the_crd_refuses(spec: dict[str, Any], told: str, namespace: Kubectl) -> None:
    with pytest.raises(ClusterError, match=told):
        namespace.apply(workbench(**spec))


def test_its_fields_are_explained(namespace: Kubectl) -> None:
    for part in ("spec", "spec.ingress", "status"):
        assert "<no description>" not in namespace("explain", f"workbenches.{part}")
