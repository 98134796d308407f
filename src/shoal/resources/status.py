"""The status of a TFJob: what users read, and the little that `training.decide` must remember between passes.

The first block of fields is Kubeflow's, unchanged. All of it is bounded: index sets are written as ranges
(`0-3,7`), and a replica's attempt is noted only once it has been replaced.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from shoal.resources.base import Model, Timestamp
from shoal.resources.roles import ReplicaType, Role


class Phase(StrEnum):
    """Where a job stands, in one word. Succeeded and Failed are final."""

    PENDING = "Pending"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUSPENDED = "Suspended"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"

    @property
    def final(self) -> bool:
        return self in (Phase.SUCCEEDED, Phase.FAILED)


class ConditionType(StrEnum):
    """Kubeflow's condition types, and Shoal's `Evaluated` (the final checkpoint was, or was not, evaluated)."""

    CREATED = "Created"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUSPENDED = "Suspended"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    EVALUATED = "Evaluated"


class Condition(Model):
    """One statement about the job, and since when it holds."""

    type: ConditionType
    status: Literal["True", "False", "Unknown"]
    reason: str = ""
    message: str = ""
    last_update_time: Timestamp | None = None
    last_transition_time: Timestamp | None = None


class ReplicaStatus(Model):
    """How many replicas of one type are running, succeeded, failed."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    label_selector: dict[str, object] | None = None
    selector: str | None = None


class FirstFailure(Model):
    """The replica whose failure set off the last restart, or ended the job."""

    replica: str
    attempt: int
    cause: str
    exit_code: int | None = None
    signal: str | None = None
    message: str = ""
    log_tail: list[str] = Field(default_factory=list)
    time: Timestamp


class Progress(Model):
    """The furthest training step that any replica reported."""

    replica: str
    step: int
    steps_per_second: float | None = None
    loss: float | None = None
    time: Timestamp


class JobStatus(Model):
    """What was last known of a job."""

    conditions: list[Condition] = Field(default_factory=list)
    replica_statuses: dict[ReplicaType, ReplicaStatus] = Field(default_factory=dict)
    start_time: Timestamp | None = None
    completion_time: Timestamp | None = None
    last_reconcile_time: Timestamp | None = None

    phase: Phase = Phase.PENDING
    message: str = ""
    retries: int = 0
    first_failure: FirstFailure | None = None
    progress: Progress | None = None

    attempts: dict[str, int] = Field(default_factory=dict)
    in_place_restarts: dict[str, int] = Field(default_factory=dict)
    started: dict[Role, str] = Field(default_factory=dict)
    completed: dict[Role, str] = Field(default_factory=dict)
    retry_time: Timestamp | None = None
    waiting_time: Timestamp | None = None
    training_end_time: Timestamp | None = None

    def condition(self, kind: ConditionType) -> Condition | None:
        return next((c for c in self.conditions if c.type == kind), None)
