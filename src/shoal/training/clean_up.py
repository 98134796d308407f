"""`cleanPodPolicy`: which replicas are removed once the job has ended.

Unset means `Running`: a parameter server never ends by itself, and would hold its memory and GPUs for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from shoal.resources.tfjob import CleanPodPolicy
from shoal.training.decision import Delete
from shoal.training.job_state import JobState
from shoal.training.replica import Replica, ReplicaId, ReplicaState

ALIVE = (ReplicaState.PENDING, ReplicaState.RUNNING)


def clean_up(state: JobState, keep: Collection[ReplicaId] = ()) -> Iterator[Delete]:
    """Deletions that the policy asks for, sparing the current attempts of `keep`."""
    for id, replica in state.current.items():
        if id not in keep and _unwanted(state, replica):
            yield Delete(id, replica.attempt, "the job has ended")
    yield from delete_obsolete(state)


def delete_obsolete(state: JobState) -> Iterator[Delete]:
    """Deletions of older attempts, and of replicas beyond the job's size."""
    for replica in state.obsolete:
        if replica.state is not ReplicaState.TERMINATING:
            yield Delete(replica.id, replica.attempt, "replaced")


def anything_left(state: JobState) -> bool:
    """Whether replicas are still there that need their addresses or that someone must end."""
    return any(replica.state in (*ALIVE, ReplicaState.TERMINATING) for replica in state.observed.replicas)


def _unwanted(state: JobState, replica: Replica) -> bool:
    match state.run_policy.clean_pod_policy:
        case CleanPodPolicy.NONE:
            return False
        case CleanPodPolicy.ALL:
            return replica.state is not ReplicaState.TERMINATING
        case _:
            return replica.state in ALIVE
