"""The logs of a run as one stream of lines, each with the name of the replica that wrote it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from shoal.local.log_tail import last_lines
from shoal.local.runs import Run
from shoal.runs import Lines, LogChoice, RunError

LOOK_SECONDS = 0.2


def log_lines(run: Run, choice: LogChoice) -> Iterator[Lines]:
    """The chosen logs; with `follow`, on until the run has no supervisor and nothing is left to tell."""
    chosen = _choose(run, choice)
    if choice.replicas and not chosen and not choice.follow:
        known = ", ".join(replicas_with_logs(run)) or "none yet"
        raise RunError(f"{run.name} has no log of {', '.join(choice.replicas)}", f"replicas with logs: {known}")
    offsets: dict[Path, int] = {}
    if choice.tail is not None:
        for name, path in chosen:
            offsets[path] = path.stat().st_size
            yield Lines(name, last_lines(path, choice.tail) if choice.tail else [])
    while True:
        alive = choice.follow and run.alive
        for name, path in _choose(run, choice):
            lines, offsets[path] = _rest(path, offsets.get(path, 0), final=not alive)
            yield Lines(name, lines)
        if not alive:
            return
        yield Lines("", [])
        time.sleep(LOOK_SECONDS)


def replicas_with_logs(run: Run) -> list[str]:
    """The names of replicas that have ever been started."""
    return sorted({name for name, _ in _names(run)})


def _names(run: Run) -> list[tuple[str, int]]:
    """(replica, attempt) of each log, in order."""
    found = []
    for path in run.logs.glob("*-*.*.log"):
        name, attempt, _ = path.name.rsplit(".", 2)
        found.append((name, int(attempt)))
    return sorted(found)


def _choose(run: Run, choice: LogChoice) -> list[tuple[str, Path]]:
    last: dict[str, int] = dict(_names(run))
    return [
        (name, run.log(name, number))
        for name, number in _names(run)
        if (not choice.replicas or name in choice.replicas)
        and (choice.everything or number == (last[name] if choice.attempt is None else choice.attempt - 1))
    ]


def _rest(path: Path, offset: int, final: bool) -> tuple[list[str], int]:
    """The complete lines after `offset`, and where they end; an incomplete last one too when nothing more can come."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            new = file.read()
    except FileNotFoundError:
        return [], offset
    end = len(new) if final else new.rfind(b"\n") + 1
    return new[:end].decode(errors="replace").splitlines(), offset + end
