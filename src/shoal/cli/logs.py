"""Logs of several replicas as one stream, each line with a prefix in its replica's colour."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from shoal.cli.terminal import coloured
from shoal.runs import Lines

COLOURS = (36, 33, 32, 35, 34, 31)


def print_logs(lines: Iterable[Lines], names: Iterable[str]) -> None:
    """Print what comes as it comes. `names` are the replicas that are known to have logs: prefixes are that wide."""
    printer = _Printer(sys.stdout, max(map(len, names), default=0), coloured(sys.stdout))
    for name, written in lines:
        printer.print(name, written)


class _Printer:
    def __init__(self, out: TextIO, width: int, coloured: bool) -> None:
        self.out = out
        self.width = width
        self.coloured = coloured
        self._colours: dict[str, int] = {}

    def print(self, name: str, lines: list[str]) -> None:
        if not lines:
            return
        prefix = f"{name:<{self.width}} | "
        if self.coloured:
            colour = self._colours.setdefault(name, COLOURS[len(self._colours) % len(COLOURS)])
            prefix = f"\033[{colour}m{prefix}\033[0m"
        for line in lines:
            self.out.write(f"{prefix}{line}\n")
        self.out.flush()
