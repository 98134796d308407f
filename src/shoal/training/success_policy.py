"""When training has succeeded.

Kubeflow's rules: the chief's success, or worker 0's where there is no chief; with `AllWorkers`, every worker's (and
the chief's, where there is one). Workers that serve a coordinator have no end of their own and are not asked.
"""

from __future__ import annotations

from shoal.resources.tfjob import SuccessPolicy
from shoal.training.duties import leader, trains
from shoal.training.job_state import JobState


def training_succeeded(state: JobState) -> bool:
    """Whether the replicas that decide have completed."""
    if state.job.spec.success_policy is SuccessPolicy.ALL_WORKERS:
        deciding = [replica for replica in state.wanted if trains(state.strategy, replica.role)]
        return bool(deciding) and all(replica in state.completed for replica in deciding)
    return leader(state.job) in state.completed
