"""What has happened to a job between two statuses, as events and in numbers."""

from __future__ import annotations

from shoal.kubernetes.operator.events import Recorder
from shoal.kubernetes.operator.metrics import Metrics
from shoal.kubernetes.operator.views import Job
from shoal.resources import ConditionType, JobStatus, Phase

_WARNINGS = (ConditionType.FAILED, ConditionType.RESTARTING)
_SILENT = (ConditionType.EVALUATED,)


def tell(job: Job, before: JobStatus, after: JobStatus, recorder: Recorder, metrics: Metrics) -> None:
    """To be called once the new status is stored, so that each step is told of once, also across crashes."""
    for condition in after.conditions:
        known = before.condition(condition.type)
        news = known is None or (known.status, known.message) != (condition.status, condition.message)
        if news and condition.status == "True" and condition.type not in _SILENT:
            say = recorder.warning if condition.type in _WARNINGS else recorder.normal
            say(job, condition.reason, condition.message)
    _count(job, before, after, metrics)


def _count(job: Job, before: JobStatus, after: JobStatus, metrics: Metrics) -> None:
    namespace = job.metadata.namespace
    if before.condition(ConditionType.CREATED) is None and after.condition(ConditionType.CREATED):
        metrics.count(metrics.jobs_created, namespace)
    if after.retries > before.retries:
        metrics.count(metrics.jobs_restarted, namespace, after.retries - before.retries)
    if after.phase.final and not before.phase.final:
        ended = metrics.jobs_successful if after.phase is Phase.SUCCEEDED else metrics.jobs_failed
        metrics.count(ended, namespace)
    running = after.condition(ConditionType.RUNNING)
    if before.condition(ConditionType.RUNNING) is None and running and after.start_time is not None:
        metrics.launch_delay.observe(max(0.0, (running.last_transition_time or 0.0) - after.start_time))
