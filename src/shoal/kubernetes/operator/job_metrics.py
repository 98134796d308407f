"""Where each job stands, counted when somebody asks: what alerts need that no counter can tell.

Read from the cache, by the thread that answers `/metrics`. Jobs that have ended are counted by phase and not listed:
there may be thousands, and nothing about them changes. An operator that waits for the lease has no jobs in its cache,
so that each is told of once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from shoal.kubernetes.operator.views import Job
from shoal.kubernetes.operator.wanted import is_ours, read_status
from shoal.resources import JobStatus, Phase

JOB = ("job_namespace", "job_name", "job_api")
"""The labels of a job. Shoal's API and Kubeflow's may each have one of the same name."""

FINAL = {phase.value for phase in Phase if phase.final}

NUMBERS: dict[str, tuple[str, Callable[[Job, JobStatus], float | None]]] = {
    "shoal_job_start_timestamp_seconds": (
        "When a job was first acted on, or resumed last.",
        lambda job, status: status.start_time,
    ),
    "shoal_job_step": (
        "The furthest training step that was reported.",
        lambda job, status: status.progress.step if status.progress else None,
    ),
    "shoal_job_steps_per_second": (
        "Training steps per second, smoothed.",
        lambda job, status: status.progress.steps_per_second if status.progress else None,
    ),
    "shoal_job_loss": (
        "The loss that was reported last.",
        lambda job, status: status.progress.loss if status.progress else None,
    ),
    "shoal_job_progress_timestamp_seconds": (
        "When that step was reported.",
        lambda job, status: status.progress.time if status.progress else None,
    ),
    "shoal_job_retries": (
        "How much of the job's backoffLimit is used up.",
        lambda job, status: status.retries,
    ),
    "shoal_job_retry_limit": (
        "The job's backoffLimit, where it has one.",
        lambda job, status: _retry_limit(job),
    ),
}
"""Of each job that has not ended; None: not known of this one."""


class _Read(NamedTuple):
    version: str
    status: JobStatus


class JobMetrics(Collector):
    """`jobs` gives all that are in the cache."""

    def __init__(self, jobs: Callable[[], list[Job]]) -> None:
        self._jobs = jobs
        self._read: dict[str, _Read] = {}

    def collect(self) -> Iterator[GaugeMetricFamily]:
        counts: Counter[tuple[str, str]] = Counter()
        live: list[tuple[tuple[str, ...], Job, JobStatus]] = []
        read: dict[str, _Read] = {}
        for job in filter(is_ours, self._jobs()):
            about = job.metadata
            phase = str(job.status.get("phase") or Phase.PENDING.value)
            counts[about.namespace, phase] += 1
            if phase not in FINAL:
                read[about.uid] = known = self._status(job)
                live.append(((about.namespace, about.name, job.api_version.partition("/")[0]), job, known.status))
        self._read = read
        yield _phases(counts)
        what = "1: where a job that has not ended stands."
        current = GaugeMetricFamily("shoal_job_phase", what, labels=(*JOB, "phase"))
        for labels, _, status in live:
            current.add_metric((*labels, status.phase.value), 1)
        yield current
        for name, (what, number) in NUMBERS.items():
            family = GaugeMetricFamily(name, what, labels=JOB)
            for labels, job, status in live:
                if (value := number(job, status)) is not None:
                    family.add_metric(labels, value)
            yield family

    def _status(self, job: Job) -> _Read:
        """A status is typed once for each version of the job."""
        known = self._read.get(job.metadata.uid)
        if known is None or known.version != job.metadata.resource_version:
            known = _Read(job.metadata.resource_version, read_status(job))
        return known


def _phases(counts: Counter[tuple[str, str]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily("shoal_jobs", "Jobs that are there, by phase.", labels=("job_namespace", "phase"))
    for labels, count in sorted(counts.items()):
        family.add_metric(labels, count)
    return family


def _retry_limit(job: Job) -> float | None:
    limit = (job.spec.get("runPolicy") or {}).get("backoffLimit")
    return float(limit) if isinstance(limit, int) else None
