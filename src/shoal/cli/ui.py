"""`shoal ui`: the dashboard."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.gpu_options import CA, client_of
from shoal.cli.place import ContextOption, NamespaceOption, On, OnOption, runs_on
from shoal.cli.terminal import refuse, say


def register(app: typer.Typer) -> None:
    app.command()(ui)


def ui(
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 is a free one.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option(help="Open the dashboard in a browser.")] = True,
    broker: Annotated[
        str | None, typer.Option(envvar="SHOAL_BROKER", help="The URL of a pool's broker. Default: no pool is shown.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(envvar="SHOAL_TOKEN_FILE", help="With --broker: a file with a tenant's token.")
    ] = None,
    ca: CA = None,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Show jobs, their logs and curves, model servers, and a pool of GPUs in a browser, until Ctrl-C.

    The address that is printed opens one browser, by the first visit; then another address is printed.
    """
    try:
        from shoal.web.server import serve
    except ModuleNotFoundError as missing:
        refuse(f"this needs {missing.name}, which is not installed", 'pip install "shoal[web]"')
    runs_on(on, context, namespace)  # complains now of a place that there is not
    if broker and not token_file:
        refuse("--broker, or SHOAL_BROKER, is there without --token-file", "name a file with a tenant's token")
    pool = client_of(broker, token_file, ca) if broker and token_file else None
    shown = 0

    def show(address: str) -> None:
        nonlocal shown
        shown += 1
        print(address, flush=True)
        if shown == 1:
            say("this opens one browser; Ctrl-C ends the dashboard")
            if browser and sys.stdout.isatty():
                webbrowser.open(address)

    try:
        serve(lambda: runs_on(on, context, namespace), port, show, pool)
    except KeyboardInterrupt:
        return
