"""Who trains, who serves and who watches, by strategy.

`Server.join()` never returns, so a serving replica has no end of its own: Shoal ends it when training is done.
"""

from __future__ import annotations

from shoal.resources.roles import Role
from shoal.resources.tfjob import Strategy, TFJob
from shoal.training.replica import ReplicaId


def serves(strategy: Strategy, role: Role) -> bool:
    """Whether replicas of `role` wait in `Server.join()` for others to drive them."""
    if role is Role.WORKER:
        return strategy in (Strategy.PARAMETER_SERVER, Strategy.IN_GRAPH)
    return role is Role.PS


def trains(strategy: Strategy, role: Role) -> bool:
    """Whether replicas of `role` run the training loop, and so come to an end by themselves."""
    return role in (Role.CHIEF, Role.WORKER) and not serves(strategy, role)


def leader(job: TFJob) -> ReplicaId:
    """The replica whose success is the job's: the chief, or worker 0 where there is none."""
    return ReplicaId(Role.CHIEF if Role.CHIEF in job.replicas else Role.WORKER, 0)


def in_group(strategy: Strategy, role: Role) -> bool:
    """Whether replicas of `role` live and die together: the collectives of an all-reduce cannot lose a member."""
    return strategy is Strategy.ALL_REDUCE and role in (Role.CHIEF, Role.WORKER)
