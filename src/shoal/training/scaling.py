"""Elastic jobs: replicas come and go with the spec, and those that hold an outdated view of the cluster start again.

With a sparse cluster spec nobody's view changes. Otherwise TensorFlow learns of a cluster once, at start, so all whose
TF_CONFIG has changed are replaced; that is no failure and costs no retry.
"""

from __future__ import annotations

from shoal.training.job_state import JobState
from shoal.training.replica import ReplicaState


def follow_scale(state: JobState) -> None:
    """Retire replicas whose view of the cluster is outdated, and forget those that are no longer wanted."""
    wanted = set(state.wanted)
    for replica in [replica for replica in state.started if replica not in wanted]:
        state.started.discard(replica)
        state.attempts[replica] = state.attempt(replica) + 1
    outdated = [
        id
        for id, replica in state.current.items()
        if replica.shape != state.shapes[id.role]
        and replica.state in (ReplicaState.PENDING, ReplicaState.RUNNING)
        and not (id in state.group and state.group & state.completed)
    ]
    state.retire(outdated)
