"""A namespace of the API level for each test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster.api_level import ApiCluster
from tests.cluster.kubectl import Kubectl


@pytest.fixture
def namespace(api_cluster: ApiCluster, make_namespace: Callable[[Kubectl], Kubectl]) -> Kubectl:
    """kubectl in a namespace of this test alone."""
    return make_namespace(api_cluster.kubectl)
