"""The heart of Shoal: from what a job should be and what is seen of it, what to do next.

`decide` reads no clock, starts nothing and awaits nothing. It starts from what is there now, never from what was done
before, so running it twice changes nothing, and a crash between any two actions loses nothing. Each policy is a file
of its own, named after the field or the idea; here they are only put in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from shoal.resources.roles import ReplicaType
from shoal.resources.status import ConditionType, Phase, ReplicaStatus
from shoal.resources.tfjob import TFJob
from shoal.training.clean_up import anything_left, clean_up, delete_obsolete
from shoal.training.conditions import set_condition
from shoal.training.deadline import exceed_deadline
from shoal.training.decision import Action, Create, Decision, DeleteJob, Serve
from shoal.training.duties import trains
from shoal.training.ending import end
from shoal.training.failure_policy import answer_failures
from shoal.training.finish import awaited, finish_message, finishing, success
from shoal.training.job_state import JobState
from shoal.training.progress import update_progress
from shoal.training.replica import Observed, ReplicaId, ReplicaState
from shoal.training.retry_budget import pause_left
from shoal.training.scaling import follow_scale
from shoal.training.scaling_policy import follow_policy
from shoal.training.serving import to_be_served
from shoal.training.stall import answer_stall
from shoal.training.startup import await_startup, waiting_for, waiting_message
from shoal.training.suspension import resume, suspend
from shoal.training.ttl import expired


def decide(job: TFJob, observed: Observed, now: float) -> Decision:
    """What to do for `job`, whose `status` is the one that the last pass answered, given what is `observed`.

    `now` is in seconds since the epoch, like all times. `job` is not changed.
    """
    state = JobState(job, observed, now)
    if state.status.phase.final:
        return _after_the_end(state)
    update_progress(state)
    if state.run_policy.suspend:
        suspend(state)
        return _decision(state, list(delete_obsolete(state)))
    _begin(state)
    if finishing(state):
        return _finish(state)
    ending = exceed_deadline(state) or answer_failures(state) or answer_stall(state)
    if ending is None:
        follow_scale(state)
        ending = await_startup(state)
    if ending is not None:
        end(state, ending)
        return _after_the_end(state)
    actions: list[Action] = [*delete_obsolete(state), *_create(state, state.unfinished)]
    _tell(state)
    if change := follow_policy(state):
        actions.append(change)
    return _decision(state, actions)


def _begin(state: JobState) -> None:
    resume(state)
    if state.status.start_time is None:
        state.status.start_time = state.now
    if state.status.condition(ConditionType.CREATED) is None:
        set_condition(state.status, ConditionType.CREATED, True, "TFJobCreated", "the job was accepted", state.now)


def _finish(state: JobState) -> Decision:
    waiting = awaited(state)
    if not waiting:
        end(state, success(state))
        return _after_the_end(state)
    state.status.message = finish_message(state, waiting)
    return _decision(state, [*clean_up(state, keep=waiting), *_create(state, waiting)])


def _after_the_end(state: JobState) -> Decision:
    actions: list[Action] = list(clean_up(state))
    if to_be_served(state):
        actions.append(Serve())
    elif expired(state):
        actions.append(DeleteJob())
    return _decision(state, actions)


def _create(state: JobState, missing: Collection[ReplicaId]) -> Iterator[Create]:
    """Replicas to start: those of which nothing is left, not even a terminating predecessor. A group starts once
    every predecessor of it is gone, and not at all once a member has completed."""
    there = {replica.id for replica in state.observed.replicas}
    leftovers = {replica.id for replica in state.obsolete} & state.group
    blocked = state.group if leftovers or state.group & state.completed else frozenset()
    pause = pause_left(state)
    for id in missing:
        if id in there or id in blocked:
            continue
        if pause and state.attempt(id):
            state.wake(state.now + pause)
            continue
        yield Create(id, state.attempt(id), state.shapes[id.role])


def _tell(state: JobState) -> None:
    """Phase, conditions and message of a job that goes on."""
    status = state.status
    missing = waiting_for(state)
    status.message = waiting_message(state, missing) if missing else ""
    down = [replica for replica in missing if not state.running(replica)]
    if state.restarting or (status.phase is Phase.RESTARTING and down):
        status.phase = Phase.RESTARTING
        first = status.first_failure
        told = first.message if first else "replicas are being restarted"
        if status.condition(ConditionType.RUNNING):
            set_condition(status, ConditionType.RUNNING, False, "TFJobRestarting", told, state.now)
        set_condition(status, ConditionType.RESTARTING, True, "TFJobRestarting", told, state.now)
    elif status.phase is not Phase.PENDING or _training_runs(state):
        status.phase = Phase.RUNNING
        if status.condition(ConditionType.RESTARTING):
            set_condition(status, ConditionType.RESTARTING, False, "TFJobRunning", "the job runs", state.now)
        set_condition(status, ConditionType.RUNNING, True, "TFJobRunning", "the job runs", state.now)


def _training_runs(state: JobState) -> bool:
    return any(
        replica.state is ReplicaState.RUNNING and trains(state.strategy, id.role)
        for id, replica in state.current.items()
    )


def _decision(state: JobState, actions: list[Action]) -> Decision:
    state.status.replica_statuses = _count(state)
    keep = not state.status.phase.final or anything_left(state)
    if state.status.phase is Phase.SUSPENDED:
        keep = anything_left(state)
    return Decision(state.pack(), tuple(actions), state.wake_at, keep)


def _count(state: JobState) -> dict[ReplicaType, ReplicaStatus]:
    running = Counter(id.role for id, seen in state.current.items() if seen.state is ReplicaState.RUNNING)
    failed = Counter(id.role for id, seen in state.current.items() if seen.state is ReplicaState.FAILED)
    succeeded = Counter(id.role for id in state.wanted if id in state.completed)
    roles = {kind: kind.role for kind in state.job.spec.tf_replica_specs}
    return {
        kind: ReplicaStatus(active=running[role], succeeded=succeeded[role], failed=failed[role])
        for kind, role in roles.items()
    }
