"""Which replicas failed, and which failure came first.

Every Python failure is exit code 1, a lost peer's like a bug's, so the code alone cannot tell cause from consequence.
The order of deaths can: a failure shortly after that of a replica it depends on is a consequence.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass

from shoal.resources.roles import Role
from shoal.resources.status import FirstFailure
from shoal.resources.tfjob import Strategy
from shoal.training.job_state import JobState
from shoal.training.replica import Cause, Replica, ReplicaId, ReplicaState

CONSEQUENCE_SECONDS = 30.0
"""How long after a peer's death an error still counts as its consequence. A lost all-reduce peer shows after about
1 s, a lost parameter server within 1 s; a connection that must time out first takes longer."""

SETTLE_SECONDS = 2.0
"""How long an error exit waits, before it may end the job, for an earlier failure that is still on its way here."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One replica's failure. `time` is when it died, or when its absence was noticed."""

    id: ReplicaId
    attempt: int
    cause: Cause
    time: float
    replica: Replica | None = None

    @property
    def exit_code(self) -> int | None:
        return self.replica.exit_code if self.replica else None

    @property
    def plain_error(self) -> bool:
        """Whether the program itself gave up, which is all that a lost peer and a bug have in common."""
        return self.cause is Cause.EXIT and (self.exit_code is None or self.exit_code in (*range(128), _ABORT))


_ABORT = 128 + signal.SIGABRT  # gRPC and collectives abort on some lost connections


def failures(state: JobState) -> list[Failure]:
    """The failures of this pass that nobody has answered yet, the first one first."""
    return sorted(_find(state), key=lambda failure: (failure.time, failure.plain_error))


def _find(state: JobState) -> Iterator[Failure]:
    seen = {replica.id for replica in state.observed.replicas}
    for id in state.wanted:
        replica = state.current.get(id)
        if replica is None:
            if id in state.started and id not in seen and id not in state.completed:
                yield Failure(id, state.attempt(id), Cause.VANISHED, state.now)
        elif replica.state is ReplicaState.FAILED or (
            replica.state is ReplicaState.SUCCEEDED and id not in state.completed
        ):
            ended = state.now if replica.finished_at is None else replica.finished_at
            yield Failure(id, replica.attempt, replica.cause, ended, replica)


def depends_on(strategy: Strategy, role: Role, other: Role) -> bool:
    """Whether the death of a replica of role `other` ends one of `role`."""
    if strategy is Strategy.ALL_REDUCE:
        return Role.EVALUATOR not in (role, other)
    if strategy is Strategy.INDEPENDENT or role is Role.EVALUATOR:
        return False
    if strategy is Strategy.IN_GRAPH:
        return role is Role.CHIEF and other is not Role.EVALUATOR
    return other is Role.PS and role is not Role.PS


def is_consequence(state: JobState, failure: Failure) -> bool:
    """Whether the failure follows from the one that the last restart has already answered."""
    first = state.status.first_failure
    if first is None or not failure.plain_error or failure.replica is None:
        return False
    cause = ReplicaId.parse(first.replica)
    began = failure.replica.started_at
    return (
        cause != failure.id
        and depends_on(state.strategy, failure.id.role, cause.role)
        and (began is None or began <= first.time)
        and first.time <= failure.time <= first.time + CONSEQUENCE_SECONDS
    )


def settled_at(state: JobState, failure: Failure) -> float:
    """When the failure may be taken for the first one. Signals and disruptions speak for themselves."""
    if not failure.plain_error or len(state.wanted) == 1:
        return state.now
    due = failure.time + SETTLE_SECONDS
    return state.now if due - state.now > SETTLE_SECONDS else due  # a clock that stepped back must not hold us


def report(failure: Failure) -> FirstFailure:
    """The failure as the status tells it."""
    replica = failure.replica
    return FirstFailure(
        replica=str(failure.id),
        attempt=failure.attempt,
        cause=failure.cause.value,
        exit_code=failure.exit_code,
        signal=replica.signal if replica else None,
        message=describe(failure),
        log_tail=list(replica.log_tail) if replica else [],
        time=failure.time,
    )


def describe(failure: Failure) -> str:
    """`worker-1 was killed by SIGKILL`, `ps-0 ran out of memory`, `chief-0 exited with code 1`."""
    replica, name = failure.replica, str(failure.id)
    if failure.cause is Cause.EXIT and replica is not None:
        what = f"was killed by {replica.signal}" if replica.signal else f"exited with code {replica.exit_code}"
    else:
        what = _WORDS[failure.cause]
    detail = f": {replica.message}" if replica and replica.message else ""
    return f"{name} {what}{detail}"


_WORDS = {
    Cause.EXIT: "failed",
    Cause.OUT_OF_MEMORY: "ran out of memory (OOMKilled)",
    Cause.EVICTED: "was evicted",
    Cause.PREEMPTED: "was preempted",
    Cause.NODE_LOST: "was lost with its node",
    Cause.VANISHED: "disappeared",
    Cause.STALLED: "stalled",
}
