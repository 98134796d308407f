"""Runs a job's replicas as processes: observe, decide, write the status, act, and sleep until something happens.

Each round starts from what is there now. It is woken by the end of a process, by a change of the manifest, by new
progress and by the timer that `decide` asked for; between rounds it sleeps.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path

from shoal.local.loan import Loan
from shoal.local.log_tail import last_lines
from shoal.local.manifests import ManifestReader, scale
from shoal.local.plan import Plan
from shoal.local.ports import answers
from shoal.local.process import Launcher, LaunchError, Process
from shoal.local.progress import ProgressReader
from shoal.local.runs import Run
from shoal.local.served import ModelProcess
from shoal.resources.status import ConditionType, JobStatus, Phase
from shoal.resources.tfjob import TFJob
from shoal.runs import ReplicaRecord, Snapshot
from shoal.training import (
    Action,
    Cause,
    Create,
    Decision,
    Delete,
    DeleteJob,
    Observed,
    Replica,
    ReplicaId,
    ReplicaState,
    Scale,
    Serve,
    decide,
)
from shoal.training.conditions import set_condition
from shoal.training.duties import leader

LOOK_SECONDS = 0.25
"""How often files are looked at that nobody announces: the manifest and what replicas write."""

LONGEST_GRACE_SECONDS = 10.0
"""How long a replica gets to end after SIGTERM. On one machine somebody waits for it, so the pod's
`terminationGracePeriodSeconds` counts up to this."""

TAIL_LINES = 20
"""How many last log lines of a failed replica the status keeps."""


@dataclass
class Attempt:
    """A replica that was started, or could not be (`refused` says why)."""

    id: ReplicaId
    attempt: int
    shape: str
    process: Process | None = None
    refused: str = ""
    started_at: float = 0.0
    finished_at: float | None = None
    exit_code: int | None = None
    stopping: bool = False
    serving: bool | None = None
    cause: Cause = Cause.EXIT


class Supervisor:
    """Looks after one run. `on_change` is told of each new snapshot."""

    def __init__(
        self,
        run: Run,
        launcher: Launcher,
        read: ManifestReader,
        plan: Plan,
        run_id: str,
        on_change: Callable[[Snapshot], None] = lambda snapshot: None,
    ) -> None:
        self.run = run
        self.plan = plan
        self.launcher = launcher
        self.read = read
        self.on_change = on_change
        self.snapshot = replace(run.snapshot(), run_id=run_id, supervisor=os.getpid(), began_at=time.time())
        self.attempts: dict[ReplicaId, Attempt] = {}
        self.progress = ProgressReader(plan.event_folders(read().job))
        self.progress.ignore_past()
        self.server: ModelProcess | None = None
        self.loan = Loan(lambda: self._wake.set(), self._preempt)
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[object]] = set()
        self._leaving = False

    async def supervise(self) -> JobStatus:
        """Until the job has ended (or is suspended) and none of its replicas is left. Answers the last status."""
        self._take_over()
        try:
            while True:
                self._wake.clear()
                job = self._job()
                decision = decide(job, self._observe(job), time.time())
                self._tell(decision.status)
                for action in decision.actions:
                    self._act(job, action)
                if self._done(job, decision):
                    return decision.status
                await self._sleep(decision.wake_at)
        finally:
            await self.loan.release()

    def interrupt(self) -> None:
        """Suspend the job from within: its replicas end, the run is kept."""
        self._leaving = True
        self._wake.set()

    async def abort(self) -> None:
        """End all replicas at once."""
        running = [a.process for a in self.attempts.values() if a.process and a.exit_code is None]
        stops: list[Coroutine[None, None, object]] = [process.stop(0) for process in running]
        if self.server and not self.server.ended:
            stops.append(self.server.stop(0))
        await asyncio.gather(*stops)

    # --- observe --------------------------------------------------------------------------------

    def _job(self) -> TFJob:
        """The job as it is wanted now, with the status that was written last."""
        job = self.read().job.model_copy(update={"status": self.snapshot.status})
        return _suspended(job) if self._leaving else job

    def _observe(self, job: TFJob) -> Observed:
        pids = {a.process.pid: a.id for a in self.attempts.values() if a.process}
        said = self.progress.look(pids, leader(job))
        seen = []
        for attempt in self.attempts.values():
            state = _state(attempt)
            if state is ReplicaState.RUNNING and attempt.shape and not attempt.serving:
                attempt.serving = self._serves(job, attempt)
            failed = state is ReplicaState.FAILED
            log = self.run.log(str(attempt.id), attempt.attempt)
            seen.append(
                Replica(
                    id=attempt.id,
                    attempt=attempt.attempt,
                    shape=attempt.shape,
                    state=state,
                    exit_code=attempt.exit_code,
                    started_at=attempt.started_at,
                    finished_at=attempt.finished_at,
                    serving=attempt.serving,
                    cause=attempt.cause,
                    message=attempt.refused or ("" if attempt.process else self.loan.waiting),
                    log_tail=tuple(last_lines(log, TAIL_LINES)) if failed else (),
                    activity_at=_modified(log),
                    progress=said.get(attempt.id),
                )
            )
        return Observed(tuple(seen))

    def _serves(self, job: TFJob, attempt: Attempt) -> bool | None:
        """Whether the replica's port answers; None for a replica that need not listen."""
        address = self.plan.addresses.get(attempt.id)
        return None if address is None or not self.plan.listens(job, attempt.id) else answers(address)

    # --- act ------------------------------------------------------------------------------------

    def _act(self, job: TFJob, action: Action) -> None:
        match action:
            case Create(id, number, shape):
                attempt = Attempt(id, number, shape, started_at=time.time())
                self.attempts[id] = attempt
                self._background(self._run(job, attempt))
            case Delete(id, number):
                found = self.attempts.get(id)
                if found and found.attempt == number and not found.stopping:
                    self._delete(job, found)
            case Scale(workers):
                scale(self.run, workers)
            case Serve():
                if self.server is None and not job.spec.run_policy.suspend:
                    self.server = ModelProcess(self.run, job, self.plan)
                    self._background(self._serve(self.server))
            case DeleteJob():
                pass  # by the next command that lists runs: whoever watches this one wants to see how it ended

    async def _run(self, job: TFJob, attempt: Attempt) -> None:
        """The life of one attempt, from its launch to its end."""
        name = str(attempt.id)
        progress_file = self.run.progress_file(name, attempt.attempt)
        self.progress.follow(attempt.id, progress_file)
        try:
            gpus = await self.loan.environment(job, attempt.id)
            launch = self.plan.launch(job, attempt.id, attempt.attempt)
            attempt.process = await self.launcher.start(replace(launch, env={**launch.env, **gpus}))
        except LaunchError as fault:
            self._refuse(attempt, fault)
            return
        attempt.started_at = attempt.process.started_at
        self._wake.set()
        if attempt.stopping:
            await attempt.process.stop(0)
        exit_code = await attempt.process.wait()
        self.progress.search_now()
        attempt.finished_at = time.time()
        attempt.exit_code = exit_code
        if attempt.stopping and self.attempts.get(attempt.id) is attempt:
            del self.attempts[attempt.id]
        self._wake.set()

    async def _serve(self, server: ModelProcess) -> None:
        """The life of the model server. That it has ended by itself is told, and is no failure of the training."""
        self._tell_served(True, "ServerStarted", server.told)
        try:
            code = await server.run(self.launcher)
            ended = f"the model server has ended with exit code {code}; see {server.log}"
            told = "the model is no longer served" if server.stopping else ended
        except LaunchError as fault:
            told = str(fault)
        self._tell_served(False, "ServerEnded", told)
        self._wake.set()

    def _tell_served(self, holds: bool, reason: str, told: str) -> None:
        status = self.snapshot.status.model_copy(deep=True)
        set_condition(status, ConditionType.SERVED, holds, reason, told, time.time())
        status.message = told
        self._tell(status)

    def _refuse(self, attempt: Attempt, fault: LaunchError) -> None:
        """A replica that cannot be started has failed like a command that a shell cannot find: with code 127."""
        attempt.refused = str(fault) + (f" ({fault.hint})" if fault.hint else "")
        attempt.exit_code = 127
        attempt.finished_at = time.time()
        with contextlib.suppress(OSError), self.run.log(str(attempt.id), attempt.attempt).open("a") as log:
            log.write(f"error: {attempt.refused}\n")
        if attempt.stopping and self.attempts.get(attempt.id) is attempt:
            del self.attempts[attempt.id]
        self._wake.set()

    def _preempt(self, replicas: list[ReplicaId], reason: str) -> None:
        """Their GPUs are gone: they end, and `decide` knows that it was none of their doing."""
        for id in replicas:
            attempt = self.attempts.get(id)
            if attempt and attempt.process and attempt.exit_code is None and not attempt.stopping:
                attempt.cause, attempt.refused = Cause.PREEMPTED, f"its GPUs are gone: {reason}"
                self._background(_stop(attempt.process, LONGEST_GRACE_SECONDS))

    def _delete(self, job: TFJob, attempt: Attempt) -> None:
        if attempt.exit_code is not None:
            del self.attempts[attempt.id]
            self._wake.set()
            return
        attempt.stopping = True
        if attempt.process is None:
            self.loan.forgo(attempt.id)
        else:
            grace = min(self.plan.grace_seconds(job, attempt.id), LONGEST_GRACE_SECONDS)
            self._background(_stop(attempt.process, grace))

    def _background(self, work: Coroutine[None, None, object]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- tell and sleep -------------------------------------------------------------------------

    def _tell(self, status: JobStatus) -> None:
        """Write what is known, if it differs from what was written last."""
        snapshot = replace(self.snapshot, status=status, replicas=[self._record(a) for a in self.attempts.values()])
        if snapshot != self.snapshot:
            self.snapshot = snapshot
            self.run.write_snapshot(snapshot)
            self.on_change(snapshot)

    def _record(self, attempt: Attempt) -> ReplicaRecord:
        said = self.progress.known.get(attempt.id)
        return ReplicaRecord(
            name=str(attempt.id),
            attempt=attempt.attempt,
            state=_state(attempt).value,
            pid=attempt.process.pid if attempt.process else None,
            address=self.plan.addresses.get(attempt.id),
            exit_code=attempt.exit_code,
            started_at=attempt.started_at,
            finished_at=attempt.finished_at,
            step=said.step if said else None,
            loss=said.loss if said else None,
        )

    def _done(self, job: TFJob, decision: Decision) -> bool:
        """Whether there is nothing left to look after. A replica that `cleanPodPolicy: None` spared is ended with its
        supervisor: on one machine nobody else could."""
        alive = [attempt for attempt in self.attempts.values() if attempt.exit_code is None]
        phase = decision.status.phase
        pending = [action for action in decision.actions if not isinstance(action, DeleteJob | Serve)]
        server = self.server if self.server and not self.server.ended else None
        if server and not server.stopping and job.spec.run_policy.suspend:
            self._background(server.stop())
        if not alive and not pending and (phase.final or phase is Phase.SUSPENDED):
            self._background(self.loan.release())  # a model may be served for long after
        if phase.final and not pending:
            for attempt in alive:
                if not attempt.stopping:
                    self._delete(job, attempt)
        return not alive and not server and not pending and (phase.final or phase is Phase.SUSPENDED)

    async def _sleep(self, wake_at: float | None) -> None:
        """Until something happens, and no longer than until the next look at the files."""
        timer = LOOK_SECONDS if wake_at is None else min(LOOK_SECONDS, max(0.0, wake_at - time.time()))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), timer)

    def _take_over(self) -> None:
        """Replicas that an earlier supervisor left are gone with it. That is no failure of theirs: they start again
        as after a suspension."""
        job = self._job()
        if job.status.phase.final or not job.status.started:
            return
        self._tell(decide(_suspended(job), Observed(), time.time()).status)


def _suspended(job: TFJob) -> TFJob:
    policy = job.spec.run_policy.model_copy(update={"suspend": True})
    return job.model_copy(update={"spec": job.spec.model_copy(update={"run_policy": policy})})


async def _stop(process: Process, grace: float) -> None:
    await process.stop(grace)


def _state(attempt: Attempt) -> ReplicaState:
    if attempt.stopping:
        return ReplicaState.TERMINATING
    if attempt.exit_code is not None:
        failed = attempt.exit_code or attempt.cause is not Cause.EXIT
        return ReplicaState.FAILED if failed else ReplicaState.SUCCEEDED
    return ReplicaState.RUNNING if attempt.process else ReplicaState.PENDING


def _modified(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None
