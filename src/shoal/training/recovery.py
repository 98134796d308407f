"""What must be started again with a replica that failed, by strategy (measured on TensorFlow 2.21).

* All-reduce: any member's death ends the others, and one restarted alone blocks for ever: the whole group.
* Parameter server: a worker returns to its address alone; a dead ps takes the chief with it; a chief alone.
* In-graph: servers hold the client's graph and variables, so a dead one takes its client with it.
* Between-graph: each returns alone.
"""

from __future__ import annotations

from shoal.resources.roles import Role
from shoal.resources.tfjob import Strategy
from shoal.training.duties import serves
from shoal.training.job_state import JobState
from shoal.training.replica import ReplicaId


def restarted_with(state: JobState, failed: ReplicaId) -> frozenset[ReplicaId]:
    """The replicas, the failed one among them, that a restart covers. Completed ones may be among them."""
    if failed in state.group:
        return state.group
    client_too = (state.strategy is Strategy.PARAMETER_SERVER and failed.role is Role.PS) or (
        state.strategy is Strategy.IN_GRAPH and serves(state.strategy, failed.role)
    )
    chiefs = (replica for replica in state.wanted if replica.role is Role.CHIEF)
    return frozenset((failed, *chiefs)) if client_too else frozenset((failed,))
