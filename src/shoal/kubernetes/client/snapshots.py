"""A stored TFJob and its pods as the snapshot that commands show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from shoal.kubernetes.labels import JOB_NAME, OPERATOR, OPERATOR_NAME
from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.kinds import PODS
from shoal.kubernetes.operator.observe import observe, replica_id
from shoal.kubernetes.operator.views import Job, Pod
from shoal.kubernetes.operator.wanted import manifest_of, read_status
from shoal.resources import ManifestError, Phase, TFJob, parse
from shoal.resources.tfjob import CONTAINER_NAME
from shoal.runs import Look, ReplicaRecord, Snapshot
from shoal.training import Replica, ReplicaId

TERMINATING = "Terminating"
"""The phase of a job that is being deleted."""

OPERATOR_PODS = f"{OPERATOR_NAME}={OPERATOR}"


def typed(job: Job) -> TFJob:
    """Raises ManifestError with every fault of a manifest that cannot be run."""
    return parse(manifest_of(job), source="TFJob")


def look(job: Job, pods: Iterable[Pod]) -> Look:
    """The job as its status tells it, and its replicas as their pods do."""
    status = read_status(job)
    records = [_record(job, id, seen) for id, _, seen in replicas(job, pods)]
    progress = status.progress
    if progress is not None:
        records = [
            each if each.name != progress.replica else _with_progress(each, progress.step, progress.loss)
            for each in records
        ]
    phase = status.phase.value if job.metadata.deletion_timestamp is None else TERMINATING
    return Look(Snapshot(status, records), phase, alive(job))


def alive(job: Job) -> bool:
    """Whether the job will still change by itself. One that is to go on has not been suspended, although its status
    may say so until the operator has looked at it."""
    phase = read_status(job).phase
    return not phase.final and not (phase is Phase.SUSPENDED and suspended(job))


def suspended(job: Job) -> bool:
    """Whether the job is wanted to be suspended."""
    policy = job.spec.get("runPolicy")
    return isinstance(policy, dict) and policy.get("suspend") is True


async def pods_of(client: Client, job: Job) -> list[Pod]:
    """The job's own pods: those of an earlier job of that name are not."""
    selector = f"{JOB_NAME}={job.metadata.name},{OPERATOR_PODS}"
    pods, _ = await client.list(PODS, job.metadata.namespace, selector)
    return [pod for pod in pods if owner_uid(pod) == job.metadata.uid]


def owner_uid(pod: Pod) -> str:
    """The uid of the job that the pod belongs to."""
    owner = pod.metadata.controller
    return owner.uid if owner else ""


def replicas(job: Job, pods: Iterable[Pod]) -> list[tuple[ReplicaId, Pod, Replica]]:
    """Each pod with the replica that it is an attempt of, and what it says of it, by name."""
    containers = container_names(job)
    found = [
        (id, pod, observe(pod, id, containers.get(id.role.value, CONTAINER_NAME)))
        for pod in pods
        if (id := replica_id(pod))
    ]
    return sorted(found, key=lambda each: each[0])


def container_names(job: Job) -> dict[str, str]:
    """The container that trains, by role."""
    try:
        return {role.value: str(spec.container["name"]) for role, spec in typed(job).replicas.items()}
    except ManifestError:
        return {}


def _record(job: Job, id: ReplicaId, seen: Replica) -> ReplicaRecord:
    return ReplicaRecord(
        name=str(id),
        # On one machine a replica that is started again is a new attempt; a container restarted in place is no other.
        attempt=seen.attempt + seen.in_place_restarts,
        state=seen.state.value,
        exit_code=seen.exit_code,
        started_at=seen.started_at,
        finished_at=seen.finished_at,
    )


def _with_progress(record: ReplicaRecord, step: int, loss: float | None) -> ReplicaRecord:
    return replace(record, step=step, loss=loss)
