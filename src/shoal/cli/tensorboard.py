"""`shoal tensorboard`: the curves of a run, in the TensorBoard of this environment."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Annotated

import typer

from shoal.cli.names import RunName
from shoal.cli.terminal import refuse, say


def register(app: typer.Typer) -> None:
    app.command()(tensorboard)


def tensorboard(
    name: RunName,
    port: Annotated[
        int | None, typer.Option(help="Port on 127.0.0.1; by default a free one.", min=1, max=65535)
    ] = None,
) -> None:
    """Show a run's TensorBoard until Ctrl-C."""
    from shoal.local.log_folders import log_folders
    from shoal.local.ports import free_port
    from shoal.local.runs import find

    run = find(name)
    folders = log_folders(run)
    if not folders:
        refuse(
            f"{name} has written no event files (yet)", "a script writes them with tf.summary or a TensorBoard callback"
        )
    if importlib.util.find_spec("tensorboard") is None:
        refuse("TensorBoard is not installed here", "pip install tensorboard")
    chosen = port or free_port()
    spec = ",".join(f"{label}:{folder}" for label, folder in folders.items())
    command = [
        sys.executable,
        "-m",
        "tensorboard.main",
        "--logdir_spec",
        spec,
        "--host",
        "127.0.0.1",
        "--port",
        str(chosen),
    ]
    say(f"TensorBoard of {', '.join(folders)}: http://127.0.0.1:{chosen}/ (Ctrl-C ends it)")
    try:
        code = subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        return
    raise SystemExit(code)
