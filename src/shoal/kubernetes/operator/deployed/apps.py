"""Web applications: what passes over TensorBoards and workbenches have in common."""

from __future__ import annotations

from typing import TypeVar

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.operator.deployed.app_status import app_status
from shoal.kubernetes.operator.deployed.reconcile import DeployedReconciler
from shoal.kubernetes.operator.views import Deployed, Deployment
from shoal.resources import AppStatus, TensorBoard, Workbench

A = TypeVar("A", TensorBoard, Workbench)


class AppReconciler(DeployedReconciler[A, AppStatus]):
    """Looks after the applications of one kind."""

    def _read_status(self, status: Object) -> AppStatus:
        return AppStatus.model_validate(status)

    def _status(
        self, resource: A, stored: Deployed, deployment: Deployment | None, problem: str, now: float
    ) -> AppStatus:
        return app_status(resource, stored.metadata.generation, deployment, problem, now)

    def _told_ready(self, status: AppStatus) -> str:
        return f"it answers at {status.url}"
