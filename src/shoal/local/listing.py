"""All runs with the truth about each: a run whose supervisor was killed no longer runs, whatever its status says."""

from __future__ import annotations

import time

from shoal.local import manifests
from shoal.local.runs import DamagedRunError, Run, all_runs
from shoal.resources import ConditionType, JobStatus, ManifestError, Phase
from shoal.runs import INTERRUPTED, SERVING, Snapshot
from shoal.training import DeleteJob, Observed, decide

DAMAGED = "Damaged"
"""The phase of a run whose status cannot be read. It must not hide the others."""


def list_runs() -> list[tuple[Run, Snapshot, str]]:
    """Each run, what was last known of it, and its phase. Runs whose time to live is over are removed on the way:
    nobody looks after a run that has ended, so the next command does."""
    return [(run, *told) for run in all_runs() if (told := look(run))]


def phase_of(run: Run, snapshot: Snapshot) -> str:
    """The phase as it is, not as it was last written."""
    phase, alive = snapshot.status.phase, run.alive
    served = snapshot.status.condition(ConditionType.SERVED)
    if phase is Phase.SUCCEEDED and alive and served and served.status == "True":
        return SERVING
    left_alone = not phase.final and phase is not Phase.SUSPENDED and not alive
    return INTERRUPTED if left_alone else phase.value


def look(run: Run) -> tuple[Snapshot, str] | None:
    """What was last known of the run, and its phase; None where its time to live was over, and it was removed."""
    try:
        snapshot = run.snapshot()
    except DamagedRunError as fault:
        return Snapshot(JobStatus(message=str(fault))), DAMAGED
    if snapshot.status.phase.final and not run.alive and _expired(run, snapshot):
        run.remove()
        return None
    return snapshot, phase_of(run, snapshot)


def _expired(run: Run, snapshot: Snapshot) -> bool:
    try:
        job = manifests.read(run).job
    except ManifestError:
        return False
    if job.spec.run_policy.ttl_seconds_after_finished is None:
        return False
    job.spec.serve, job.status = None, snapshot.status  # nobody is left to serve it
    return DeleteJob() in decide(job, Observed(), time.time()).actions
