"""The gang of the job that a pod belongs to, worked out once for each version of the job."""

from __future__ import annotations

from collections.abc import Collection

from shoal.kubernetes.gpu_names import GPUNames
from shoal.kubernetes.operator.caches import Caches, DeployedKey, JobKey, owner_key
from shoal.kubernetes.operator.views import Job, PooledPod
from shoal.kubernetes.operator.wanted import manifest_of, read_status
from shoal.kubernetes.pooled.asked import AskedError
from shoal.kubernetes.pooled.units import Gang, gang
from shoal.resources import ManifestError, parse


class Gangs:
    """Of the jobs in `caches`. A pod of a job that is not there, or that nobody can read, belongs to no gang."""

    def __init__(self, caches: Caches, gpus: GPUNames, resources: Collection[str]) -> None:
        self._caches = caches
        self._gpus = gpus
        self._resources = resources
        self._known: dict[str, tuple[int, Gang | None]] = {}

    def of(self, pod: PooledPod) -> Gang | None:
        key, owner = self.job_of(pod), pod.metadata.controller
        job = self._caches.job(key) if key else None
        if job is None or owner is None or job.metadata.uid != owner.uid:
            return None
        uid, generation = owner.uid, job.metadata.generation
        known = self._known.get(uid)
        if known is None or known[0] != generation:
            known = self._known[uid] = generation, self._worked_out(job)
        return known[1]

    def job_of(self, pod: PooledPod) -> JobKey | None:
        key = owner_key(pod)
        return None if isinstance(key, DeployedKey) else key

    def goes_on(self, key: JobKey, uid: str) -> bool:
        """Whether the job of this uid may yet make pods."""
        job = self._caches.job(key)
        if job is None or job.metadata.uid != uid or job.metadata.deletion_timestamp is not None:
            self._known.pop(uid, None)
            return False
        suspended = bool((job.spec.get("runPolicy") or {}).get("suspend"))
        return not suspended and not read_status(job).phase.final

    def _worked_out(self, job: Job) -> Gang | None:
        try:
            return gang(parse(manifest_of(job), source="TFJob"), job.metadata.uid, self._gpus, self._resources)
        except (ManifestError, AskedError):
            return None
