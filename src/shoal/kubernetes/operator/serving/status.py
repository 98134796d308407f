"""What the status of a model server says, from its Deployment. A pure function, as `training.decide` is for jobs."""

from __future__ import annotations

from shoal.kubernetes.labels import MODEL_SERVER
from shoal.kubernetes.operator.deployed.status import READY, Verdict, judge, with_conditions
from shoal.kubernetes.operator.serving.served import Served
from shoal.kubernetes.operator.views import Deployment
from shoal.kubernetes.serving.routes import grpc, url
from shoal.resources import ModelServer, ServerPhase, ServerStatus
from shoal.resources.served_models import in_short

AVAILABLE = "Available"


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
