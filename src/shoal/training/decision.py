"""What `decide` answers: things to do now, the status to write first, and when to look again."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.resources.status import JobStatus
from shoal.training.replica import ReplicaId


@dataclass(frozen=True, slots=True)
class Create:
    """Start this attempt of a replica. `shape` names the cluster its TF_CONFIG describes; observe it back as given."""

    id: ReplicaId
    attempt: int
    shape: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Stop this attempt if it runs (SIGTERM, then SIGKILL after the grace period), forget it, keep its log."""

    id: ReplicaId
    attempt: int
    reason: str


@dataclass(frozen=True, slots=True)
class Scale:
    """Write this number of workers into the job's spec, as a user would who scales it."""

    workers: int


@dataclass(frozen=True, slots=True)
class Serve:
    """See to it that the model is served, and say in the condition `Served` what has come of it: this is wanted until
    the condition is there."""


@dataclass(frozen=True, slots=True)
class DeleteJob:
    """Remove the job and all it left: its time to live is over."""


Action = Create | Delete | Scale | Serve | DeleteJob


@dataclass(frozen=True, slots=True)
class Decision:
    """One pass's outcome.

    The backend writes `status` before it carries out `actions`: a crash in between repeats the actions, and never
    forgets a failure. `wake_at` (seconds since the epoch) is the next time at which something is due without any
    event. `keep_addresses` says whether the job still needs its Services (on one machine: its ports).
    """

    status: JobStatus
    actions: tuple[Action, ...] = ()
    wake_at: float | None = None
    keep_addresses: bool = True
