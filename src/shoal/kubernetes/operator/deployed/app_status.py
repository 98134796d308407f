"""What the status of a web application says, from its Deployment. A pure function."""

from __future__ import annotations

from shoal.kubernetes.operator.deployed.status import READY, judge, with_conditions
from shoal.kubernetes.operator.views import Deployment
from shoal.kubernetes.web_app import AppOwner, url
from shoal.resources import AppPhase, AppStatus, ServerPhase


def app_status(
    app: AppOwner, generation: int, deployment: Deployment | None, problem: str, now: float, stopped: str = ""
) -> AppStatus:
    """The next status, given the one in `app`. `problem` is what kept the operator from doing all that is asked;
    `stopped` is why no replica is wanted, where none is."""
    verdict = judge(deployment, problem)
    phase = AppPhase(verdict.phase.value)
    if stopped and verdict.phase is ServerPhase.READY:
        phase, verdict = AppPhase.STOPPED, verdict._replace(reason="Stopped", message=stopped)
    elif stopped and verdict.reason == "Waiting":
        verdict = verdict._replace(message="it is being stopped")
    status = AppStatus(
        phase=phase,
        message=verdict.message,
        conditions=app.status.conditions,
        ready_replicas=deployment.status.ready_replicas if deployment else 0,
        url=url(app),
        observed_generation=generation,
    )
    return with_conditions(status, {READY: (phase is AppPhase.READY, verdict)}, now)
