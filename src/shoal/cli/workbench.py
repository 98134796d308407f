"""`shoal workbench`: JupyterLab on this machine, and the workbenches of a cluster."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from shoal.cli.inspect import OutputOption
from shoal.cli.place import ContextOption, NamespaceOption, On, OnOption, need_kubernetes
from shoal.cli.table import table
from shoal.cli.terminal import Output, console, refuse, say
from shoal.durations import format_seconds

if TYPE_CHECKING:
    from shoal.kubernetes.client.workbenches import Workbenches

app = typer.Typer(name="workbench", help="JupyterLab on this machine; and the workbenches of a cluster.")

WorkbenchName = Annotated[str, typer.Argument(metavar="NAME", help="The workbench's name.")]
PortOption = Annotated[int | None, typer.Option(help="Port on 127.0.0.1; by default a free one.", min=1, max=65535)]
BrowserOption = Annotated[bool, typer.Option(help="Open it in a browser.")]


def register(root: typer.Typer) -> None:
    """Add the group."""
    root.add_typer(app)


@app.callback(invoke_without_command=True)
def workbench(
    invoked: typer.Context,
    folder: Annotated[Path, typer.Option(help="What JupyterLab shows.", file_okay=False, exists=True)] = Path(),
    port: PortOption = None,
    browser: BrowserOption = True,
    idle_timeout: Annotated[
        int | None,
        typer.Option(metavar="SECONDS", help="End after so long without activity.", min=60),
    ] = None,
) -> None:
    """Start JupyterLab over a folder of this machine, until Ctrl-C; or look after workbenches of a cluster.

    The address that is printed has the token without which nobody gets in.
    """
    if invoked.invoked_subcommand is None:
        _here(folder, port, browser, idle_timeout)


@app.command()
def url(
    name: WorkbenchName,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Print the address of a workbench with its token. Whoever has it gets in."""
    benches = _of_cluster(on, context, namespace)
    print(benches.outside_url(name))
    if benches.is_stopped(name):
        say(f"{name} is stopped: start it with `shoal workbench start {name}`")


@app.command(name="open")
def open_(
    name: WorkbenchName,
    port: PortOption = None,
    browser: BrowserOption = True,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Bring a workbench to a port of this machine, through kubectl, until Ctrl-C. It needs no Ingress."""
    from shoal.local.ports import free_port

    command, address = _of_cluster(on, context, namespace).forwarded(name, port or free_port())
    _show(address, browser)
    try:
        code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    except KeyboardInterrupt:
        raise SystemExit(0) from None
    raise SystemExit(code)


@app.command(name="list")
def list_(
    output: OutputOption = Output.TABLE,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """List the workbenches of a namespace."""
    found = _of_cluster(on, context, namespace).all()
    if output is Output.JSON:
        print(json.dumps([each._asdict() for each in found], indent=2))
        return
    if not found:
        say("there are no workbenches")
        return
    rows = [
        (each.name, each.phase, each.url, format_seconds(time.time() - each.since) if each.since else "", each.message)
        for each in found
    ]
    console().print(table(("NAME", "PHASE", "URL", "AGE", "MESSAGE"), rows, wrap=("MESSAGE",)))


@app.command()
def stop(
    name: WorkbenchName,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Take a workbench's pod away, with what its kernels have in memory. Its storage is kept."""
    _of_cluster(on, context, namespace).stop(name, True)
    say(f"{name} stops; start it again with `shoal workbench start {name}`")


@app.command()
def start(
    name: WorkbenchName,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Start a workbench that was stopped, or has stopped because it was idle."""
    _of_cluster(on, context, namespace).stop(name, False)
    say(f"{name} starts; `shoal workbench list` tells when it is ready")


def _of_cluster(on: On, context: str | None, namespace: str | None) -> Workbenches:
    if on is On.LOCAL:
        refuse("workbenches by name are those of a cluster", "add --on kubernetes; here Ctrl-C ends JupyterLab")
    if on.several:
        refuse(f"--on {on}: a workbench is in one cluster", "add --on kubernetes, and --context to name it")
    need_kubernetes()
    from shoal.kubernetes.client.workbenches import Workbenches

    return Workbenches(context, namespace)


def _here(folder: Path, port: int | None, browser: bool, idle_seconds: int | None) -> NoReturn:
    from shoal.local.lab import lab
    from shoal.local.ports import free_port

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    with lab(folder, port or free_port(), idle_seconds) as running:
        try:
            running.wait_until_it_answers()
            _show(running.url, browser)
            code = running.process.wait()
        except KeyboardInterrupt:
            code = 0
    raise SystemExit(code)


def _show(address: str, browser: bool) -> None:
    print(address, flush=True)
    say("Ctrl-C ends it")
    if browser and sys.stdout.isatty():
        webbrowser.open(address)
