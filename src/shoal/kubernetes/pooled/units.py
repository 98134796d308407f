"""Who asks the pool together: all pods of a job as one gang, every other pod for itself. PURE.

A job's gang has the replicas that its manifest asks for, the workers last and by number: so a worker more or less, as
an elastic job has them, moves nobody else's GPUs. A worker that came after the gang's lease was made asks for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.kubernetes.gpu_names import GPUNames
from shoal.kubernetes.labels import object_name
from shoal.kubernetes.operator.views import PooledPod
from shoal.kubernetes.pods import pod as rendered_pod
from shoal.kubernetes.pooled.asked import Asked, AskedError, asked
from shoal.kubernetes.pooled.gate import gated, secret_of
from shoal.resources import Role, TFJob
from shoal.training import ReplicaId, replica_ids

ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Gang:
    """A job's pods that ask: by name, what each asks for, in the order of the lease's shares."""

    key: str
    """The job's uid."""
    asks: tuple[tuple[str, Asked], ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A pod of a unit; `pod` is None where it is not there. Its GPUs are those of the lease from `first` on."""

    name: str
    asked: Asked
    first: int
    pod: PooledPod | None

    @property
    def lives(self) -> bool:
        return self.pod is not None and self.pod.status.phase not in ENDED

    @property
    def waits(self) -> bool:
        """At our gate, and for good: one that is being deleted needs nothing any more."""
        pod = self.pod
        return pod is not None and self.lives and pod.metadata.deletion_timestamp is None and gated(pod.spec)

    @property
    def runs(self) -> bool:
        """Past the gate."""
        return self.pod is not None and self.lives and not gated(self.pod.spec)

    @property
    def secret(self) -> str | None:
        return secret_of(self.pod.spec, self.asked.containers[0].index) if self.pod else None


@dataclass(frozen=True, slots=True)
class Unit:
    """Who has one lease together. `key` is the uid of its pod, or of its job."""

    key: str
    members: tuple[Member, ...]

    @property
    def namespace(self) -> str:
        return next(member.pod.metadata.namespace for member in self.members if member.pod)

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [request for member in self.members for request in member.asked.requests]

    @property
    def priority(self) -> int:
        """The highest that a member names: all wait for one lease."""
        return max(member.asked.priority for member in self.members)

    @property
    def waiting(self) -> list[Member]:
        return [member for member in self.members if member.waits]

    @property
    def missing(self) -> list[str]:
        """Names of pods that are yet to be created, or are going."""
        return [
            each.name for each in self.members if each.pod is None or each.pod.metadata.deletion_timestamp is not None
        ]


@dataclass(frozen=True, slots=True)
class Units:
    """Those of all pods, and the pods whose annotations say what cannot be asked for, with what is wrong."""

    units: tuple[Unit, ...]
    faults: tuple[tuple[PooledPod, str], ...]


def units(
    pods: Iterable[PooledPod],
    resources: Collection[str],
    gang_of: Callable[[PooledPod], Gang | None],
    lent: Mapping[str, int],
) -> Units:
    """Units with a pod that lives. `lent` is how many GPUs the lease of each has, where there is one that runs."""
    gangs: dict[str, Gang] = {}
    members: dict[str, dict[str, PooledPod]] = {}
    found: list[Unit] = []
    faults: list[tuple[PooledPod, str]] = []
    for pod in pods:
        gang = gang_of(pod)
        if gang is not None and _within(gang, pod.metadata.name, lent.get(gang.key)):
            gangs[gang.key] = gang
            members.setdefault(gang.key, {})[pod.metadata.name] = pod
            continue
        try:
            wanted = asked(pod.metadata.annotations, pod.spec, resources)
        except AskedError as fault:
            faults.append((pod, str(fault)))
            continue
        if wanted is not None:
            found.append(Unit(pod.metadata.uid, (Member(pod.metadata.name, wanted, 0, pod),)))
    found += [_gang_unit(gang, members[key], lent.get(key)) for key, gang in gangs.items()]
    return Units(tuple(unit for unit in found if any(member.lives for member in unit.members)), tuple(faults))


def gang(job: TFJob, uid: str, gpus: GPUNames, resources: Collection[str]) -> Gang | None:
    """Of a job; None where no pod of it asks for GPUs of the pool. Raises AskedError."""
    asks: dict[Role, Asked | None] = {}
    for role in job.replicas:
        made = rendered_pod(job, ReplicaId(role, 0), gpus)
        asks[role] = asked(made["metadata"].get("annotations") or {}, made["spec"], resources)
    ids = sorted(replica_ids(job), key=lambda id: id.role is Role.WORKER)
    asking = tuple((object_name(job, id), wanted) for id in ids if (wanted := asks[id.role]))
    return Gang(uid, asking) if asking else None


def _gang_unit(gang: Gang, pods: Mapping[str, PooledPod], lent: int | None) -> Unit:
    members, first = [], 0
    for name, wanted in gang.asks:
        if lent is not None and first + wanted.gpus > lent:
            break
        members.append(Member(name, wanted, first, pods.get(name)))
        first += wanted.gpus
    return Unit(gang.key, tuple(members))


def _within(gang: Gang, name: str, lent: int | None) -> bool:
    """Whether the pod is one of the gang, and its lease, if there is one, has GPUs for it."""
    first = 0
    for each, wanted in gang.asks:
        first += wanted.gpus
        if each == name:
            return lent is None or first <= lent
    return False
