"""Carries out `Serve`: a job that has succeeded gets its ModelServer."""

from __future__ import annotations

from shoal.kubernetes.labels import JOB_NAME, namespace
from shoal.kubernetes.operator.api import API, APIError, ConflictError, NotFoundError
from shoal.kubernetes.operator.events import Recorder
from shoal.kubernetes.operator.kinds import SERVERS
from shoal.kubernetes.operator.views import Job
from shoal.kubernetes.serving.of_job import model_server
from shoal.resources import ConditionType, JobStatus, TFJob
from shoal.training.conditions import set_condition


async def serve_model(
    api: API, job: TFJob, stored: Job, status: JobStatus, recorder: Recorder, now: float
) -> JobStatus:
    """The status with the condition `Served`. A server of the name that was not made for the job is left as it is.

    Raises APIError where the server cannot be made now; the user is told why by an event.
    """
    status = status.model_copy(deep=True)
    try:
        found = await _get(api, job)
        if found is not None and found != job.name:
            told = f"there is a ModelServer {job.name} that was not made for the job: it is left as it is"
            set_condition(status, ConditionType.SERVED, False, "ServerExists", told, now)
            recorder.warning(stored, "ServerExists", told)
            return status
        await api.apply(SERVERS, model_server(job))
    except ConflictError:
        raise
    except APIError as fault:
        recorder.warning(stored, "FailedServe", f"Cannot make the ModelServer: {fault}")
        raise
    told = f"ModelServer {job.name} serves what is in {job.spec.serve.base_path if job.spec.serve else ''}"
    set_condition(status, ConditionType.SERVED, True, "ModelServerMade", told, now)
    return status


async def _get(api: API, job: TFJob) -> str | None:
    """For which job the server of the name was made, "" for none; None where there is no such server."""
    try:
        found = await api.get(SERVERS, namespace(job), job.name)
    except NotFoundError:
        return None
    return found.metadata.labels.get(JOB_NAME, "")
