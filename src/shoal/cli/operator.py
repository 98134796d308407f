"""`shoal operator`: run TFJobs on Kubernetes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from shoal.cli.gpu_options import GPUModelLabel, GPUResource
from shoal.cli.place import need_kubernetes
from shoal.cli.terminal import Exit, refuse
from shoal.kubernetes.gpu_names import GPU_NAMES, GPUNames


class Level(StrEnum):
    """From which level on the operator logs."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def register(app: typer.Typer) -> None:
    app.command()(operator)


def operator(
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="Look after this namespace only. Default: all.")
    ] = None,
    kubeconfig: Annotated[
        str | None,
        typer.Option(help="Default: the pod's service account, else $KUBECONFIG, else ~/.kube/config."),
    ] = None,
    context: Annotated[str | None, typer.Option(help="A context of the kubeconfig. Default: its current one.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="How many jobs are looked at at a time.")] = 4,
    leader_elect: Annotated[
        bool, typer.Option(help="Act only while holding the lease, so that several operators may run.")
    ] = True,
    metrics_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of /metrics, /healthz and /readyz. 0: any free port.")
    ] = 8080,
    gpu_resource: GPUResource = GPU_NAMES.resource,
    gpu_model_label: GPUModelLabel = GPU_NAMES.model_label,
    log_level: Annotated[Level, typer.Option(help="Log from this level on.")] = Level.INFO,
) -> None:
    """Run the TFJobs of a cluster: create their pods, follow them, and restart what fails.

    SIGTERM hands over to the next operator. The exit code is 1 where the lease was lost.
    """
    need_kubernetes()
    import asyncio

    from lightkube.core.exceptions import ConfigError

    from shoal.kubernetes.operator.logs import configure
    from shoal.kubernetes.operator.run import Settings, run_operator

    configure(log_level.value)
    gpus = GPUNames(gpu_resource, gpu_model_label)
    settings = Settings(namespace, kubeconfig, context, workers, leader_elect, metrics_port, gpus)
    try:
        told_to_end = asyncio.run(run_operator(settings))
    except ConfigError as fault:
        refuse(f"no cluster to connect to: {fault}", "name one with --kubeconfig")
    raise SystemExit(Exit.OK if told_to_end else Exit.FAILED)
