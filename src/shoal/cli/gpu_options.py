"""Options that several commands on GPUs take, and what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.terminal import refuse

if TYPE_CHECKING:
    import ssl

    from shoal.gpu.client import BrokerClient

GPUResource = Annotated[str, typer.Option(help="What the cluster's device plugin calls a GPU.")]
GPUModelLabel = Annotated[str, typer.Option(help="The node label that names the model of a node's GPUs.")]

Broker = Annotated[str, typer.Option(envvar="SHOAL_BROKER", help="The broker's URL.", show_default=False)]
TokenFile = Annotated[
    Path, typer.Option(envvar="SHOAL_TOKEN_FILE", help="A file with a tenant's token.", show_default=False)
]
CA = Annotated[
    Path | None, typer.Option(envvar="SHOAL_BROKER_CA", help="The authority to trust, such as the broker's ca.crt.")
]

Count = Annotated[int, typer.Option("--gpus", "-n", min=1, max=1024, help="How many GPUs.")]
Memory = Annotated[str | None, typer.Option("--memory", "-m", help="So much memory of each, as in 4Gi.")]
Percent = Annotated[float | None, typer.Option("--percent", "-p", min=0.1, max=100, help="So much of each.")]
Model = Annotated[str | None, typer.Option(help="Models that will do, separated by commas. Default: any.")]
SameHost = Annotated[bool, typer.Option("--same-host", help="All of them on one host.")]
Priority = Annotated[int, typer.Option(help="A higher one goes first.")]
Wait = Annotated[str | None, typer.Option(help="How long to wait for GPUs, as in 10m. Default: for ever.")]


def wanted(gpus: int, memory: str | None, percent: float | None, model: str | None, same_host: bool) -> dict[str, Any]:
    """A request, as the broker is asked. Refuses what contradicts itself."""
    asked: dict[str, Any] = {"gpus": gpus, "same_host": same_host}
    if memory is not None and percent is not None:
        refuse("--memory and --percent ask for the same in two ways", "leave one of them out")
    if memory is not None:
        asked["memory_mib"] = mebibytes("--memory", memory)
    if percent is not None:
        asked["percent"] = percent
    if model is not None:
        asked["models"] = [name for name in model.split(",") if name]
    return asked


def patience(wait: str | None) -> float | None:
    """Seconds of `--wait`. Refuses what is no duration."""
    if wait is None:
        return None
    match = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([smh]?)", wait)
    if not match:
        refuse(f"--wait {wait}: this is no duration", "30s, 10m and 2h are")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def mebibytes(option: str, text: str) -> int:
    """An amount of memory such as `16Gi`, in MiB. Refuses what is none, or less than one."""
    from shoal.resources.quantity import parse_quantity

    try:
        whole = int(parse_quantity(text)) >> 20
    except ValueError as fault:
        refuse(f"{option} {fault}")
    if whole < 1:
        refuse(f"{option} {text}: less than a mebibyte", "as in 16Gi")
    return whole


def secret(file: Path) -> str:
    """The token in the file of `--token-file`. Refuses an empty one."""
    token = file.read_text(encoding="utf-8").strip()
    if not token:
        refuse(f"--token-file {file}: it is empty", "`shoal gpu token` makes a token")
    return token


def trust(authority: Path | None) -> ssl.SSLContext:
    """Whom to trust as the broker: by the file of `--ca`, else whom the machine trusts. Refuses a file that is none."""
    import ssl

    try:
        return ssl.create_default_context(cafile=str(authority) if authority else None)
    except ssl.SSLError:
        refuse(f"--ca {authority}: this is no certificate in PEM", "the broker's --tls-folder has one, ca.crt")


def client_of(broker: str, token_file: Path, ca: Path | None) -> BrokerClient:
    """Who asks the broker."""
    try:
        from shoal.gpu.client import BrokerClient
    except ModuleNotFoundError as missing:
        refuse(f"this needs {missing.name}, which is not installed", 'pip install "shoal[gpu]"')
    return BrokerClient(broker, secret(token_file), trust(ca))
