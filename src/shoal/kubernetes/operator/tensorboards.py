"""TensorBoards: their objects, and whether they answer."""

from __future__ import annotations

from collections.abc import Iterable

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.operator.deployed.app_status import app_status
from shoal.kubernetes.operator.deployed.reconcile import DeployedReconciler
from shoal.kubernetes.operator.kinds import TENSORBOARDS
from shoal.kubernetes.operator.views import Deployed, Deployment
from shoal.kubernetes.tensorboard import render_board
from shoal.resources import AppStatus, TensorBoard, parse_board


class TensorBoardReconciler(DeployedReconciler[TensorBoard, AppStatus]):
    """Looks after TensorBoards."""

    kind = TENSORBOARDS
    what = "TensorBoard"

    def _parse(self, manifest: Object) -> TensorBoard:
        return parse_board(manifest, source="TensorBoard")

    def _render(self, resource: TensorBoard) -> Iterable[Object]:
        return render_board(resource)

    def _read_status(self, status: Object) -> AppStatus:
        return AppStatus.model_validate(status)

    def _status(
        self, resource: TensorBoard, stored: Deployed, deployment: Deployment | None, problem: str, now: float
    ) -> AppStatus:
        return app_status(resource, stored.metadata.generation, deployment, problem, now)

    def _told_ready(self, status: AppStatus) -> str:
        return f"it answers at {status.url}"
