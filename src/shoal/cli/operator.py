"""`shoal operator`: run TFJobs on Kubernetes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.gpu_options import GPUModelLabel, GPUResource
from shoal.cli.place import need_kubernetes
from shoal.cli.terminal import Exit, refuse
from shoal.kubernetes.gpu_names import GPU_NAMES, GPUNames

if TYPE_CHECKING:
    from shoal.kubernetes.pooled.broker import PoolSettings


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
    webhook_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of the admission webhook, by HTTPS. 0: no webhook.")
    ] = 0,
    webhook_host: Annotated[
        list[str] | None,
        typer.Option(help="A name or address by which the API server reaches the webhook. May be given repeatedly."),
    ] = None,
    webhook_configuration: Annotated[
        str, typer.Option(help="Webhook configurations of this name are told which certificates to trust.")
    ] = "",
    webhook_tls: Annotated[
        str | None, typer.Option(help="A folder with tls.crt and tls.key. Default: certificates that it makes itself.")
    ] = None,
    pool_broker: Annotated[
        str, typer.Option(help="The URL of a GPU pool's broker. Pods that ask for its GPUs wait until it lends them.")
    ] = "",
    pool_token_file: Annotated[
        Path | None, typer.Option(help="A file with the token of a tenant of the broker.", show_default=False)
    ] = None,
    pool_ca: Annotated[
        Path | None, typer.Option(help="The broker's ca.crt. Default: the system's authorities.", show_default=False)
    ] = None,
    pool_resource: Annotated[
        list[str] | None,
        typer.Option(
            help="What stands for a GPU of the pool in a pod's limits. May be given repeatedly. Default: shoal.dev/gpu "
            "and bitfusion.io/gpu."
        ),
    ] = None,
    log_level: Annotated[Level, typer.Option(help="Log from this level on.")] = Level.INFO,
) -> None:
    """Run the TFJobs of a cluster: create their pods, follow them, and restart what fails.

    SIGTERM hands over to the next operator. The exit code is 1 where the lease was lost.
    """
    need_kubernetes()
    import asyncio
    import errno

    from lightkube.core.exceptions import ConfigError

    from shoal.kubernetes.operator.logs import configure
    from shoal.kubernetes.operator.run import Settings, run_operator
    from shoal.kubernetes.webhook.webhook import WebhookSettings

    if webhook_port and not (webhook_host or webhook_tls):
        refuse("--webhook-port: nobody could trust the webhook", "say how it is reached, as in --webhook-host=10.0.0.1")
    if pool_broker and not webhook_port:
        refuse("--pool-broker: no pod would wait for GPUs", "the webhook has them wait; give it a --webhook-port")
    configure(log_level.value)
    gpus = GPUNames(gpu_resource, gpu_model_label)
    hosts = tuple(webhook_host or ())
    webhook = WebhookSettings(webhook_port, hosts, webhook_configuration, webhook_tls) if webhook_port else None
    pool = _pool(pool_broker, pool_token_file, pool_ca, pool_resource or []) if pool_broker else None
    settings = Settings(namespace, kubeconfig, context, workers, leader_elect, metrics_port, gpus, webhook, pool)
    try:
        told_to_end = asyncio.run(run_operator(settings))
    except ConfigError as fault:
        refuse(f"no cluster to connect to: {fault}", "name one with --kubeconfig")
    except OSError as fault:
        if fault.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        refuse(f"cannot listen: {fault.strerror}", "choose other ports by --metrics-port and --webhook-port")
    raise SystemExit(Exit.OK if told_to_end else Exit.FAILED)


def _pool(url: str, token_file: Path | None, ca: Path | None, resources: list[str]) -> PoolSettings:
    from shoal.kubernetes.pooled.asked import POOLED_RESOURCES
    from shoal.kubernetes.pooled.broker import PoolSettings, SettingsError

    if token_file is None:
        refuse("--pool-broker: nobody could ask it", "name a file with a tenant's token by --pool-token-file")
    try:
        return PoolSettings.read(url, token_file, ca, tuple(resources) or POOLED_RESOURCES)
    except SettingsError as fault:
        refuse(str(fault), "the broker's ca.crt goes into --pool-ca, a tenant's token into --pool-token-file")
