"""Logs of several replicas as one stream, each line with a prefix in its replica's colour."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TextIO

from shoal.cli.terminal import refuse
from shoal.local.log_tail import last_lines
from shoal.local.runs import Run

COLOURS = (36, 33, 32, 35, 34, 31)
LOOK_SECONDS = 0.2


def print_logs(
    run: Run, *, follow: bool, replicas: list[str] | None, attempt: int | None, everything: bool, tail: int | None
) -> None:
    """Print the chosen logs; with `follow`, go on until the run has no supervisor and nothing is left to print."""
    width = max((len(name) for name, _ in _names(run)), default=0)
    printer = _Printer(sys.stdout, width, coloured=sys.stdout.isatty())
    chosen = _choose(run, replicas, attempt, everything)
    if replicas and not chosen and not follow:
        known = ", ".join(sorted({name for name, _ in _names(run)})) or "none yet"
        refuse(f"{run.name} has no log of {', '.join(replicas)}", f"replicas with logs: {known}")
    offsets: dict[Path, int] = {}
    for name, path in chosen:
        if tail is not None:
            offsets[path] = path.stat().st_size
            printer.lines(name, last_lines(path, tail) if tail else [])
    while True:
        alive = follow and run.alive
        for name, path in _choose(run, replicas, attempt, everything):
            offsets[path] = printer.rest(name, path, offsets.get(path, 0), final=not alive)
        if not alive:
            return
        time.sleep(LOOK_SECONDS)


def _names(run: Run) -> list[tuple[str, int]]:
    """(replica, attempt) of each log, in order."""
    found = []
    for path in run.logs.glob("*-*.*.log"):
        name, attempt, _ = path.name.rsplit(".", 2)
        found.append((name, int(attempt)))
    return sorted(found)


def _choose(run: Run, replicas: list[str] | None, attempt: int | None, everything: bool) -> list[tuple[str, Path]]:
    last: dict[str, int] = dict(_names(run))
    return [
        (name, run.log(name, number))
        for name, number in _names(run)
        if (not replicas or name in replicas)
        and (everything or number == (last[name] if attempt is None else attempt - 1))
    ]


class _Printer:
    def __init__(self, out: TextIO, width: int, coloured: bool) -> None:
        self.out = out
        self.width = width
        self.coloured = coloured
        self._colours: dict[str, int] = {}

    def rest(self, name: str, path: Path, offset: int, final: bool) -> int:
        """Print the complete lines after `offset` (an incomplete last one too, when nothing more can come)."""
        try:
            with path.open("rb") as file:
                file.seek(offset)
                new = file.read()
        except FileNotFoundError:
            return offset
        end = len(new) if final else new.rfind(b"\n") + 1
        self.lines(name, new[:end].decode(errors="replace").splitlines())
        return offset + end

    def lines(self, name: str, lines: list[str]) -> None:
        prefix = f"{name:<{self.width}} | "
        if self.coloured:
            colour = self._colours.setdefault(name, COLOURS[len(self._colours) % len(COLOURS)])
            prefix = f"\033[{colour}m{prefix}\033[0m"
        for line in lines:
            self.out.write(f"{prefix}{line}\n")
        if lines:
            self.out.flush()
