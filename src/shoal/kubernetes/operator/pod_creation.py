"""Creates the pods that `decide` wants.

Names are fixed, so a pod can never be there twice; what is left to handle is a name that is taken: by our own pod,
whose creation was answered to nobody; by a namesake's of a job that was deleted a moment ago; or by a stranger's.
"""

from __future__ import annotations

from functools import partial

from shoal.kubernetes.gpu_names import GPUNames
from shoal.kubernetes.labels import namespace, object_name
from shoal.kubernetes.operator.api import API, AlreadyExistsError, APIError, ConflictError, NotFoundError
from shoal.kubernetes.operator.caches import Caches
from shoal.kubernetes.operator.concurrently import concurrently
from shoal.kubernetes.operator.events import Recorder, listing
from shoal.kubernetes.operator.kinds import PODS
from shoal.kubernetes.operator.replica_pods import attempt_pod
from shoal.kubernetes.operator.store import ObjectKey
from shoal.kubernetes.operator.views import Job, Pod
from shoal.resources import TFJob
from shoal.training import Create


class PodCreation:
    """Creates pods and notes them in the cache at once."""

    def __init__(self, api: API, caches: Caches, recorder: Recorder, gpus: GPUNames) -> None:
        self._api = api
        self._caches = caches
        self._recorder = recorder
        self._gpus = gpus
        self._refusals: dict[str, str] = {}

    def refusal(self, job_uid: str) -> str:
        """Why the last try failed, in the API server's words: a quota, a level of Pod Security. Empty if it did not."""
        return self._refusals.get(job_uid, "")

    def forget(self, job_uid: str) -> None:
        self._refusals.pop(job_uid, None)

    async def create(self, job: TFJob, stored: Job, creates: list[Create], limit: int) -> None:
        """Create all, `limit` at a time. Raises APIError where one was refused; the user is told why by an event, and
        by what `refusal` says afterwards."""
        made: list[str] = []
        try:
            await concurrently((partial(self._create, job, stored, each, made) for each in creates), limit)
        except ConflictError:
            raise
        except APIError as fault:
            if fault.reason != "NamespaceTerminating":
                self._recorder.warning(stored, "FailedCreatePod", f"Cannot create a pod: {fault}")
                self._refusals[stored.metadata.uid] = f"cannot create a pod: {fault}"
            raise
        else:
            self.forget(stored.metadata.uid)
        finally:
            if made:
                self._recorder.normal(stored, "SuccessfulCreatePod", f"Created {listing(made)}")

    async def _create(self, job: TFJob, stored: Job, create: Create, made: list[str]) -> None:
        key = ObjectKey(namespace(job), object_name(job, create.id))
        known = self._caches.pods.get(key)
        if known is not None:
            self._wait_for(stored, known)
            return
        try:
            pod = await self._api.create(PODS, attempt_pod(job, stored.metadata.uid, create, self._gpus))
        except AlreadyExistsError:
            await self._look(stored, key)
            return
        self._caches.pods.wrote(pod)
        made.append(key.name)

    async def _look(self, stored: Job, key: ObjectKey) -> None:
        """See whose pod has the name, and have the pass repeated."""
        try:
            pod = await self._api.get(PODS, key.namespace, key.name)
        except NotFoundError as gone:
            raise ConflictError(409, "AlreadyExists", f"pod {key.name} has just been deleted") from gone
        owner = pod.metadata.controller
        if owner and owner.uid == stored.metadata.uid:
            self._caches.pods.wrote(pod)
            raise ConflictError(409, "AlreadyExists", f"pod {key.name} was there already")
        self._wait_for(stored, pod)

    def _wait_for(self, stored: Job, pod: Pod) -> None:
        """The name is taken. A deleted namesake's pods are on their way out, and tell us when they are gone."""
        owner, name = pod.metadata.controller, pod.metadata.name
        if owner and (owner.api_version, owner.kind, owner.name) == (stored.api_version, "TFJob", stored.metadata.name):
            return
        told = f"the name {name} is taken by a pod that is not this job's"
        self._recorder.warning(stored, "FailedCreatePod", told)
        raise ConflictError(409, "AlreadyExists", told)
