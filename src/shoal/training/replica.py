"""One process of a job by name, and what a backend saw of it."""

from __future__ import annotations

import signal as signals
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from shoal.resources.roles import Role


class ReplicaId(NamedTuple):
    """`worker-1`: the task that TensorFlow calls `/job:worker/task:1`."""

    role: Role
    index: int  # type: ignore[assignment]  # hides tuple.index; a dataclass would hash four times as slowly

    def __str__(self) -> str:
        return f"{self.role.value}-{self.index}"

    @classmethod
    def parse(cls, text: str) -> ReplicaId:
        """From `worker-1`. Raises ValueError for anything else."""
        role, _, index = text.rpartition("-")
        return cls(Role(role), int(index))


class ReplicaState(StrEnum):
    """Where one replica stands. A replica that is being deleted or drained is terminating, never failed."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    TERMINATING = "Terminating"


class Cause(StrEnum):
    """Why a replica failed. A disruption is the platform's doing: it is retried under any restart policy."""

    EXIT = "Exit"
    OUT_OF_MEMORY = "OOMKilled"
    STALLED = "Stalled"
    EVICTED = "Evicted"
    PREEMPTED = "Preempted"
    NODE_LOST = "NodeLost"
    VANISHED = "Vanished"

    @property
    def disruption(self) -> bool:
        return self in (Cause.EVICTED, Cause.PREEMPTED, Cause.NODE_LOST, Cause.VANISHED)


@dataclass(frozen=True, slots=True)
class ReplicaProgress:
    """What a replica said of its training, newest first to last: `time` is when it was said."""

    step: int
    time: float
    loss: float | None = None
    checkpoint_step: int | None = None
    evaluated_step: int | None = None
    metrics: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Replica:
    """One observed process or pod. Times are seconds since the epoch; a signal N shows as exit code 128 + N.

    `gated`: somebody, such as a queue, has not yet let it be placed.
    """

    id: ReplicaId
    attempt: int
    shape: str
    state: ReplicaState
    exit_code: int | None = None
    cause: Cause = Cause.EXIT
    started_at: float | None = None
    finished_at: float | None = None
    serving: bool | None = None
    in_place_restarts: int = 0
    message: str = ""
    gated: bool = False
    log_tail: tuple[str, ...] = ()
    activity_at: float | None = None
    progress: ReplicaProgress | None = None

    @property
    def signal(self) -> str | None:
        """`SIGKILL` for exit code 137, None where no signal ended the replica."""
        if self.exit_code is None or self.exit_code <= 128:
            return None
        try:
            return signals.Signals(self.exit_code - 128).name
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything a backend sees of one job in one look."""

    replicas: tuple[Replica, ...] = ()
