"""One pass's working copy of a job: what is wanted, what is there, what the status remembers.

Every replica has a wanted *attempt*. An observed replica of an older attempt is obsolete, whatever it does; retiring
a replica means wanting its next attempt. The rest follows by itself, also after a crash between any two actions:
obsolete replicas are deleted, and a wanted one is created once nothing of its name is left.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from shoal.resources.roles import Role
from shoal.resources.status import JobStatus
from shoal.resources.tfjob import RestartPolicy, Strategy, TFJob
from shoal.training.cluster_spec import cluster_shape, replica_ids
from shoal.training.duties import in_group, serves
from shoal.training.index_set import format_indices, parse_indices
from shoal.training.replica import Observed, Replica, ReplicaId, ReplicaState


class JobState:
    """Policies read it, and change it only through `retire` and the fields of `status`."""

    def __init__(self, job: TFJob, observed: Observed, now: float) -> None:
        self.job = job
        self.observed = observed
        self.now = now
        self.run_policy = job.spec.run_policy
        self.strategy: Strategy = job.strategy
        self.specs = job.replicas
        self.wanted: list[ReplicaId] = replica_ids(job)
        self.status: JobStatus = job.status.model_copy()
        self.attempts: dict[ReplicaId, int] = {
            ReplicaId.parse(name): attempt for name, attempt in job.status.attempts.items()
        }
        self.started = _unpack(job.status.started)
        self.completed = _unpack(job.status.completed)
        self.current: dict[ReplicaId, Replica] = {}
        self.obsolete: list[Replica] = []
        self.restarting = False
        self.wake_at: float | None = None
        self._sort_observed()

    def _sort_observed(self) -> None:
        wanted = set(self.wanted)
        for replica in self.observed.replicas:
            if replica.state is ReplicaState.SUCCEEDED and self.ends_by_itself(replica.id.role):
                self.completed.add(replica.id)
            if replica.id in wanted and replica.attempt == self.attempt(replica.id):
                self.current[replica.id] = replica
                self.started.add(replica.id)
            else:
                self.obsolete.append(replica)

    def attempt(self, replica: ReplicaId) -> int:
        return self.attempts.get(replica, 0)

    def retire(self, replicas: Iterable[ReplicaId]) -> None:
        """Want the next attempt of each, unless it has completed: a completed replica never runs again."""
        for replica in replicas:
            if replica in self.completed:
                continue
            self.attempts[replica] = self.attempt(replica) + 1
            self.started.discard(replica)
            if gone := self.current.pop(replica, None):
                self.obsolete.append(gone)

    def wake(self, at: float) -> None:
        """Look again at `at` (seconds since the epoch) at the latest."""
        self.wake_at = at if self.wake_at is None else min(self.wake_at, at)

    def ends_by_itself(self, role: Role) -> bool:
        """Whether an exit with code 0 is the end of a replica's work. A server under `Always` is to serve on."""
        spec = self.specs.get(role)
        always = spec is not None and spec.restarts is RestartPolicy.ALWAYS
        return not (always and serves(self.strategy, role))

    @cached_property
    def group(self) -> frozenset[ReplicaId]:
        """The replicas that are restarted all together or not at all; empty where each stands for itself."""
        return frozenset(replica for replica in self.wanted if in_group(self.strategy, replica.role))

    @cached_property
    def shapes(self) -> dict[Role, str]:
        return {role: cluster_shape(self.job, role) for role in self.specs}

    @property
    def unfinished(self) -> list[ReplicaId]:
        return [replica for replica in self.wanted if replica not in self.completed]

    def running(self, replica: ReplicaId) -> bool:
        seen = self.current.get(replica)
        return seen is not None and seen.state is ReplicaState.RUNNING

    @property
    def gated(self) -> bool:
        """Whether the job waits in a queue for one of its replicas, so that no limit of its own is running."""
        return any(replica.gated for replica in self.current.values())

    def pack(self) -> JobStatus:
        """The status with this pass's book-keeping written back."""
        self.status.attempts = {str(replica): n for replica, n in sorted(self.attempts.items()) if n}
        self.status.started = _pack(self.started)
        self.status.completed = _pack(self.completed)
        return self.status


def _unpack(ranges: dict[Role, str]) -> set[ReplicaId]:
    return {ReplicaId(role, index) for role, text in ranges.items() for index in parse_indices(text)}


def _pack(replicas: set[ReplicaId]) -> dict[Role, str]:
    indices: dict[Role, list[int]] = {}
    for replica in replicas:
        indices.setdefault(replica.role, []).append(replica.index)
    return {role: format_indices(indices[role]) for role in Role if role in indices}
