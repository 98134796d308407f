"""One pass over one job: observe its pods, let `decide` judge, write the status, then act.

The status is written before anything is done, and only if the job is still as it was read. So whatever interrupts a
pass, the next one repeats what was left undone, and an operator that acts on an old job is stopped by the server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

from shoal.kubernetes.gpu_names import GPU_NAMES, GPUNames
from shoal.kubernetes.labels import JOB_NAME, REPLICA_TYPE
from shoal.kubernetes.operator.activity import LogActivity
from shoal.kubernetes.operator.api import API, WRITES_AT_ONCE, APIError, NotFoundError
from shoal.kubernetes.operator.caches import Caches, JobKey, owner_key
from shoal.kubernetes.operator.concurrently import concurrently
from shoal.kubernetes.operator.events import Recorder, listing
from shoal.kubernetes.operator.kinds import JOBS, PODS
from shoal.kubernetes.operator.last_seen import LastSeen
from shoal.kubernetes.operator.merge_patch import merge_patch
from shoal.kubernetes.operator.metrics import Metrics
from shoal.kubernetes.operator.observe import observe, replica_id
from shoal.kubernetes.operator.pod_creation import PodCreation
from shoal.kubernetes.operator.progress import LogProgress
from shoal.kubernetes.operator.refusal import refused
from shoal.kubernetes.operator.serving.of_job import serve_model
from shoal.kubernetes.operator.supply import Supply
from shoal.kubernetes.operator.transitions import tell
from shoal.kubernetes.operator.views import Job, Pod
from shoal.kubernetes.operator.wanted import Wanted, WantedJobs, is_ours, read_status
from shoal.resources import CleanPodPolicy, JobStatus, ManifestError, Phase, TFJob
from shoal.training import Create, Decision, Delete, DeleteJob, Observed, Replica, ReplicaState, Scale, Serve, decide


class Reconciler:
    """Carries jobs on. It keeps nothing between passes that could not be lost."""

    def __init__(
        self,
        api: API,
        caches: Caches,
        recorder: Recorder,
        metrics: Metrics,
        clock: Callable[[], float] = time.time,
        gpus: GPUNames = GPU_NAMES,
    ) -> None:
        self._api = api
        self._caches = caches
        self._recorder = recorder
        self._metrics = metrics
        self._clock = clock
        self._last_seen = LastSeen()
        self._wanted = WantedJobs()
        self._supply = Supply(api, caches)
        self._pods = PodCreation(api, caches, recorder, gpus)
        self._activity = LogActivity(api)
        self._progress = LogProgress(api)

    async def reconcile(self, key: JobKey) -> float | None:
        """One pass. Answers when to look again without any event, in seconds since the epoch.

        Raises APIError, UnreachableError or NotLeaderError where it could not do all: then it wants to be repeated.
        """
        stored = self._caches.job(key)
        if stored is None or stored.metadata.deletion_timestamp is not None or not is_ours(stored):
            return None
        before = read_status(stored)
        try:
            wanted = self._wanted.of(stored)
        except ManifestError as faults:
            await self._refuse(stored, before, faults)
            return None
        job = wanted.job.model_copy(update={"status": before})
        pods = self._caches.pods.owned_by(stored.metadata.uid)
        now = self._clock()
        replicas, progress_due = await self._observe(job, stored.metadata.uid, pods, now)
        gone = self._last_seen.of(job, stored.metadata.uid, pods)
        decision = decide(job, Observed((*replicas, *gone.values())), now)
        told = _with_selectors(job, decision.status)
        status = _with_refusal(told, refusal := self._pods.refusal(stored.metadata.uid))
        stored = await self._write_status(stored, before, status, wanted)
        try:
            await self._act(job, stored, wanted, decision, pods)
        except APIError:
            if (new := self._pods.refusal(stored.metadata.uid)) != refusal:
                await self._write_status(stored, status, _with_refusal(told, new), wanted)
            raise
        if status.phase.final and not before.phase.final:
            self._metrics.writes_per_job.observe(wanted.writes)
        if Serve() in decision.actions:
            served = await serve_model(self._api, job, stored, status, self._recorder, now)
            await self._write_status(stored, status, served, wanted)
            return now  # its time to live may be over already
        self._last_seen.forget(stored.metadata.uid, gone)
        due = [at for at in (decision.wake_at, progress_due, now if gone else None) if at is not None]
        return min(due, default=None) if not status.phase.final else decision.wake_at

    def pod_deleted(self, pod: Pod) -> None:
        """Note how it had ended, unless it goes with its job: then nobody would ask again, or forget it."""
        key, owner = owner_key(pod), pod.metadata.controller
        job = self._caches.job(key) if isinstance(key, JobKey) else None
        if job is not None and owner is not None and job.metadata.uid == owner.uid:
            self._last_seen.note(owner.uid, pod)

    def forget(self, job: Job) -> None:
        """The job has been deleted. Its objects are the garbage collector's."""
        self._last_seen.forget_all(job.metadata.uid)
        self._wanted.forget(job.metadata.uid)
        self._activity.forget(job.metadata.uid)
        self._pods.forget(job.metadata.uid)
        self._progress.forget(job.metadata.uid)

    # --- observe --------------------------------------------------------------------------------

    async def _observe(
        self, job: TFJob, uid: str, pods: list[Pod], now: float
    ) -> tuple[tuple[Replica, ...], float | None]:
        """The replicas as they are, and when their progress is to be read again."""
        containers = {role: spec.container["name"] for role, spec in job.replicas.items()}
        seen = [
            (pod, observe(pod, id, containers.get(id.role, ""))) for pod in pods if (id := replica_id(pod)) is not None
        ]
        seen, due = await self._progress.add(job, uid, seen, now)
        return await self._activity.add(job, seen, now), due

    # --- tell -----------------------------------------------------------------------------------

    async def _write_status(self, stored: Job, before: JobStatus, status: JobStatus, wanted: Wanted | None) -> Job:
        """The job as stored afterwards. ConflictError where somebody has changed it meanwhile."""
        patch = merge_patch(stored.status, status.dump()) if status != before else {}
        if not patch:
            return stored
        about = stored.metadata
        body = {"metadata": {"resourceVersion": about.resource_version}, "status": patch}
        kind = JOBS[stored.api_version]
        after = await self._api.patch(kind, about.namespace, about.name, body, subresource="status")
        self._caches.jobs[stored.api_version].wrote(after)
        if wanted is not None:
            wanted.writes += 1
        tell(after, before, status, self._recorder, self._metrics)
        return after

    async def _refuse(self, stored: Job, before: JobStatus, faults: ManifestError) -> None:
        """Say what is wrong with a manifest. A job that has begun is left as it is until it is mended."""
        told = "; ".join(f"{fault.path}: {fault.problem}" for fault in faults.faults)
        if before.start_time is None and not before.phase.final:
            await self._write_status(stored, before, refused(before, told, self._clock()), None)
        elif not before.phase.final:
            self._recorder.warning(stored, "TFJobFailedValidation", told)

    # --- act ------------------------------------------------------------------------------------

    async def _act(self, job: TFJob, stored: Job, wanted: Wanted, decision: Decision, pods: list[Pod]) -> None:
        if any(isinstance(action, DeleteJob) for action in decision.actions):
            await self._delete_job(stored)
            return
        phase = decision.status.phase
        if not phase.final and phase is not Phase.SUSPENDED:
            await concurrently(self._supply.missing(wanted, wanted.before_pods), WRITES_AT_ONCE)
            await concurrently(self._supply.missing(wanted, wanted.beside_pods), WRITES_AT_ONCE)
        creates = [action for action in decision.actions if isinstance(action, Create)]
        deletes = [action for action in decision.actions if isinstance(action, Delete)]
        doomed = [*_doomed(deletes, pods), *_lingering(job, phase, pods)]
        try:
            await concurrently((partial(self._delete_pod, pod) for pod in doomed), WRITES_AT_ONCE)
            await self._pods.create(job, stored, creates, WRITES_AT_ONCE)
        finally:
            wanted.writes += len(doomed) + len(creates)
        if doomed:
            named = listing(pod.metadata.name for pod in doomed)
            self._recorder.normal(stored, "SuccessfulDeletePod", f"Deleted {named}")
        for action in decision.actions:
            if isinstance(action, Scale):
                await self._scale(stored, action.workers)
        if not decision.keep_addresses:
            await concurrently(self._supply.needless(wanted), WRITES_AT_ONCE)

    async def _scale(self, stored: Job, workers: int) -> None:
        """Through the subresource: the operator has no right to edit anything else that users write."""
        about = stored.metadata
        body = {"metadata": {"resourceVersion": about.resource_version}, "spec": {"replicas": workers}}
        await self._api.patch(JOBS[stored.api_version], about.namespace, about.name, body, subresource="scale")

    async def _delete_pod(self, pod: Pod) -> None:
        about = pod.metadata
        try:
            left = await self._api.delete(PODS, about.namespace, about.name, uid=about.uid)
        except NotFoundError:
            return
        if left is not None:
            self._caches.pods.wrote(left)

    async def _delete_job(self, stored: Job) -> None:
        about = stored.metadata
        try:
            await self._api.delete(JOBS[stored.api_version], about.namespace, about.name, uid=about.uid)
        except NotFoundError:
            return


def _doomed(deletes: list[Delete], pods: list[Pod]) -> Iterator[Pod]:
    """Pods to delete that nobody is deleting yet."""
    wanted = {delete.id for delete in deletes}
    for pod in pods:
        if replica_id(pod) in wanted and pod.metadata.deletion_timestamp is None:
            yield pod


def _lingering(job: TFJob, phase: Phase, pods: list[Pod]) -> Iterator[Pod]:
    """Pods of an ended job in which a sidecar outlives the training: they would hold their resources for ever."""
    if not phase.final or job.spec.run_policy.clean_pod_policy is CleanPodPolicy.NONE:
        return
    for pod in pods:
        id = replica_id(pod)
        if id is None or id.role not in job.replicas or pod.metadata.deletion_timestamp is not None:
            continue
        state = observe(pod, id, job.replicas[id.role].container["name"]).state
        ended = state in (ReplicaState.SUCCEEDED, ReplicaState.FAILED)
        # A pod's phase comes a moment after its last container's end; without anything that runs on, its logs stay.
        outlived = any(each.state.terminated is None for each in pod.status.container_statuses)
        if ended and outlived and pod.status.phase not in ("Succeeded", "Failed"):
            yield pod


def _with_selectors(job: TFJob, status: JobStatus) -> JobStatus:
    """The status with the label query of each role's pods, which autoscalers need."""
    counts = {
        kind: count.model_copy(update={"selector": f"{JOB_NAME}={job.name},{REPLICA_TYPE}={kind.value.lower()}"})
        for kind, count in status.replica_statuses.items()
    }
    return status.model_copy(update={"replica_statuses": counts})


def _with_refusal(status: JobStatus, refusal: str) -> JobStatus:
    """The status, with why the pods that it waits for are not there."""
    if not refusal or not status.message or status.phase.final:
        return status
    return status.model_copy(update={"message": f"{status.message}; {refusal}"})
