"""`shoal tensorboard`: the curves of a run, or of folders by name."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from shoal.cli.named import find_run
from shoal.cli.names import complete_run
from shoal.cli.place import ContextOption, NamespaceOption, On, OnOption, runs_on
from shoal.cli.terminal import refuse, say

if TYPE_CHECKING:
    from shoal.runs import Board

Shown = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME | NAME=FOLDER...",
        help="A run; or folders with event files, each by the name that it is shown under.",
        autocompletion=complete_run,
    ),
]


def register(app: typer.Typer) -> None:
    app.command()(tensorboard)


def tensorboard(
    shown: Shown,
    port: Annotated[
        int | None, typer.Option(help="Port on 127.0.0.1; by default a free one.", min=1, max=65535)
    ] = None,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Show the TensorBoard of a run, or of several folders by name, until Ctrl-C."""
    from shoal.local.ports import free_port

    chosen = port or free_port()
    if any("=" in each for each in shown):
        if on is not On.LOCAL:
            refuse("folders are of this machine", "on a cluster, apply a TensorBoard: docs/tensorboard.md")
        show(_of_folders(shown, chosen), chosen)
    if len(shown) > 1:
        refuse(f"{len(shown)} runs, and one is shown at a time", "name folders, as in a=logs/a b=logs/b")
    show(find_run(runs_on(on, context, namespace), shown[0]).tensorboard(chosen), chosen)


def show(board: Board, port: int) -> NoReturn:
    """Run it until Ctrl-C or its own end, and exit as it does."""
    say(f"TensorBoard of {', '.join(board.shown)}: http://127.0.0.1:{port}/ (Ctrl-C ends it)")
    try:
        code = subprocess.run(board.command, check=False).returncode
    except KeyboardInterrupt:
        raise SystemExit(0) from None
    raise SystemExit(code)


def _of_folders(shown: Sequence[str], port: int) -> Board:
    from shoal.local.boards import board_of, existing_folders

    folders: dict[str, str] = {}
    for each in shown:
        name, equals, folder = each.partition("=")
        if not equals or not folder:
            refuse(f"{each!r} names no folder", "write NAME=FOLDER for each")
        if name in folders:
            refuse(f"two folders are named {name!r}", "give each a name of its own")
        folders[name] = folder
    return board_of(existing_folders(folders), port)
