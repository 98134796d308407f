"""What the status of a model server says, from its Deployment. A pure function, as `training.decide` is for jobs."""

from __future__ import annotations

from typing import Literal, NamedTuple

from shoal.kubernetes.labels import MODEL_SERVER
from shoal.kubernetes.operator.serving.served import Served
from shoal.kubernetes.operator.views import Deployment
from shoal.kubernetes.serving.routes import grpc, url
from shoal.resources import ModelServer, ServerPhase, ServerStatus
from shoal.resources.model_server import ServerCondition
from shoal.resources.served_models import in_short

READY = "Ready"
AVAILABLE = "Available"


class Verdict(NamedTuple):
    """Where a server stands, and why."""

    phase: ServerPhase
    reason: str
    message: str = ""


def server_status(
    server: ModelServer,
    generation: int,
    deployment: Deployment | None,
    problem: str,
    now: float,
    served: Served | None = None,
) -> ServerStatus:
    """The next status, given the one in `server`. `problem` is what kept the operator from doing all that is asked,
    `served` what pods have told; None where none was asked yet: then it is as another operator has left it."""
    seen = deployment.status if deployment else None
    if seen is None or not seen.ready_replicas:
        served = Served([], 0)
    elif served is None:
        served = Served(server.status.models, server.status.silent_replicas)
    verdict = judge(deployment, problem)
    status = ServerStatus(
        phase=verdict.phase,
        message=verdict.message,
        conditions=server.status.conditions,
        replicas=seen.replicas if seen else 0,
        ready_replicas=seen.ready_replicas if seen else 0,
        updated_replicas=seen.updated_replicas if seen else 0,
        models=served.models,
        served_versions=in_short(served.models),
        silent_replicas=served.silent,
        selector=f"{MODEL_SERVER}={server.name}",
        url=url(server),
        grpc=grpc(server),
        observed_generation=generation,
    )
    some = status.ready_replicas > 0
    answers = Verdict(verdict.phase, "SomeReady" if some else "NoneReady", f"{status.ready_replicas} replicas answer")
    holds = {READY: (verdict.phase is ServerPhase.READY, verdict), AVAILABLE: (some, answers)}
    return with_conditions(status, holds, now)


def refused(server: ServerStatus, generation: int, faults: str, now: float) -> ServerStatus:
    """The status of a server whose manifest the schema let through and the rules do not. What runs, runs on."""
    failed = Verdict(ServerPhase.FAILED, "InvalidSpec", faults)
    update = {"phase": failed.phase, "message": faults, "observed_generation": generation}
    return with_conditions(server.model_copy(update=update), {READY: (False, failed)}, now)


def judge(deployment: Deployment | None, problem: str) -> Verdict:
    """Where a server stands: ready is one whose replicas are all there, all as the spec says, and all answer."""
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


def with_conditions(status: ServerStatus, holds: dict[str, tuple[bool, Verdict]], now: float) -> ServerStatus:
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
