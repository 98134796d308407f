"""A namespace of the node level for each test, and a claim in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.node_level.requirements import prepare_machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """There can be one node a machine: tests that start one themselves come before the one that the others share."""
    items.sort(key=lambda item: "node_cluster" in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session", autouse=True)
def machine() -> None:
    """What these tests need of the machine is there, also before the node is: some build images first."""
    prepare_machine()


@pytest.fixture
def namespace(node_cluster: NodeCluster, make_namespace: Callable[[Kubectl], Kubectl]) -> Kubectl:
    """kubectl in a namespace of this test alone."""
    return make_namespace(node_cluster.kubectl)


@pytest.fixture
def claim(namespace: Kubectl, tmp_path: Path) -> Iterator[Path]:
    """The folder of the node that the claim `train` stands for."""
    tmp_path.chmod(0o777)
    name = f"train-{namespace.namespace}"
    volume = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "hostPath": {"path": str(tmp_path)}}
    wanted = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    made = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}}
    namespace.within("").apply({**made, "spec": {**volume, "storageClassName": "by-hand"}})
    binding = {"storageClassName": "by-hand", "volumeName": name}
    about = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "train"}}
    namespace.apply({**about, "spec": {**wanted, **binding}})
    yield tmp_path
    namespace.within("")("delete", f"pv/{name}", "--wait=false")
