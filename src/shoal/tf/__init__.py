"""A small library for training scripts: strategy, lifecycle, checkpoints, progress. Scripts work without it too.

    import tensorflow as tf
    import shoal.tf

    shoal.tf.serve()                        # a parameter server stays in here until it is ended
    strategy = shoal.tf.strategy()          # as TF_CONFIG and the manifest's `strategy` say
    checkpoints = shoal.tf.Checkpoints("/train/checkpoints", model=model, optimizer=optimizer)
    for step in range(checkpoints.restore(), 1000):
        ...
        shoal.tf.report(step, loss=loss)    # shown by `shoal run`, and kept in the job's status
    shoal.tf.export(model, "/train/model", signatures=...)

The same script runs alone, under `shoal run`, and in pods. TensorFlow is imported by the first call that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.tf.checkpoints import Checkpoints, follow
    from shoal.tf.cluster import Cluster, ClusterError
    from shoal.tf.fit import fit_callbacks
    from shoal.tf.reports import report, report_checkpoint, report_evaluation
    from shoal.tf.saved_model import export
    from shoal.tf.servers import serve, server, session_config
    from shoal.tf.strategies import strategy

_HOMES = {
    "Checkpoints": "checkpoints",
    "Cluster": "cluster",
    "ClusterError": "cluster",
    "export": "saved_model",
    "fit_callbacks": "fit",
    "follow": "checkpoints",
    "report": "reports",
    "report_checkpoint": "reports",
    "report_evaluation": "reports",
    "serve": "servers",
    "server": "servers",
    "session_config": "servers",
    "strategy": "strategies",
}

__all__ = [
    "Checkpoints",
    "Cluster",
    "ClusterError",
    "export",
    "fit_callbacks",
    "follow",
    "report",
    "report_checkpoint",
    "report_evaluation",
    "serve",
    "server",
    "session_config",
    "strategy",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
