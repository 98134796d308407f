"""Where a command looks for runs: `--on local` or `--on kubernetes`, and there in which cluster and namespace."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.terminal import refuse

if TYPE_CHECKING:
    from shoal.kubernetes.client.delivery import Delivery
    from shoal.runs import Runs

ON = "SHOAL_ON"
"""The environment variable that stands for `--on`."""


class On(StrEnum):
    """Where runs run."""

    LOCAL = "local"
    KUBERNETES = "kubernetes"


OnOption = Annotated[
    On, typer.Option("--on", envvar=ON, help="local: as processes of this machine; kubernetes: as pods of a cluster.")
]
ContextOption = Annotated[
    str | None, typer.Option("--context", help="A context of the kubeconfig; by default its current one.")
]
NamespaceOption = Annotated[
    str | None, typer.Option("--namespace", "-n", help="A namespace; by default the context's.")
]


def runs_on(
    on: On, context: str | None, namespace: str | None, prefork: bool = True, delivery: Delivery | None = None
) -> Runs:
    """The runs of that place. What a place needs is imported only here."""
    if on is On.LOCAL:
        if context is not None or namespace is not None:
            refuse("--context and --namespace belong to a cluster", "add --on kubernetes")
        from shoal.local.backend import LocalRuns

        return LocalRuns(prefork)
    need_kubernetes()
    from shoal.kubernetes.client.runs import ClusterRuns

    named = "" if os.environ.get(ON) == On.KUBERNETES else " --on kubernetes"
    named += f" --context {context}" if context else ""
    return ClusterRuns(context, namespace, named, delivery)


def need_kubernetes() -> None:
    """Refuse where the extra is not installed without which no cluster can be reached."""
    try:
        import lightkube  # noqa: F401
    except ModuleNotFoundError:
        refuse("Kubernetes needs more than Shoal's base", 'pip install "shoal[kubernetes]"')
