"""`shoal gpu run`, `request` and `release`: GPUs of a pool, for a command or for a shell."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated

import typer

from shoal.cli.gpu_options import (
    CA,
    Broker,
    Count,
    Memory,
    Model,
    Percent,
    Priority,
    SameHost,
    TokenFile,
    Wait,
    client_of,
    patience,
    secret,
    wanted,
)
from shoal.cli.terminal import Exit, complain, refuse, say


class Form(StrEnum):
    """How a lease is written."""

    SHELL = "shell"
    JSON = "json"


def register(group: typer.Typer) -> None:
    """Add the commands to `shoal gpu`."""
    group.command()(run)
    group.command()(request)
    group.command()(release)


def run(
    command: Annotated[list[str], typer.Argument(help="The command, after `--`.", show_default=False)],
    broker: Broker,
    token_file: TokenFile,
    ca: CA = None,
    gpus: Count = 1,
    memory: Memory = None,
    percent: Percent = None,
    model: Model = None,
    same_host: SameHost = False,
    priority: Priority = 0,
    wait: Wait = None,
) -> None:
    """Run a command with GPUs of the pool. They are released when it ends, however it does; its exit code is kept."""
    asked, seconds = wanted(gpus, memory, percent, model, same_host), patience(wait)
    client = client_of(broker, token_file, ca)
    from shoal.cuda.environment import client_folder
    from shoal.gpu import lent

    if not client_folder():
        say("there is no libcuda.so.1 for the command: it is built by `make native`")
    with _told(wait):
        try:
            code = lent.run(client, [asked], priority, seconds, command, say)
        except OSError as fault:
            refuse(f"{command[0]}: {fault.strerror}")
    raise SystemExit(code)


def request(
    broker: Broker,
    token_file: TokenFile,
    ca: CA = None,
    gpus: Count = 1,
    memory: Memory = None,
    percent: Percent = None,
    model: Model = None,
    same_host: SameHost = False,
    priority: Priority = 0,
    wait: Wait = None,
    shell: Annotated[
        int | None,
        typer.Option(min=1, metavar="PID", help="Release them when this process ends. Default: the one that asks."),
    ] = None,
    output: Annotated[Form, typer.Option("--output", "-o", help="How the lease is written.")] = Form.SHELL,
) -> None:
    """Have GPUs of the pool in this shell: eval "$(shoal gpu request -n 2)".

    They are renewed in the background, and released by `shoal gpu release` or when the shell ends.
    """
    asked, seconds = wanted(gpus, memory, percent, model, same_host), patience(wait)
    client = client_of(broker, token_file, ca)
    from shoal.gpu import keeper, lent

    with _told(wait):
        try:
            with lent.raised_sigterm():
                lease = lent.obtain(client, [asked], priority, seconds, say)
                try:
                    keeper.keep(broker, secret(token_file), ca, lease, shell or os.getppid())
                except BaseException:
                    lent.release(client, lease)
                    raise
        except lent.Terminated:
            raise SystemExit(128 + 15) from None
        except keeper.NoShell as fault:
            refuse(f"the shell has ended: {fault}", "--shell $$ names it")
    given = lent.environment(lease)
    if output is Form.JSON:
        print(json.dumps({"id": lease["id"], "shares": lease["shares"], "environment": given}, indent=2))
        return
    for name, value in given.items():
        print(f"export {name}={shlex.quote(value)}")


def release(
    broker: Broker,
    token_file: TokenFile,
    ca: CA = None,
    lease: Annotated[
        str | None, typer.Argument(envvar="SHOAL_LEASE", help="The lease. Default: this shell's.", show_default=False)
    ] = None,
    output: Annotated[Form, typer.Option("--output", "-o", help="How it is told.")] = Form.SHELL,
) -> None:
    """Release the GPUs of this shell: eval "$(shoal gpu release)"."""
    if not lease:
        refuse("this shell has no lease: SHOAL_LEASE is not set", "name one of those that `shoal gpu list` shows")
    client = client_of(broker, token_file, ca)
    from shoal.cuda.environment import LIBRARIES, without_client
    from shoal.gpu.lent import ENVIRONMENT

    ended = client.release(lease)
    say(f"{lease}: {ended['state']}")
    if output is Form.JSON:
        print(json.dumps({"id": lease, "state": ended["state"]}, indent=2))
    elif lease == os.environ.get("SHOAL_LEASE"):
        print(f"unset {' '.join(ENVIRONMENT)}")
        before, left = os.environ.get(LIBRARIES, ""), without_client(os.environ.get(LIBRARIES, ""))
        if left != before:
            print(f"export {LIBRARIES}={shlex.quote(left)}" if left else f"unset {LIBRARIES}")


@contextmanager
def _told(wait: str | None) -> Iterator[None]:
    """Say why there are no GPUs, or none any more."""
    from shoal.gpu import lent

    try:
        yield
    except lent.TooLate as late:
        complain(f"nothing was free within {wait}: {late}", "--wait waits longer; `shoal gpu list` shows the pool")
        raise SystemExit(Exit.TIMEOUT) from None
    except lent.Ended as ended:
        complain(f"the GPUs are gone: {ended}")
        raise SystemExit(Exit.FAILED) from None
