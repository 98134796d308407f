"""`shoal gpu plugin`: offer GPUs to the kubelet of this node."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.gpu_options import GPUModelLabel, mebibytes
from shoal.cli.operator import Level
from shoal.cli.place import need_kubernetes
from shoal.cli.terminal import Exit, complain, refuse
from shoal.gpu.plugin.devices import PassBy
from shoal.gpu.plugin.pooled import CLIENT_FOLDER
from shoal.kubernetes.gpu_names import GPU_NAMES, KUBELET_PLUGINS

if TYPE_CHECKING:
    from shoal.gpu.plugin.devices import Device, Source
    from shoal.gpu.plugin.run import Companion

POOL_RESOURCE = "shoal.dev/gpu"
_RESOURCE = re.compile(r"(?=.{1,253}/)[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?", re.ASCII)
_SOCKET = re.compile(r"[\w-][\w.-]*", re.ASCII)


def register(gpu: typer.Typer) -> None:
    """Add the command to the group."""
    gpu.command()(plugin)


def plugin(
    resource_name: Annotated[
        str | None,
        typer.Option(
            envvar="RESOURCE_NAME",
            help="What pods ask for, as bitfusion.io/gpu.",
            show_default=f"{GPU_NAMES.resource}; {POOL_RESOURCE} with --pool-shares",
        ),
    ] = None,
    socket_name: Annotated[
        str, typer.Option(envvar="SOCKET_NAME", help="The plugin's socket in the kubelet's folder.")
    ] = "shoal-gpu",
    device_pattern: Annotated[
        str,
        typer.Option(
            envvar="REG_EXP_SFC",
            help="Offer the GPUs alone whose model matches this regular expression.",
            show_default="all",
        ),
    ] = "",
    kubelet_folder: Annotated[Path, typer.Option(help="Where the kubelet looks for plugins.")] = Path(KUBELET_PLUGINS),
    pass_by: Annotated[
        list[PassBy] | None,
        typer.Option(
            help="How a container is given NVIDIA GPUs: the environment of NVIDIA's runtime, device nodes, CDI names. "
            "May be repeated.",
            show_default="env",
        ),
    ] = None,
    software_gpus: Annotated[int, typer.Option(min=0, help="Offer so many software GPUs in place of real ones.")] = 0,
    gpu_memory: Annotated[str, typer.Option(help="Of each software GPU.")] = "16Gi",
    gpu_model: Annotated[str, typer.Option(help="Of the software GPUs.")] = "software",
    pool_shares: Annotated[
        int, typer.Option(min=0, help="Offer so many GPUs of the pool, wherever those are, in place of this node's.")
    ] = 0,
    client_library: Annotated[
        Path | None,
        typer.Option(help="With --pool-shares: the node's folder with Shoal's client library.", show_default=False),
    ] = None,
    client_path: Annotated[Path, typer.Option(help="Where a container finds it; its LD_LIBRARY_PATH.")] = Path(
        CLIENT_FOLDER
    ),
    broker: Annotated[
        str, typer.Option(envvar="SHOAL_BROKER", help="With --pool-shares: where a container finds the broker.")
    ] = "",
    unhealthy_file: Annotated[
        Path | None,
        typer.Option(
            help="A file with ids of devices to take out of use, one a line. It may come and go.", show_default=False
        ),
    ] = None,
    pre_start: Annotated[
        bool,
        typer.Option(
            "--pre-start",
            help="Have the kubelet ask before each start of a container, so that none starts on a GPU that has failed.",
        ),
    ] = False,
    check_seconds: Annotated[float, typer.Option(min=0.1, help="How often the GPUs are looked at.")] = 5.0,
    label_node: Annotated[
        bool, typer.Option("--label-node", help="Label the node with model, memory, count and driver of its GPUs.")
    ] = False,
    node: Annotated[str, typer.Option(envvar="NODE_NAME", help="With --label-node: the node's name.")] = "",
    kubeconfig: Annotated[
        str | None,
        typer.Option(help="With --label-node. Default: as for `shoal operator`.", show_default=False),
    ] = None,
    gpu_model_label: GPUModelLabel = GPU_NAMES.model_label,
    log_level: Annotated[Level, typer.Option(help="Log from this level on.")] = Level.INFO,
) -> None:
    """Offer GPUs to the kubelet of this node: a device plugin.

    NVIDIA GPUs, unless --software-gpus or --pool-shares says otherwise. Containers get what they need to use theirs.
    SIGTERM ends it; what has been given out stays.
    """
    resource = resource_name or (POOL_RESOURCE if pool_shares else GPU_NAMES.resource)
    if not _RESOURCE.fullmatch(resource) or resource.partition("/")[0].endswith("kubernetes.io"):
        refuse(f"RESOURCE_NAME {resource}: no name of an extended resource", "DOMAIN/NAME, as in bitfusion.io/gpu")
    if not _SOCKET.fullmatch(socket_name) or socket_name.removesuffix(".sock") == "kubelet":
        refuse(f"SOCKET_NAME {socket_name}: no name of a file for the plugin alone", "as in bitfusiongpu")
    try:
        pattern = re.compile(device_pattern) if device_pattern else None
    except re.error as fault:
        refuse(f"REG_EXP_SFC {device_pattern}: {fault}", "a regular expression of Python's, as in A100|H100")
    if software_gpus and pool_shares:
        refuse("--software-gpus and --pool-shares: a plugin offers one kind", "run one plugin for each")
    if not pool_shares and (client_library or broker):
        refuse("--client-library and --broker are of the pool", "say --pool-shares, too")
    for option, path in (("--client-library", client_library), ("--client-path", client_path)):
        if path and not path.is_absolute():
            refuse(f"{option} {path}: not absolute", "the kubelet mounts by absolute paths")
    if label_node and not node:
        refuse("--label-node: which node is this?", "say --node, or NODE_NAME by the downward API (spec.nodeName)")
    if label_node and pool_shares:
        refuse("--label-node: GPUs of the pool are not this node's", "leave one of --label-node and --pool-shares out")
    need_kubernetes()
    import asyncio

    try:
        from shoal.gpu.plugin.devices import Chosen, SourceError
        from shoal.gpu.plugin.nvidia import Nvidia
        from shoal.gpu.plugin.pooled import Pooled
        from shoal.gpu.plugin.run import PluginError, Settings, run_plugin
        from shoal.gpu.plugin.software import Software
    except ModuleNotFoundError as missing:
        refuse(f"this needs {missing.name}, which is not installed", 'pip install "shoal[gpu]"')
    from shoal.kubernetes.operator.logs import configure

    configure(log_level.value)
    settings = Settings(resource, socket_name, kubelet_folder, pre_start, check_seconds)
    source: Source
    try:
        if pool_shares:
            source = Pooled(pool_shares, str(client_library or ""), broker, str(client_path))
        elif software_gpus:
            source = Software(software_gpus, mebibytes("--gpu-memory", gpu_memory), gpu_model)
        else:
            source = Nvidia(pass_by or [PassBy.ENV])
        # A share has no model before the broker has chosen a GPU for it.
        chosen = Chosen(source, None if pool_shares else pattern, unhealthy_file)
        labeller = [_labeller(chosen, node, kubeconfig, gpu_model_label)] if label_node else []
        asyncio.run(run_plugin(settings, chosen, *labeller))
    except (SourceError, PluginError) as fault:
        complain(str(fault), fault.hint)
        raise SystemExit(Exit.FAILED) from None


def _labeller(source: Source, node: str, kubeconfig: str | None, model_label: str) -> Companion:
    from lightkube.core.exceptions import ConfigError

    from shoal.kubernetes.node_labels import gpu_labels, keep_labelled
    from shoal.kubernetes.operator.client import Client
    from shoal.kubernetes.operator.kubeconfig import configuration

    try:
        config = configuration([kubeconfig] if kubeconfig else [], None)
    except ConfigError as fault:
        refuse(f"--label-node: no cluster to connect to: {fault}", "name one with --kubeconfig")

    async def label(devices: Callable[[], Sequence[Device]]) -> None:
        def labels() -> dict[str, str | None]:
            found = devices()
            least = min((each.memory_mib for each in found), default=0)
            return gpu_labels({each.model for each in found}, least, len(found), source.driver, model_label)

        client = Client(config, manager="shoal-gpu-plugin")
        try:
            await keep_labelled(client, node, labels)
        finally:
            await client.close()

    return label
