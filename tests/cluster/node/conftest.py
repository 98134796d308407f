"""A namespace of the node level for each test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.cluster import NodeCluster


@pytest.fixture
def namespace(node_cluster: NodeCluster, make_namespace: Callable[[Kubectl], Kubectl]) -> Kubectl:
    """kubectl in a namespace of this test alone."""
    return make_namespace(node_cluster.kubectl)
