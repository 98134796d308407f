"""What the status of a web application says, from its Deployment. A pure function."""

from __future__ import annotations

from shoal.kubernetes.operator.deployed.status import READY, judge, with_conditions
from shoal.kubernetes.operator.views import Deployment
from shoal.kubernetes.web_app import AppOwner, url
from shoal.resources import AppPhase, AppStatus, ServerPhase


def app_status(app: AppOwner, generation: int, deployment: Deployment | None, problem: str, now: float) -> AppStatus:
    """The next status, given the one in `app`. `problem` is what kept the operator from doing all that is asked."""
    verdict = judge(deployment, problem)
    status = AppStatus(
        phase=AppPhase(verdict.phase.value),
        message=verdict.message,
        conditions=app.status.conditions,
        ready_replicas=deployment.status.ready_replicas if deployment else 0,
        url=url(app),
        observed_generation=generation,
    )
    return with_conditions(status, {READY: (verdict.phase is ServerPhase.READY, verdict)}, now)
