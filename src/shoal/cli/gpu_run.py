"""`shoal gpu run` and `shoal gpu list`: GPUs of a pool, for a command, and what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.gpu_options import mebibytes, secret, trust
from shoal.cli.table import table
from shoal.cli.terminal import Exit, Output, complain, console, refuse, say

if TYPE_CHECKING:
    from shoal.gpu.client import BrokerClient

Broker = Annotated[str, typer.Option(envvar="SHOAL_BROKER", help="The broker's URL.", show_default=False)]
TokenFile = Annotated[
    Path, typer.Option(envvar="SHOAL_TOKEN_FILE", help="A file with a tenant's token.", show_default=False)
]
CA = Annotated[
    Path | None, typer.Option(envvar="SHOAL_BROKER_CA", help="The authority to trust, such as the broker's ca.crt.")
]


def register(group: typer.Typer) -> None:
    """Add the commands to `shoal gpu`."""
    group.command()(run)
    group.command(name="list")(list_)


def run(
    command: Annotated[list[str], typer.Argument(help="The command, after `--`.", show_default=False)],
    broker: Broker,
    token_file: TokenFile,
    ca: CA = None,
    gpus: Annotated[int, typer.Option("--gpus", "-n", min=1, max=1024, help="How many GPUs.")] = 1,
    memory: Annotated[str | None, typer.Option("--memory", "-m", help="So much memory of each, as in 4Gi.")] = None,
    percent: Annotated[float | None, typer.Option("--percent", "-p", min=0.1, max=100, help="So much of each.")] = None,
    model: Annotated[str | None, typer.Option(help="Models that will do, separated by commas. Default: any.")] = None,
    same_host: Annotated[bool, typer.Option("--same-host", help="All of them on one host.")] = False,
    priority: Annotated[int, typer.Option(help="A higher one goes first.")] = 0,
    wait: Annotated[str | None, typer.Option(help="How long to wait for GPUs, as in 10m. Default: for ever.")] = None,
) -> None:
    """Run a command with GPUs of the pool. They are released when it ends, however it does; its exit code is kept."""
    wanted: dict[str, Any] = {"gpus": gpus, "same_host": same_host}
    if memory is not None and percent is not None:
        refuse("--memory and --percent ask for the same in two ways", "leave one of them out")
    if memory is not None:
        wanted["memory_mib"] = mebibytes("--memory", memory)
    if percent is not None:
        wanted["percent"] = percent
    if model is not None:
        wanted["models"] = [name for name in model.split(",") if name]
    patience = None if wait is None else _seconds(wait)
    client = _client(broker, token_file, ca)
    from shoal.gpu import lent

    try:
        code = lent.run(client, [wanted], priority, patience, command, say)
    except lent.TooLate as late:
        complain(f"nothing was free within {wait}: {late}", "--wait waits longer; `shoal gpu list` shows the pool")
        raise SystemExit(Exit.TIMEOUT) from None
    except lent.Ended as ended:
        complain(f"the GPUs are gone: {ended}")
        raise SystemExit(Exit.FAILED) from None
    except OSError as fault:
        refuse(f"{command[0]}: {fault.strerror}")
    raise SystemExit(code)


def list_(
    broker: Broker,
    token_file: TokenFile,
    ca: CA = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="How the result is written.")] = Output.TABLE,
) -> None:
    """The hosts of the pool with their GPUs, and the leases of who asks."""
    client = _client(broker, token_file, ca)
    hosts, leases = client.hosts(), client.leases()
    if output is Output.JSON:
        print(json.dumps({"hosts": hosts, "leases": leases}, indent=2))
        return
    rows = [
        [
            host["name"],
            str(number),
            gpu["model"],
            f"{gpu['memory_mib']} MiB",
            f"{gpu['free_percent']:g} %",
            "silent" if host["silent"] else "drained" if host["drained"] else "ok" if gpu["healthy"] else "sick",
        ]
        for host in hosts
        for number, gpu in enumerate(host["gpus"])
    ]
    console().print(table(["HOST", "GPU", "MODEL", "MEMORY", "FREE", "STATE"], rows, right=("GPU", "MEMORY", "FREE")))
    if leases:
        print()
        heading = ["LEASE", "TENANT", "STATE", "GPUS", "REASON"]
        console().print(table(heading, map(_row, leases), wrap=("GPUS", "REASON")))


def _row(lease: dict[str, Any]) -> list[str]:
    shares = ", ".join(f"{share['host']}/{share['gpu']} {share['percent']:g} %" for share in lease["shares"])
    return [lease["id"], lease["tenant"], lease["state"], shares, lease["notice"] or lease["reason"]]


def _seconds(duration: str) -> float:
    match = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([smh]?)", duration)
    if not match:
        refuse(f"--wait {duration}: this is no duration", "30s, 10m and 2h are")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def _client(broker: str, token_file: Path, ca: Path | None) -> BrokerClient:
    try:
        from shoal.gpu.client import BrokerClient
    except ModuleNotFoundError as missing:
        refuse(f"this needs {missing.name}, which is not installed", 'pip install "shoal[gpu]"')
    return BrokerClient(broker, secret(token_file), trust(ca))
