"""TensorBoards: their objects, and whether they answer."""

from __future__ import annotations

from collections.abc import Iterable

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.operator.deployed.apps import AppReconciler
from shoal.kubernetes.operator.kinds import TENSORBOARDS
from shoal.kubernetes.operator.views import Deployed
from shoal.kubernetes.tensorboard import render_board
from shoal.resources import TensorBoard, parse_board


class TensorBoardReconciler(AppReconciler[TensorBoard]):
    """Looks after TensorBoards."""

    kind = TENSORBOARDS
    what = "TensorBoard"
    noun = "TensorBoard"

    def _parse(self, manifest: Object) -> TensorBoard:
        return parse_board(manifest, source="TensorBoard")

    def _render(self, resource: TensorBoard, stored: Deployed) -> Iterable[Object]:
        return render_board(resource)
