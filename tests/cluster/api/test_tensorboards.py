"""The operator looks after TensorBoards on a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.api.operators import OperatorProcess, operator_with_its_rights
from tests.cluster.api.tfjobs import names, reasons
from tests.cluster.api_level import ApiCluster
from tests.cluster.errors import ClusterError
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until

BOARD = "tensorboards.v1.shoal.dev"
OBJECTS = "deployments,services,ingresses"


def tensorboard(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "shoal.dev/v1",
        "kind": "TensorBoard",
        "metadata": {"name": "curves"},
        "spec": {"logDirs": {"base": "gs://bucket/base", "wide": "gs://bucket/wide"}, **spec},
    }


def wait_for_board(namespace: Kubectl, phase: str, generation: int = 1) -> Any:
    def there(found: Any) -> bool:
        status = found.get("status", {})
        return status.get("phase") == phase and status.get("observedGeneration", 0) >= generation

    return namespace.wait_for(f"{BOARD}/curves", there, 30)


@pytest.fixture(scope="module", autouse=True)
def operator(api_cluster: ApiCluster) -> Iterator[OperatorProcess]:
    with operator_with_its_rights(api_cluster, "tensorboards") as running:
        yield running


def test_it_comes_up_is_edited_and_goes(namespace: Kubectl) -> None:
    namespace.apply(tensorboard(ingress={"host": "boards.example.com"}))
    board = wait_for_board(namespace, "Ready")
    address = f"http://boards.example.com/{namespace.namespace}/curves/"
    assert board["status"]["url"] == address
    assert {kind: names(namespace, kind) for kind in OBJECTS.split(",")} == {
        kind: {"curves"} for kind in OBJECTS.split(",")
    }
    namespace("wait", f"{BOARD}/curves", "--for=condition=Ready", "--timeout=1s")
    assert "TensorBoardReady" in reasons(namespace, "curves")
    header, row = namespace("get", "tb", "--no-headers=false").splitlines()
    assert header.split() == ["NAME", "STATE", "READY", "URL", "AGE"]
    assert row.split()[:4] == ["curves", "Ready", "True", address]
    namespace.apply(tensorboard(logDirs={"base": "gs://bucket/base"}))
    edited = wait_for_board(namespace, "Ready", 2)
    assert edited["status"]["url"] == f"http://curves.{namespace.namespace}.svc/"
    assert names(namespace, "ingresses") == set()
    (container,) = namespace.json("get", "deployment/curves")["spec"]["template"]["spec"]["containers"]
    assert "--logdir_spec=base:gs://bucket/base" in container["command"]
    namespace("delete", f"{BOARD}/curves")
    wait_until(lambda: not names(namespace, f"{OBJECTS},pods"), 90, "the end of what it owned")


def test_its_pod_passes_the_restricted_level(namespace: Kubectl) -> None:
    namespace.within("")(
        "label", f"namespace/{namespace.namespace}", "pod-security.kubernetes.io/enforce=restricted", "--overwrite"
    )
    namespace.apply(tensorboard())
    wait_for_board(namespace, "Ready")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"logDirs": {}}, "should have at least 1 properties"),
        ({"logDirs": {"a,b": "gs://b"}}, "no comma and no colon"),
        ({"logDirs": {"a": "/x,/y"}}, "no comma and no colon"),
        ({"storage": [{"name": "a", "mountPath": "/a", "size": "1Gi"}]}, "holds nothing to show"),
        ({"storage": [{"name": "a", "mountPath": "/a"}]}, "exactly one of existingClaim, nfs and size"),
        ({"ingress": {"path": "curves"}}, "should match"),
        ({"logdirs": {}}, "logdirs"),
    ],
)
def test_what_the_crd_refuses(spec: dict[str, Any], told: str, namespace: Kubectl) -> None:
    with pytest.raises(ClusterError, match=told):
        namespace.apply(tensorboard(**spec))


def test_its_fields_are_explained(namespace: Kubectl) -> None:
    for part in ("spec", "spec.ingress", "status"):
        assert "<no description>" not in namespace("explain", f"tensorboards.{part}")
