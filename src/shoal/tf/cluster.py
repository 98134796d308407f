"""What TF_CONFIG says: the cluster, and this process's task in it.

Written by Shoal, by Kubeflow's operator, by cloud services or by hand:
`{"cluster": {"worker": ["host:port", …], "ps": […]}, "task": {"type": "worker", "index": 0}}`
(https://www.tensorflow.org/guide/distributed_training#setting_up_the_tf_config_environment_variable). A sparse
cluster names tasks by index, `{"worker": {"3": "host:port"}}`; the evaluator stands in no cluster.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.tf import protocol

TRAINERS = ("chief", "master", "worker")

DRIVEN = ("ParameterServer", "InGraph")
"""Strategies whose workers do what the chief tells them."""


class ClusterError(ValueError):
    """TF_CONFIG cannot be understood, or does not fit what is asked for. The message says what to do."""


@dataclass(frozen=True)
class Cluster:
    """The cluster as this process knows it. `tasks` are the addresses (`host:port`) by role and index. In a `sparse`
    cluster workers come and go, and nobody is told of another worker. `leads` and
    `declared_strategy` are what Shoal says beside TF_CONFIG, if it says anything."""

    tasks: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    role: str = "worker"
    index: int = 0
    sparse: bool = False
    leads: bool | None = None
    declared_strategy: str = ""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Cluster:
        """Read TF_CONFIG; where it is unset or empty, a process alone. Raises ClusterError."""
        leader = environ.get(protocol.LEADER)
        leads = environ.get(protocol.REPLICA) == leader if leader else None
        strategy = environ.get(protocol.STRATEGY, "")
        text = environ.get(protocol.TF_CONFIG, "").strip()
        if not text:
            return cls(leads=leads, declared_strategy=strategy)
        try:
            config = json.loads(text)
        except json.JSONDecodeError as fault:
            raise ClusterError(f"TF_CONFIG is no JSON ({fault}); unset it, or write it as JSON: {text[:80]}") from None
        if not isinstance(config, dict):
            raise ClusterError(f"TF_CONFIG: expected an object with cluster and task, found {text[:80]}")
        cluster = config.get("cluster") or {}
        tasks = _tasks(cluster)
        sparse = any(isinstance(addresses, dict) for addresses in cluster.values()) or set(tasks) == {"chief", "ps"}
        return cls(tasks, *_task(config.get("task") or {}), sparse, leads, strategy)

    @property
    def distributed(self) -> bool:
        """Whether there is another process to work with."""
        return sum(len(tasks) for tasks in self.tasks.values()) > 1

    @property
    def is_leader(self) -> bool:
        """Whether this process speaks for the job: the chief, or worker 0 where there is no chief."""
        if self.leads is not None:
            return self.leads
        if any(self.tasks.get(role) for role in ("chief", "master")):
            return self.role in ("chief", "master")
        return self.role == "worker" and self.index == 0

    @property
    def strategy(self) -> str:
        """How the replicas train together, spelt as in the manifest; where nobody says, as the roles suggest."""
        return self.declared_strategy or ("ParameterServer" if "ps" in self.tasks else "AllReduce")

    @property
    def serves(self) -> bool:
        """Whether this process only does what others tell it: a ps always, a worker where a chief drives it."""
        return self.role == "ps" or (self.role == "worker" and self.distributed and self.strategy in DRIVEN)

    @property
    def trainers(self) -> int:
        """How many processes train, as far as this one knows: the chief and the workers."""
        return max(1, sum(len(self.tasks.get(role, {})) for role in TRAINERS))

    @property
    def rank(self) -> int:
        """This process's place among those that train, from 0: the chief first, then the workers in order."""
        return self.index + (self.role == "worker" and bool(self.tasks.get("chief") or self.tasks.get("master")))

    @property
    def address(self) -> str | None:
        """Where this process listens; None for one that stands in no cluster."""
        return self.tasks.get(self.role, {}).get(self.index)


def _tasks(cluster: Any) -> dict[str, dict[int, str]]:
    if not isinstance(cluster, dict):
        raise ClusterError(f"TF_CONFIG: cluster: expected roles with their addresses, found {cluster!r}")
    tasks: dict[str, dict[int, str]] = {}
    for role, addresses in cluster.items():
        try:
            known = {int(i): a for i, a in addresses.items()} if isinstance(addresses, dict) else None
        except ValueError:
            raise ClusterError(f"TF_CONFIG: cluster.{role}: task indices are numbers, found {addresses!r}") from None
        if known is None:
            known = dict(enumerate(addresses)) if isinstance(addresses, list) else None
        if known is None or not all(isinstance(address, str) for address in known.values()):
            raise ClusterError(f"TF_CONFIG: cluster.{role}: expected a list of host:port, found {addresses!r}")
        tasks[role] = known
    return tasks


def _task(task: Any) -> tuple[str, int]:
    role, index = (task.get("type", "worker"), task.get("index", 0)) if isinstance(task, dict) else (None, None)
    try:
        if isinstance(role, str):
            return role, int(index)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        pass
    raise ClusterError(f'TF_CONFIG: task: expected {{"type": "worker", "index": 0}}, found {task!r}')
