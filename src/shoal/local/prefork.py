"""Start replicas as forks of a parent that has already imported what their script imports.

Importing TensorFlow costs seconds of CPU and half a gigabyte in every process; a fork of a process that has done it
costs milliseconds, and shares the memory. Replicas share a parent where nothing that is read at import differs: the
command up to the script, the folder, the steps done ahead (`ahead`) and the environment (`import_environment`).

A parent is worth its own start only if two replicas want it, so start replicas concurrently: those that arrive
together are counted together. A lone replica, and whatever does not qualify, is spawned. So is everything for which
forking turns out not to work; the reason is in the parents' log.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import Counter
from pathlib import Path

from shoal.local.ahead import find_module, steps_ahead
from shoal.local.import_environment import read_at_import
from shoal.local.prefork_parent import ImportKey, Parent, ParentLost
from shoal.local.process import Launch, Process
from shoal.local.spawn import SpawnLauncher, check_places

TOGETHER_SECONDS = 0.03
"""Replicas whose starts are asked for within this time are started together."""


class PreforkLauncher:
    """A Launcher. Closing it closes `spawn` as well. What the parents themselves print goes to `log`."""

    def __init__(self, spawn: SpawnLauncher, log: Path) -> None:
        self._spawn = spawn
        self._log = log
        self._parents: dict[ImportKey, asyncio.Task[Parent]] = {}
        self._arriving: Counter[ImportKey] = Counter()
        self._refused: set[ImportKey] = set()

    async def start(self, launch: Launch) -> Process:
        """Fork the replica if it qualifies and a parent is there or worth starting; else spawn it."""
        check_places(launch)
        key = import_key(launch)
        if key is None or key in self._refused or not await self._has_parent(key, launch):
            return await self._spawn.start(launch)
        starting = self._parents[key]
        try:
            parent = await asyncio.shield(starting)
            return await parent.fork(launch)
        except ParentLost as lost:
            if self._parents.get(key) is starting:
                del self._parents[key]
            if not lost.was_ready:
                self._refused.add(key)
            return await self._spawn.start(launch)

    async def close(self) -> None:
        """Kill whatever still runs, the parents last."""
        for starting in self._parents.values():
            starting.cancel()
            with contextlib.suppress(asyncio.CancelledError, ParentLost):
                await (await starting).close()
        await self._spawn.close()

    async def _has_parent(self, key: ImportKey, launch: Launch) -> bool:
        """Whether there is a parent for the key, after starting one if more than this replica asks for it."""
        if key in self._parents:
            return True
        self._arriving[key] += 1
        try:
            await asyncio.sleep(TOGETHER_SECONDS)
            if key not in self._parents and self._arriving[key] > 1:
                self._parents[key] = asyncio.create_task(Parent.start(self._spawn, key, launch.env, self._log))
        finally:
            self._arriving[key] -= 1
        return key in self._parents


def import_key(launch: Launch) -> ImportKey | None:
    """What a parent for this replica must be like; None where the replica must be spawned."""
    head = 1
    while launch.argv[head : head + 1] == ("-u",):
        head += 1
    if launch.argv[0] != sys.executable or len(launch.argv) <= head or _unfit(launch):
        return None
    own = [launch.cwd / folder for folder in launch.env.get("PYTHONPATH", "").split(os.pathsep) if folder]
    package = ""
    if launch.argv[head] == "-m" and len(launch.argv) > head + 1:
        head += 1
        path = launch.cwd
        script, package = _main_module(launch.argv[head], [path, *own])
    else:
        script = launch.cwd / launch.argv[head]
        path = script.resolve().parent
    if script is None or not script.is_file():
        return None
    steps = steps_ahead(script, [path, *own], package)
    environment = sorted((name, value) for name, value in launch.env.items() if read_at_import(name))
    return ImportKey(launch.argv[: head + 1], launch.cwd, path, steps, tuple(environment)) if steps else None


def _unfit(launch: Launch) -> bool:
    """Whether exec(2) would refuse the launch; the error is better reported by trying."""
    texts = (*launch.argv, *launch.env, *launch.env.values())
    return any("\0" in text for text in texts) or any("=" in name or not name for name in launch.env)


def _main_module(name: str, search_path: list[Path]) -> tuple[Path | None, str]:
    """The file that `python -m name` runs, if it is the user's own, and the package that it is part of."""
    path = find_module(name, search_path)
    if path and path.name == "__init__.py":
        return path.with_name("__main__.py"), name
    return path, name.rpartition(".")[0]
