"""A cluster with Kueue, Shoal's operator and two pools of nodes, and in it a namespace with a queue for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.cluster.api.operators import install_crds
from tests.cluster.api.webhooks import WebhookOperator, register
from tests.cluster.api_level import ApiCluster
from tests.cluster.binaries import Binaries
from tests.cluster.helm_program import Helm
from tests.cluster.kubectl import Kubectl
from tests.cluster.queues.kueue import kueue, kueue_program
from tests.cluster.queues.objects import make_queue, named

PRIORITIES = {"low": 1, "high": 2}


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Build what is missing before the first test, whose time-out it would exceed."""
    if not session.config.option.collectonly:
        kueue_program()


@pytest.fixture(scope="session")
def cluster(kubernetes: Binaries, helm: Helm) -> Iterator[ApiCluster]:
    """A cluster of its own: Kueue's webhooks stand before pods and Deployments of every namespace."""
    with ApiCluster(kubernetes) as made:
        install_crds(made)
        operator = WebhookOperator(made, "kueue", "--no-leader-elect")
        register(made, operator)
        with kueue(made, helm):
            operator.wait_until_ready()
            nodes = sorted(each["metadata"]["name"] for each in made.kubectl.json("get", "nodes")["items"])
            for node, pool in zip(nodes, "abb", strict=True):
                made.kubectl("label", f"node/{node}", f"pool={pool}")
            made.kubectl.within("").apply(
                named("Topology", "machines", levels=[{"nodeLabel": "kubernetes.io/hostname"}]),
                named("ResourceFlavor", "a", nodeLabels={"pool": "a"}),
                named("ResourceFlavor", "b", nodeLabels={"pool": "b"}, topologyName="machines"),
                *({**named("WorkloadPriorityClass", name), "value": value} for name, value in PRIORITIES.items()),
            )
            yield made
        operator.process.program.stop()
        assert operator.process.faults() == []


@pytest.fixture
def namespace(cluster: ApiCluster, make_namespace: Callable[[Kubectl], Kubectl]) -> Kubectl:
    """A namespace with the queue `team`, whose quota is four CPUs in the pool `a`."""
    made = make_namespace(cluster.kubectl)
    make_queue(made, "team", "a")
    return made
