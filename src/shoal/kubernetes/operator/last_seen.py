"""How pods that are gone had ended.

A pod that has ended can be gone before a pass has seen how: a node that is given up takes its pods along within
milliseconds. The watch has told of both, so the next pass sees such a pod once more as it was at last; without that,
the status could only say that it has disappeared, and a replica that had completed would run again. An operator that
is restarted in between has lost it.
"""

from __future__ import annotations

from collections.abc import Iterable

from shoal.kubernetes.operator.observe import observe, replica_id
from shoal.kubernetes.operator.views import Pod
from shoal.resources import TFJob
from shoal.training import Replica, ReplicaState


class LastSeen:
    """Pods that had ended when they were deleted, by their jobs' uids and their names."""

    def __init__(self) -> None:
        self._gone: dict[str, dict[str, Pod]] = {}

    def __len__(self) -> int:
        """Of how many jobs pods are kept."""
        return len(self._gone)

    def note(self, uid: str, pod: Pod) -> None:
        """The pod of the job has been deleted."""
        if pod.status.phase in ("Succeeded", "Failed"):
            self._gone.setdefault(uid, {})[pod.metadata.name] = pod

    def of(self, job: TFJob, uid: str, pods: Iterable[Pod]) -> dict[str, Replica]:
        """The replicas without a pod, by the names of those that they had, whose end the job's status does not know."""
        gone = self._gone.get(uid, {})
        there = {pod.metadata.name for pod in pods}
        seen = {}
        for name, pod in gone.items():
            id = replica_id(pod)
            if name in there or job.status.phase.final or id is None or id.role not in job.replicas:
                continue
            replica = observe(pod, id, job.replicas[id.role].container["name"])
            ended = replica.state in (ReplicaState.SUCCEEDED, ReplicaState.FAILED)
            if ended and replica.attempt == job.status.attempts.get(str(id), 0):
                seen[name] = replica
        self.forget(uid, list(gone.keys() - seen.keys()))
        return seen

    def forget(self, uid: str, names: Iterable[str]) -> None:
        """A pass has seen these, and the status tells of them."""
        gone = self._gone.get(uid, {})
        for name in names:
            gone.pop(name, None)
        if not gone:
            self._gone.pop(uid, None)

    def forget_all(self, uid: str) -> None:
        self._gone.pop(uid, None)
