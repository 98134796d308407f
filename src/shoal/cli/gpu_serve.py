"""`shoal gpu serve`: the agent of a GPU host."""

from __future__ import annotations

import signal
import socket
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.gpu_options import mebibytes, secret, trust
from shoal.cli.terminal import Exit, refuse, say


def register(group: typer.Typer) -> None:
    """Add the command to `shoal gpu`."""
    group.command()(serve)


def serve(
    broker: Annotated[str, typer.Option(help="The broker's URL.", show_default=False)],
    token_file: Annotated[Path, typer.Option(help="A file with the agent's token.", show_default=False)],
    state: Annotated[Path, typer.Option(help="A folder for what the host holds.", show_default=False)],
    software_gpus: Annotated[int, typer.Option(min=1, max=1024, help="How many software GPUs.", show_default=False)],
    gpu_memory: Annotated[str, typer.Option(help="Memory of each.")] = "16Gi",
    gpu_model: Annotated[str, typer.Option(help="What their model is called.")] = "software",
    name: Annotated[
        str | None, typer.Option(help="The host's name, as the broker's file has it. Default: the machine's.")
    ] = None,
    address: Annotated[str, typer.Option(help="Where this host's lease servers listen.")] = "127.0.0.1",
    ca: Annotated[Path | None, typer.Option(help="The authority to trust, such as the broker's ca.crt.")] = None,
) -> None:
    """Offer this host's GPUs to a broker, and run a server for each lease."""
    try:
        import asyncio
        import logging

        import httpx2

        from shoal.gpu.agent import Agent, Kept, StateError
        from shoal.pool.inventory import GPU
    except ModuleNotFoundError as missing:
        refuse(f"this needs {missing.name}, which is not installed", 'pip install "shoal[gpu]"')
    gpus = (GPU(gpu_model, mebibytes("--gpu-memory", gpu_memory)),) * software_gpus
    headers = {"Authorization": f"Bearer {secret(token_file)}"}
    trusted, host = trust(ca), name or socket.gethostname()
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    logging.getLogger("httpx2").setLevel(logging.WARNING)

    async def run() -> None:
        async with httpx2.AsyncClient(base_url=broker, headers=headers, verify=trusted) as client:
            agent = Agent(host, address, gpus, Kept(state), client)
            running = asyncio.create_task(agent.run())
            for signal_ in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(signal_, running.cancel)
            say(f"agent of {host}, {software_gpus} x {gpu_model}")
            await running

    try:
        asyncio.run(run())
    except StateError as fault:
        refuse(str(fault))
    except asyncio.CancelledError:
        raise SystemExit(Exit.OK) from None
