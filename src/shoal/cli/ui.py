"""`shoal ui`: the dashboard."""

from __future__ import annotations

import sys
import webbrowser
from typing import Annotated

import typer

from shoal.cli.place import ContextOption, NamespaceOption, On, OnOption, runs_on
from shoal.cli.terminal import refuse, say


def register(app: typer.Typer) -> None:
    app.command()(ui)


def ui(
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 is a free one.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option(help="Open the dashboard in a browser.")] = True,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Show jobs, their logs and curves, and model servers in a browser, until Ctrl-C.

    The address that is printed opens one browser, by the first visit; then another address is printed.
    """
    try:
        from shoal.web.server import serve
    except ModuleNotFoundError as missing:
        refuse(f"this needs {missing.name}, which is not installed", 'pip install "shoal[web]"')
    runs_on(on, context, namespace)  # complains now of a place that there is not
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
        serve(lambda: runs_on(on, context, namespace), port, show)
    except KeyboardInterrupt:
        return
