"""Which pods of a job that scales a cluster autoscaler must leave where they are.

It empties nodes that are little used by evicting their pods. A worker that may come and go is evicted at the cost of
its own work; the end of a leader, of a parameter server or of a member of a group costs all others theirs. What the
user says in the pod's own annotations holds
(https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md, "What types of pods can prevent CA from
removing a node?").
"""

from __future__ import annotations

from shoal.resources import Role, TFJob
from shoal.training import ReplicaId
from shoal.training.duties import in_group, leader

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"


def keep_from_eviction(job: TFJob, id: ReplicaId) -> dict[str, str]:
    """The annotations of the replica's pod; none for jobs whose size nobody changes by a rule."""
    if job.spec.scaling is None:
        return {}
    vital = id.role is Role.PS or id == leader(job) or in_group(job.strategy, id.role)
    return {SAFE_TO_EVICT: "false"} if vital else {}
