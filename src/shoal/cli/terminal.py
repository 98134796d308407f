"""Manners at the terminal: data to stdout, the rest to stderr, colour only where somebody looks, and one way to
complain: what was wrong, then what to do."""

from __future__ import annotations

import os
import sys
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

if TYPE_CHECKING:
    from rich.console import Console


class Exit(IntEnum):
    """Exit codes of every command; docs/cli.md tells them to users."""

    OK = 0
    FAILED = 1
    REFUSED = 2
    STOPPED = 3
    TIMEOUT = 124
    INTERRUPTED = 130


class Output(StrEnum):
    """How a listing is written."""

    TABLE = "table"
    JSON = "json"


def console(stderr: bool = False) -> Console:
    """A console that follows NO_COLOR and writes plainly, with no line broken, to anything but a terminal."""
    from rich.console import Console

    width = None if (sys.stderr if stderr else sys.stdout).isatty() else 200
    return Console(stderr=stderr, highlight=False, soft_wrap=False, width=width)


def say(message: str) -> None:
    """One line of what happened, beside the data."""
    print(message, file=sys.stderr)


def complain(problem: str, hint: str = "") -> None:
    """`error: …`, and `hint: …` where something can be done."""
    red, bold, plain = ("\033[31m", "\033[1m", "\033[0m") if coloured(sys.stderr) else ("", "", "")
    print(f"{red}error:{plain} {problem}", file=sys.stderr)
    if hint:
        print(f"{bold}hint:{plain} {hint}", file=sys.stderr)


def refuse(problem: str, hint: str = "") -> NoReturn:
    """Complain and leave with the code for a request that cannot be carried out."""
    complain(problem, hint)
    raise SystemExit(Exit.REFUSED)


def need_folder(flag: str, file: Path | None) -> None:
    """Refuse a file that could not be written, before the work whose result goes there."""
    if file and not file.absolute().parent.is_dir():
        refuse(f"{flag} {file}: there is no folder {file.absolute().parent}", "make it first, or choose another")


def coloured(stream: TextIO) -> bool:
    """Whether somebody looks who wants colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
