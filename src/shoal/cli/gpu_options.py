"""Options that several commands on GPUs take, and what they say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.terminal import refuse

if TYPE_CHECKING:
    import ssl

GPUResource = Annotated[str, typer.Option(help="What the cluster's device plugin calls a GPU.")]
GPUModelLabel = Annotated[str, typer.Option(help="The node label that names the model of a node's GPUs.")]


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
