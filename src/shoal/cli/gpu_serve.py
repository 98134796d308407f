"""`shoal gpu serve`: the agent of a GPU host."""

from __future__ import annotations

import signal
import socket
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.gpu_options import mebibytes, secret, trust
from shoal.cli.terminal import Exit, complain, refuse, say


def register(group: typer.Typer) -> None:
    """Add the command to `shoal gpu`."""
    group.command()(serve)


def serve(
    broker: Annotated[str, typer.Option(help="The broker's URL.", show_default=False)],
    token_file: Annotated[Path, typer.Option(help="A file with the agent's token.", show_default=False)],
    state: Annotated[Path, typer.Option(help="A folder for what the host holds.", show_default=False)],
    software_gpus: Annotated[
        int, typer.Option(min=0, max=1024, help="Offer so many software GPUs in place of real ones.")
    ] = 0,
    gpu_memory: Annotated[str, typer.Option(help="Of each software GPU.")] = "16Gi",
    gpu_model: Annotated[str, typer.Option(help="Of the software GPUs.")] = "software",
    name: Annotated[
        str | None, typer.Option(help="The host's name, as the broker's file has it. Default: the machine's.")
    ] = None,
    address: Annotated[str, typer.Option(help="Where this host's lease servers listen.")] = "127.0.0.1",
    ca: Annotated[Path | None, typer.Option(help="The authority to trust, such as the broker's ca.crt.")] = None,
    unhealthy_file: Annotated[
        Path | None,
        typer.Option(help="A file with ids of GPUs to take out of use, one a line. It may come and go."),
    ] = None,
    check_seconds: Annotated[float, typer.Option(min=0.1, help="How often the GPUs are looked at.")] = 5.0,
) -> None:
    """Offer this host's GPUs to a broker, and run a server for each lease.

    NVIDIA GPUs, as NVML tells of them, unless --software-gpus says otherwise.
    """
    try:
        import asyncio
        import logging
        from collections import Counter

        import httpx2

        from shoal.gpu.agent import Agent, Kept, StateError
        from shoal.gpu.plugin.devices import Chosen, Source, SourceError
        from shoal.gpu.plugin.nvidia import Nvidia
        from shoal.gpu.plugin.software import Software
    except ModuleNotFoundError as missing:
        refuse(f"this needs {missing.name}, which is not installed", 'pip install "shoal[gpu]"')
    memory = mebibytes("--gpu-memory", gpu_memory)
    headers = {"Authorization": f"Bearer {secret(token_file)}"}
    trusted, host = trust(ca), name or socket.gethostname()
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    logging.getLogger("httpx2").setLevel(logging.WARNING)

    async def run() -> None:
        source: Source = Software(software_gpus, memory, gpu_model) if software_gpus else Nvidia()
        async with httpx2.AsyncClient(base_url=broker, headers=headers, verify=trusted) as client:
            chosen = Chosen(source, unhealthy=unhealthy_file)
            agent = Agent(host, address, chosen, Kept(state), client, check_seconds)
            running = asyncio.create_task(agent.run())
            for signal_ in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(signal_, running.cancel)
            models = Counter(gpu.model for gpu in source.devices())
            say(f"agent of {host}: {', '.join(f'{n} x {model}' for model, n in models.items()) or 'no GPU'}")
            await running

    try:
        asyncio.run(run())
    except StateError as fault:
        refuse(str(fault))
    except SourceError as fault:
        complain(str(fault), fault.hint)
        raise SystemExit(Exit.FAILED) from None
    except asyncio.CancelledError:
        raise SystemExit(Exit.OK) from None
