"""Fixtures of the cluster suites: one cluster of each level a run, and a namespace a test."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.api_level import ApiCluster
from tests.cluster.binaries import Binaries, binaries
from tests.cluster.helm_program import Helm, helm_program
from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.cluster import NodeCluster


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Build what is missing before the first test, whose time-out it would exceed."""
    here = Path(__file__).parent
    if not session.config.option.collectonly and any(here in item.path.parents for item in session.items):
        binaries()
        if any("helm" in getattr(item, "fixturenames", ()) for item in session.items):
            helm_program()


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """The real Helm, built when the cache has none."""
    return Helm(helm_program(), tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def kubernetes() -> Binaries:
    """The programs of Kubernetes, built when the cache has none."""
    return binaries()


@pytest.fixture(scope="session")
def api_cluster(kubernetes: Binaries) -> Iterator[ApiCluster]:
    """A real API server, controllers and scheduler; its pods only pretend to run."""
    with ApiCluster(
        kubernetes, capacity={"nvidia.com/gpu": "8", "shoal.dev/gpu": "16", "bitfusion.io/gpu": "16"}
    ) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def node_cluster(kubernetes: Binaries) -> Iterator[NodeCluster]:
    """A real node that runs containers; takes root."""
    with NodeCluster(kubernetes) as cluster:
        yield cluster


@pytest.fixture
def make_namespace() -> Iterator[Callable[[Kubectl], Kubectl]]:
    """Makes namespaces for this test; they are deleted at its end, and nobody waits for it."""
    with _namespaces() as make:
        yield make


@pytest.fixture(scope="module")
def make_lasting_namespace() -> Iterator[Callable[[Kubectl], Kubectl]]:
    """The same for all tests of a module."""
    with _namespaces() as make:
        yield make


@contextmanager
def _namespaces() -> Iterator[Callable[[Kubectl], Kubectl]]:
    made: list[Kubectl] = []

    def make(kubectl: Kubectl) -> Kubectl:
        name = f"test-{uuid.uuid4().hex[:8]}"
        kubectl("create", "namespace", name)
        within = kubectl.within(name)
        made.append(within)
        # Admission refuses pods until the namespace has this.
        within.wait_for("serviceaccount/default", lambda _: True)
        return within

    yield make
    for each in made:
        each("delete", "namespace", each.namespace, "--wait=false")
