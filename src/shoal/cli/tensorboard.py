"""`shoal tensorboard`: the curves of a run."""

from __future__ import annotations

import subprocess
from typing import Annotated

import typer

from shoal.cli.named import find_run
from shoal.cli.names import RunName
from shoal.cli.place import ContextOption, NamespaceOption, On, OnOption, runs_on
from shoal.cli.terminal import say


def register(app: typer.Typer) -> None:
    app.command()(tensorboard)


def tensorboard(
    name: RunName,
    port: Annotated[
        int | None, typer.Option(help="Port on 127.0.0.1; by default a free one.", min=1, max=65535)
    ] = None,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Show a run's TensorBoard until Ctrl-C."""
    from shoal.local.ports import free_port

    run = find_run(runs_on(on, context, namespace), name)
    chosen = port or free_port()
    command, shown = run.tensorboard(chosen)
    say(f"TensorBoard of {', '.join(shown)}: http://127.0.0.1:{chosen}/ (Ctrl-C ends it)")
    try:
        code = subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        return
    raise SystemExit(code)
