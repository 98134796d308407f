"""Options of the commands that ask a model server: where it is, and how long it may take."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.terminal import refuse

if TYPE_CHECKING:
    from shoal.serving.client.connection import Asked, Connection

COMPLETION_SECONDS = 1.0


def complete_model(ctx: typer.Context, incomplete: str) -> list[str]:
    try:
        server = connection(ctx.params.get("at"), bool(ctx.params.get("rest")), COMPLETION_SECONDS, None)
        return [name for name in server.models() or () if name.startswith(incomplete)]
    except Exception:  # a shell that completes has no use for an error
        return []


ModelArgument = Annotated[
    str | None, typer.Argument(metavar="[MODEL]", help="The model's name.", autocompletion=complete_model)
]
AtOption = Annotated[
    str | None,
    typer.Option(
        "--at",
        envvar="SHOAL_AT",
        metavar="HOST:PORT|URL",
        help="The server. HOST:PORT, grpcs://…: over gRPC; http://…, https://…: over REST. "
        "Default: this machine, 8500 for gRPC.",
    ),
]
RestOption = Annotated[bool, typer.Option("--rest", help="Over REST, where --at has no scheme. Default port: 8501.")]
CaOption = Annotated[
    Path | None, typer.Option("--ca", help="Trust these certificates (PEM) instead of the system's.", metavar="FILE")
]
TimeoutOption = Annotated[float, typer.Option(min=0.001, max=1e6, help="Seconds that the server gets for each answer.")]
VersionOption = Annotated[
    int | None, typer.Option("--version", min=0, max=2**63 - 1, help="By default the newest that answers.")
]
LabelOption = Annotated[str, typer.Option("--label", help="The version with this label.")]


def connection(at: str | None, rest: bool, timeout: float, ca: Path | None) -> Connection:
    """A connection to the server that the options name. What it needs is imported only here."""
    needed = ("google.protobuf", "grpc", "httpx2", "numpy", "orjson", "PIL")
    missing = [module for module in needed if not _is_there(module)]
    if missing:
        refuse(
            f"asking a model server needs {', '.join(missing)}, which this Python has not: {sys.executable}",
            'pip install "shoal[client]"',
        )
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its own log tells of each handshake that fails
    from shoal.serving.client.address import parse
    from shoal.serving.client.connection import connect

    return connect(parse(at, rest), timeout, ca)


def asked(server: Connection, model: str | None, version: int | None, label: str) -> Asked:
    """The model that the options name: the only one of the server, where none is."""
    from shoal.serving.client.connection import Asked
    from shoal.serving.client.prediction import sole_model

    if version is not None and label:
        refuse("--version and --label: name one of them")
    return Asked(model or sole_model(server), version, label)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it would be in
        return False
