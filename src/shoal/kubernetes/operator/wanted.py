"""What a job's manifest asks for, worked out once for each version of it.

A pass over a job of a thousand replicas needs the typed manifest and the digests of a thousand Services, and neither
changes until somebody edits the job. A job that has ended needs no object: an operator that starts beside thousands of
them renders none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.labels import Owner
from shoal.kubernetes.operator.kinds import Kind, kind_of
from shoal.kubernetes.operator.owned_objects import DIGEST, adopt, before_pods, beside_pods
from shoal.kubernetes.operator.store import ObjectKey
from shoal.kubernetes.operator.views import Deployed, Job
from shoal.resources import JobStatus, TFJob, parse
from shoal.resources.tfjob import SHOAL_OPERATOR


@dataclass(frozen=True, slots=True)
class WantedObject:
    """An object that a job or server owns, ready to be applied."""

    kind: Kind[Any]
    key: ObjectKey
    manifest: Object

    @property
    def digest(self) -> str:
        return str(self.manifest["metadata"]["annotations"][DIGEST])


@dataclass
class Wanted:
    """One version of a job. `applied` and `writes` are this operator's own memory, and may be lost at any time."""

    uid: str
    generation: int
    job: TFJob
    applied: dict[tuple[Kind[Any], ObjectKey], str] = field(default_factory=dict)
    group_removed: bool = False
    writes: int = 0

    @cached_property
    def before_pods(self) -> list[WantedObject]:
        return adopted(self.job, self.uid, before_pods(self.job))

    @cached_property
    def beside_pods(self) -> list[WantedObject]:
        return adopted(self.job, self.uid, beside_pods(self.job))


class WantedJobs:
    """The versions last seen, by the jobs' uids."""

    def __init__(self) -> None:
        self._known: dict[str, Wanted] = {}

    def of(self, job: Job) -> Wanted:
        """Raises ManifestError with every fault of a manifest that cannot be run."""
        uid, generation = job.metadata.uid, job.metadata.generation
        known = self._known.get(uid)
        if known is not None and known.generation == generation:
            return known
        wanted = Wanted(uid, generation, parse(manifest_of(job), source="TFJob"))
        if known is not None:
            wanted.applied, wanted.writes = known.applied, known.writes
        self._known[uid] = wanted
        return wanted

    def forget(self, uid: str) -> Wanted | None:
        return self._known.pop(uid, None)


def is_ours(job: Job) -> bool:
    """Whether no other controller was named to run the job."""
    return (job.spec.get("runPolicy") or {}).get("managedBy") in (None, SHOAL_OPERATOR)


def read_status(job: Job) -> JobStatus:
    """The status as stored. One that another operator has left, and that cannot be read, counts as none."""
    try:
        return JobStatus.model_validate(job.status)
    except ValidationError:
        return JobStatus()


def manifest_of(stored: Job | Deployed) -> dict[str, object]:
    """What `shoal.resources.parse` reads of a stored job, and its likes of other stored resources."""
    about = stored.metadata
    metadata = {"name": about.name, "namespace": about.namespace, "labels": about.labels}
    return {"apiVersion": stored.api_version, "kind": stored.kind, "metadata": metadata, "spec": stored.spec}


def adopted(owner: Owner, uid: str, rendered: Iterable[Object]) -> list[WantedObject]:
    """The rendered objects as the owner's own, ready to be applied."""
    return [WantedObject(kind_of(each), _key(each), each) for each in (adopt(owner, uid, each) for each in rendered)]


def _key(manifest: Object) -> ObjectKey:
    return ObjectKey(manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"])
