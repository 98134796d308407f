"""`shoal gpu list`, `top`, `health` and `quota`: what the pool has, who uses it, and whether it is well."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.gpu_options import CA, Broker, TokenFile, client_of
from shoal.cli.table import bar, table
from shoal.cli.terminal import Exit, Output, console
from shoal.gpu.health import gpu_state

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shoal.gpu.client import BrokerClient

OutputFormat = Annotated[Output, typer.Option("--output", "-o", help="How the result is written.")]

REFRESH_SECONDS = 2.0

Told = dict[str, Any]


def register(group: typer.Typer) -> None:
    """Add the commands to `shoal gpu`."""
    group.command(name="list")(list_)
    group.command()(top)
    group.command()(health)
    group.command()(quota)


def list_(broker: Broker, token_file: TokenFile, ca: CA = None, output: OutputFormat = Output.TABLE) -> None:
    """The hosts of the pool with their GPUs, and the leases of who asks."""
    client = client_of(broker, token_file, ca)
    hosts, leases = client.hosts(), client.leases()
    if output is Output.JSON:
        print(json.dumps({"hosts": hosts, "leases": leases}, indent=2))
        return
    rows = [
        [host["name"], str(number), gpu["model"], f"{gpu['memory_mib']} MiB", f"{gpu['free_percent']:g} %", state]
        for host, number, gpu, state in _gpus(hosts)
    ]
    console().print(table(["HOST", "GPU", "MODEL", "MEMORY", "FREE", "STATE"], rows, right=("GPU", "MEMORY", "FREE")))
    if leases:
        print()
        heading = ["LEASE", "TENANT", "STATE", "GPUS", "REASON"]
        console().print(table(heading, map(_row, leases), wrap=("GPUS", "REASON")))


def top(broker: Broker, token_file: TokenFile, ca: CA = None, output: OutputFormat = Output.TABLE) -> None:
    """Use of each GPU, by whom, and the queue: live on a terminal, until Ctrl-C. A tenant sees its own leases alone."""
    client = client_of(broker, token_file, ca)
    if output is Output.JSON:
        print(
            json.dumps({"hosts": client.hosts(), "leases": [each for each in client.leases() if _live(each)]}, indent=2)
        )
        return
    shown = console()
    if not shown.is_terminal:
        shown.print(_use(client))
        return
    _watch(client)


def health(broker: Broker, token_file: TokenFile, ca: CA = None, output: OutputFormat = Output.TABLE) -> None:
    """Whether each host speaks and each GPU is well. Exit code 1 if one does not or is not, or if there is none."""
    hosts = client_of(broker, token_file, ca).hosts()
    found = [
        {"host": host["name"], "gpu": number, "model": gpu["model"], "state": state}
        for host, number, gpu, state in _gpus(hosts)
    ]
    if output is Output.JSON:
        print(json.dumps(found, indent=2))
    else:
        heard = {host["name"]: f"{host['heard_seconds_ago']:.0f} s ago" for host in hosts}
        rows = [[each["host"], str(each["gpu"]), each["model"], each["state"], heard[each["host"]]] for each in found]
        console().print(table(["HOST", "GPU", "MODEL", "STATE", "HEARD"], rows, right=("GPU",)))
    if not found or any(each["state"] in ("silent", "sick") for each in found):
        raise SystemExit(Exit.FAILED)


def quota(broker: Broker, token_file: TokenFile, ca: CA = None, output: OutputFormat = Output.TABLE) -> None:
    """What tenants hold of what they may hold: all of them for an admin, one's own for a tenant."""
    quotas = client_of(broker, token_file, ca).quotas()
    if output is Output.JSON:
        print(json.dumps(quotas, indent=2))
        return
    rows = [
        [
            each["tenant"],
            *_of(each["used_gpus"], each["gpus"]),
            *_of(each["used_gpu_memory_mib"], each["gpu_memory_mib"], " MiB"),
        ]
        for each in quotas
    ]
    console().print(table(["TENANT", "GPUS", "", "GPU MEMORY", ""], rows, right=("GPUS", "GPU MEMORY")))


def _watch(client: BrokerClient) -> None:
    from rich.live import Live
    from rich.text import Text

    from shoal.gpu.client import Unreachable

    with Live(_use(client), console=console(), auto_refresh=False, transient=True) as live:
        try:
            while True:
                time.sleep(REFRESH_SECONDS)
                try:
                    live.update(_use(client), refresh=True)
                except Unreachable as away:  # it may come back, and then so do its figures
                    live.update(Text(str(away)), refresh=True)
        except KeyboardInterrupt:
            return


def _use(client: BrokerClient) -> RenderableType:
    from rich.console import Group

    hosts, leases = client.hosts(), [each for each in client.leases() if _live(each)]
    on = defaultdict(list)
    for lease in leases:
        for share in lease["shares"]:
            on[share["host"], share["gpu"]].append(f"{lease['tenant']} {lease['id']} {share['percent']:g} %")
    rows = [
        [
            host["name"],
            str(number),
            gpu["model"],
            bar(used := 100 - gpu["free_percent"]),
            f"{used:g} %",
            state,
            ", ".join(on[host["name"], number]),
        ]
        for host, number, gpu, state in _gpus(hosts)
    ]
    heading = ["HOST", "GPU", "MODEL", "", "USED", "STATE", "LEASES"]
    parts: list[RenderableType] = [table(heading, rows, right=("GPU", "USED"), wrap=("LEASES",))]
    if waiting := [each for each in leases if each["state"] == "queued"]:
        queue = [[each["id"], each["tenant"], f"{each['waited_seconds']:.0f} s", each["reason"]] for each in waiting]
        parts += ["", table(["QUEUED", "TENANT", "WAITED", "REASON"], queue, right=("WAITED",), wrap=("REASON",))]
    return Group(*parts)


def _gpus(hosts: list[Told]) -> list[tuple[Told, int, Told, str]]:
    """Host, number there, GPU and its state."""
    return [(host, number, gpu, gpu_state(host, gpu)) for host in hosts for number, gpu in enumerate(host["gpus"])]


def _row(lease: Told) -> list[str]:
    shares = ", ".join(f"{share['host']}/{share['gpu']} {share['percent']:g} %" for share in lease["shares"])
    return [lease["id"], lease["tenant"], lease["state"], shares, lease["notice"] or lease["reason"]]


def _live(lease: Told) -> bool:
    from shoal.pool.lease import LIVE

    return lease["state"] in LIVE


def _of(used: float, granted: float | None, unit: str = "") -> tuple[str, str]:
    """In words, and as a bar where there is a limit."""
    if granted is None:
        return f"{used:g}{unit}, no limit", ""
    return f"{used:g} of {granted:g}{unit}", bar(100 * used / granted if granted else 0)
