"""Whatever dies between a pod and its GPU, on a real node: within a bound the broker's leases, the agent's servers and
the pods that ask tell the same again, and the next in the queue has what was given back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cluster.api.pools import ENDED, Pool
from tests.cluster.kubectl import Kubectl
from tests.cluster.node.pooled import GPUS, SHARES, pooled
from tests.cluster.node.test_device_plugin import Plugin, asking, usable
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.waiting import wait_until

PODS = 7
BOUND = 90
"""Seconds in which all agree again."""


class World:
    """Four GPUs of a pool, and seven pods, in the form of Bitfusion's users, that each ask for one."""

    def __init__(self, cluster: NodeCluster, pool: Pool, plugin: Plugin, namespace: Kubectl) -> None:
        self.cluster, self.pool, self.plugin, self.namespace = cluster, pool, plugin, namespace
        self._made = 0

    def settle(self) -> dict[str, str]:
        """As many pods as there are to be, four of them running. Their leases, by name."""
        while len(self.pods()) < PODS:
            self.create()
        wait_until(lambda: len(self.running()) == GPUS, BOUND, lambda: f"{GPUS} pods that run: {self.phases()}")
        wait_until(lambda: self.pool.agrees(self.namespace), BOUND, self._told)
        return self.running()

    def create(self) -> None:
        self._made += 1
        self.namespace.apply(asking(f"pod-{self._made}", "exec sleep 1200", self.pool.folder))

    def pods(self) -> list[dict[str, Any]]:
        """Those that live, and that nobody has deleted."""
        found = self.namespace.json("get", "pods")["items"]
        return [
            each
            for each in found
            if each["status"]["phase"] not in ENDED and "deletionTimestamp" not in each["metadata"]
        ]

    def phases(self) -> dict[str, str]:
        return {each["metadata"]["name"]: each["status"]["phase"] for each in self.pods()}

    def running(self) -> dict[str, str]:
        return {
            f"{each['metadata']['name']}/{each['metadata']['uid']}": each["metadata"]["annotations"][
                "shoal.dev/gpu-lease"
            ]
            for each in self.pods()
            if each["status"]["phase"] == "Running"
        }

    def _told(self) -> str:
        return f"all agree: {self.phases()}, leases {self.pool.states()}, {self.pool.servers()} servers"


@pytest.fixture(scope="module")
def world(
    node_cluster: NodeCluster,
    tmp_path_factory: pytest.TempPathFactory,
    make_lasting_namespace: Callable[[Kubectl], Kubectl],
) -> Iterator[World]:
    with pooled(node_cluster, tmp_path_factory.mktemp("pool")) as (pool, plugin):
        made = World(node_cluster, pool, plugin, make_lasting_namespace(node_cluster.kubectl))
        yield made
        made.namespace("delete", "pods", "--all", "--force", "--grace-period=0")
        wait_until(lambda: pool.leases() == [] and pool.servers() == 0, BOUND, "nothing that is held")


def kubelet_restarted(world: World) -> None:
    world.cluster.restart_kubelet()
    usable(world.namespace, SHARES)


def plugin_killed(world: World) -> None:
    world.plugin.program.kill()
    usable(world.namespace, 0)
    world.plugin.start()
    usable(world.namespace, SHARES)


def broker_killed(world: World) -> None:
    world.pool.kill_broker()
    world.pool.start_broker()


def agent_killed(world: World) -> None:
    world.pool.kill_agent()
    world.pool.start_agent()


@pytest.mark.parametrize("fault", [kubelet_restarted, plugin_killed, broker_killed, agent_killed])
def test_who_runs_keeps_its_lease(world: World, fault: Callable[[World], None]) -> None:
    before = world.settle()
    fault(world)
    assert world.settle() == before


def test_the_broker_is_killed_in_the_middle_of_grants(world: World) -> None:
    first = world.settle()
    ends = [name.partition("/")[0] for name in first][:3]
    world.namespace("delete", "pods", *ends, "--wait=false", "--grace-period=1")
    for _ in ends:
        world.create()
    wait_until(lambda: len({each["id"] for each in world.pool.leases()} - set(first.values())) > PODS - GPUS, BOUND)
    broker_killed(world)
    after = world.settle()
    assert len(set(after.values())) == GPUS
    assert len(after.items() & first.items()) == GPUS - len(ends), "who was not deleted keeps what it had"


def test_a_pod_deleted_by_force_gives_its_gpu_to_the_next(world: World) -> None:
    before = world.settle()
    name = min(before)
    world.namespace("delete", f"pod/{name.partition('/')[0]}", "--force", "--grace-period=0")
    after = world.settle()
    assert name not in after
    assert before[name] not in after.values()
