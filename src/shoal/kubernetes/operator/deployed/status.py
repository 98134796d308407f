"""Where a Deployment stands, as the conditions of the resource that it belongs to. Pure, as `training.decide` is."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeVar

from shoal.kubernetes.operator.views import Deployment
from shoal.resources import AppStatus, ServerPhase, ServerStatus
from shoal.resources.model_server import ServerCondition

S = TypeVar("S", ServerStatus, AppStatus)

READY = "Ready"


class Verdict(NamedTuple):
    """Where it stands, and why."""

    phase: ServerPhase
    reason: str
    message: str = ""


def judge(deployment: Deployment | None, problem: str) -> Verdict:
    """Ready is a Deployment whose replicas are all there, all as the spec says, and all answer."""
    if problem:
        return Verdict(ServerPhase.FAILED, "CannotApply", problem)
    if deployment is None:
        return Verdict(ServerPhase.PENDING, "Waiting", "there is no Deployment yet")
    seen, wanted = deployment.status, deployment.spec.replicas
    phase = ServerPhase.UPDATING if seen.ready_replicas else ServerPhase.PENDING
    if seen.observed_generation < deployment.metadata.generation:
        return Verdict(phase, "Waiting", "the Deployment has just changed")
    for condition in seen.conditions:
        if (condition.type, condition.status) in (("Progressing", "False"), ("ReplicaFailure", "True")):
            return Verdict(ServerPhase.FAILED, condition.reason, condition.message)
    if seen.ready_replicas >= wanted and seen.replicas == seen.updated_replicas == wanted:
        return Verdict(ServerPhase.READY, "AllReady")
    # A pod of the old kind that still answers is no pod that the spec wants.
    ready = max(0, seen.ready_replicas - (seen.replicas - seen.updated_replicas))
    return Verdict(phase, "Waiting", f"{min(ready, wanted)} of {wanted} replicas are ready as the spec says")


def refused(status: S, generation: int, faults: str, now: float) -> S:
    """The status of a resource whose manifest the schema let through and the rules do not. What runs, runs on."""
    failed = Verdict(ServerPhase.FAILED, "InvalidSpec", faults)
    phase = type(status.phase)(failed.phase.value)
    update = {"phase": phase, "message": faults, "observed_generation": generation}
    return with_conditions(status.model_copy(update=update), {READY: (False, failed)}, now)


def with_conditions(status: S, holds: dict[str, tuple[bool, Verdict]], now: float) -> S:
    """The status with these conditions; one that has not turned keeps its time."""
    known = {condition.type: condition for condition in status.conditions}
    for kind, (does, verdict) in holds.items():
        before = known.get(kind)
        word: Literal["True", "False"] = "True" if does else "False"
        known[kind] = ServerCondition(
            type=kind,
            status=word,
            reason=verdict.reason,
            message=verdict.message,
            last_transition_time=before.last_transition_time if before and before.status == word else now,
            observed_generation=status.observed_generation,
        )
    return status.model_copy(update={"conditions": list(known.values())})
