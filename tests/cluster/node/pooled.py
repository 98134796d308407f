"""A pool of software GPUs of the machine, lent to pods of the node: broker, agent, operator and device plugin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.cuda.environment import CLIENT
from shoal.kubernetes.install import Values
from tests.cluster.api.operators import install_crds
from tests.cluster.api.pools import Pool
from tests.cluster.api.webhooks import WebhookOperator, register, unregister
from tests.cluster.node.test_device_plugin import Plugin, usable
from tests.cluster.node_level.cluster import NodeCluster

VALUES = Values.model_validate({"gpu": {"pool": {"broker": "https://127.0.0.1:1"}}})
GPUS, SHARES = 4, 16


@contextmanager
def pooled(cluster: NodeCluster, folder: Path) -> Iterator[tuple[Pool, Plugin]]:
    """Four GPUs, of which the node offers sixteen shares. The operator has no fault in the end."""
    install_crds(cluster)
    pool = Pool(folder, GPUS, address=cluster.host_address)
    operator = WebhookOperator(cluster, "pooled", "--no-leader-elect", *pool.options, values=VALUES)
    register(cluster, operator, values=VALUES)
    operator.wait_until_ready()
    options = ("--pool-shares", str(SHARES), "--client-library", str(CLIENT), "--broker", pool.address)
    plugin = Plugin(cluster, *options)
    try:
        usable(cluster.kubectl, SHARES)
        yield pool, plugin
        assert operator.process.faults() == []
    finally:
        plugin.program.stop()
        operator.process.program.stop()
        unregister(cluster)
        pool.stop()
        usable(cluster.kubectl, 0)
