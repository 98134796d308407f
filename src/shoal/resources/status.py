"""The status of a TFJob: what users read, and the little that `training.decide` must remember between passes.

The first block of fields is Kubeflow's, unchanged. All of it is bounded: index sets are written as ranges
(`0-3,7`), and a replica's attempt is noted only once it has been replaced.
"""

from __future__ import annotations

import json
import math
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from shoal.resources.base import Model, Timestamp
from shoal.resources.roles import ReplicaType, Role
from shoal.resources.scaling import ScalingStatus


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
    """Kubeflow's condition types, and Shoal's: `Evaluated` (the final checkpoint was, or was not, evaluated),
    `Served` (the exported model is, or is not, served) and `Scaled` (`scaling` has changed the number of workers)."""

    CREATED = "Created"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUSPENDED = "Suspended"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    EVALUATED = "Evaluated"
    SERVED = "Served"
    SCALED = "Scaled"


class Condition(Model):
    """One statement about the job, and since when it holds."""

    type: ConditionType = Field(description="What is stated: Created, Running, Succeeded, Failed, …")
    status: Literal["True", "False", "Unknown"] = Field(description="Whether it holds.")
    reason: str = Field(default="", description="Why, in one CamelCase word.")
    message: str = Field(default="", description="Why, for people.")
    last_update_time: Timestamp | None = Field(default=None, description="When this condition was last written.")
    last_transition_time: Timestamp | None = Field(default=None, description="When `status` last changed.")


class ReplicaStatus(Model):
    """How many replicas of one type are running, succeeded, failed."""

    active: int = Field(default=0, description="Replicas that run.")
    succeeded: int = Field(default=0, description="Replicas that have ended with exit code 0.")
    failed: int = Field(default=0, description="Replicas that have failed.")
    label_selector: dict[str, object] | None = Field(default=None, description="Deprecated: use `selector`.")
    selector: str | None = Field(default=None, description="Label query that finds these replicas' pods.")


class FirstFailure(Model):
    """The replica whose failure set off the last restart, or ended the job."""

    replica: str = Field(description="The replica, such as worker-1.")
    attempt: int = Field(description="Which attempt of it failed, counted from 0.")
    cause: str = Field(description="Exit, OOMKilled, Stalled, Evicted, Preempted, NodeLost or Vanished.")
    exit_code: int | None = Field(default=None, description="The process's exit code; 128 + N for signal N.")
    signal: str | None = Field(default=None, description="The signal that ended it, such as SIGKILL.")
    message: str = Field(default="", description="What happened, for people.")
    log_tail: list[str] = Field(default_factory=list, description="The last lines that it logged.")
    time: Timestamp = Field(description="When it failed.")


def _finite(value: object) -> object:
    """None for NaN and infinities: JSON has no way to write them."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


Measured = Annotated[float | None, BeforeValidator(_finite)]
"""A measured number, None where it is unknown or not finite."""


class Progress(Model):
    """The furthest training step that any replica reported."""

    replica: str = Field(description="The replica that reported it, such as chief-0.")
    step: int = Field(description="The training step that was finished.")
    steps_per_second: Measured = Field(default=None, description="Training steps per second, smoothed.")
    loss: Measured = Field(default=None, description="The loss at this step.")
    metrics: dict[str, float] = Field(
        default_factory=dict, description="What else was measured, by trainers and by the evaluator, such as accuracy."
    )
    time: Timestamp = Field(description="When it was reported.")


class JobStatus(Model):
    """What was last known of a job."""

    conditions: list[Condition] = Field(default_factory=list, description="What has happened to the job, newest last.")
    replica_statuses: dict[ReplicaType, ReplicaStatus] = Field(
        default_factory=dict, description="Counts of replicas, by replica type."
    )
    start_time: Timestamp | None = Field(default=None, description="When the job was first acted on.")
    completion_time: Timestamp | None = Field(default=None, description="When the job succeeded or failed.")
    last_reconcile_time: Timestamp | None = Field(default=None, description="When the job was last looked at.")

    phase: Phase = Field(default=Phase.PENDING, description="Where the job stands, in one word.")
    message: str = Field(default="", description="What the job waits for, or how it ended.")
    retries: int = Field(default=0, description="How much of runPolicy.backoffLimit is used up.")
    first_failure: FirstFailure | None = Field(
        default=None, description="The failure that set off the last restart, or ended the job."
    )
    progress: Progress | None = Field(default=None, description="The furthest training step that was reported.")
    scaling: ScalingStatus | None = Field(
        default=None, description="What was decided last about the number of workers, where `scaling` decides."
    )

    attempts: dict[str, int] = Field(
        default_factory=dict, description="Current attempt of each replica that was replaced."
    )
    in_place_restarts: dict[str, int] = Field(
        default_factory=dict, description="Restarts in place that the retry budget has counted, by replica."
    )
    started: dict[Role, str] = Field(
        default_factory=dict, description="Indices of the replicas whose current attempt has been seen, by role: 0-3,7."
    )
    completed: dict[Role, str] = Field(
        default_factory=dict, description="Indices of the replicas that ended with exit code 0, by role: 0-3,7."
    )
    pauses: int = Field(
        default=0, description="How often in a row replicas were started again without one running for long."
    )
    retry_time: Timestamp | None = Field(default=None, description="When failed replicas are started again.")
    waiting_time: Timestamp | None = Field(default=None, description="Since when replicas have been missing.")
    training_end_time: Timestamp | None = Field(
        default=None, description="When training ended; the final evaluation may still run."
    )

    def condition(self, kind: ConditionType) -> Condition | None:
        return next((c for c in self.conditions if c.type == kind), None)

    def dump(self) -> dict[str, Any]:
        """The manifest form: always the phase, and whatever is not as it is by default."""
        return {"phase": self.phase.value, **super().dump()}

    def to_json(self) -> str:
        """One JSON object; `from_json` reads it back. Times are kept to the microsecond."""
        return json.dumps(self.dump(), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> JobStatus:
        """Raises pydantic's ValidationError for text that `to_json` did not write."""
        return cls.model_validate_json(text)
