"""`shoal stop`, `rm`, `scale`, `wait`: change a run, or wait for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.names import RunName
from shoal.cli.place import ContextOption, NamespaceOption, On, OnOption, runs_on
from shoal.cli.terminal import Exit, refuse, say

if TYPE_CHECKING:
    from shoal.runs import Run, Runs

STOP_SECONDS = 60.0


def register(app: typer.Typer) -> None:
    for command in (stop, rm, scale, wait):
        app.command()(command)


def stop(
    name: RunName,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for its replicas to end.", min=0)] = STOP_SECONDS,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """End a run's replicas and keep the run: `shoal resume` goes on from its last checkpoint. One that serves its model
    serves it no more."""
    from shoal.runs import SERVING

    runs = runs_on(on, context, namespace)
    run = runs.find(name)
    if not run.alive:
        say(f"{name} does not run")
        return
    serving = run.look().phase == SERVING
    _stop(runs, run, timeout)
    say(f"{name} has stopped" + ("" if serving else f"; go on with `shoal resume {name}{runs.options}`"))


def rm(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="The runs' names.")],
    force: Annotated[bool, typer.Option("--force", "-f", help="Stop it first if it runs.")] = False,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Remove runs with their logs, volumes and models."""
    runs = runs_on(on, context, namespace)
    for run in [runs.find(name) for name in names]:
        if run.alive:
            if not force:
                refuse(f"run {run.name!r} is running", "stop it first, or use --force")
            _stop(runs, run, STOP_SECONDS)
        run.remove()
        say(f"{run.name} is removed")


def scale(
    name: RunName,
    workers: Annotated[int, typer.Option(help="How many workers there shall be.", min=1)],
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Change the number of workers. Whoever must learn of it starts again from the last checkpoint."""
    from shoal.resources import ReplicaType

    run = runs_on(on, context, namespace).find(name)
    if run.look().snapshot.status.phase.final:
        refuse(f"run {name!r} has ended")
    spec = run.job().spec.tf_replica_specs.get(ReplicaType.WORKER)
    if spec is None:
        refuse(f"run {name!r} has no workers to scale")
    before = spec.count
    run.scale(workers)
    say(f"{name}: {before} → {workers} workers")


def wait(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="The runs' names.")],
    timeout: Annotated[float | None, typer.Option(help="Seconds to wait at most.", min=0)] = None,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Wait until runs have ended. Exit code 0: all succeeded; 1: one failed; 3: one was stopped; 124: time is up."""
    from shoal.runs import SERVING

    runs = runs_on(on, context, namespace)
    found = [runs.find(name) for name in names]
    if not _until(lambda: not any(run.trains for run in found), timeout, runs.look_seconds):
        still = ", ".join(run.name for run in found if run.trains)
        say(f"still running after {timeout:g} s: {still}")
        raise SystemExit(Exit.TIMEOUT)
    phases = {run.name: run.look().phase for run in found}
    for name, phase in phases.items():
        say(f"{name} {phase.lower()}")
    if all(phase in ("Succeeded", SERVING) for phase in phases.values()):
        return
    raise SystemExit(Exit.FAILED if "Failed" in phases.values() else Exit.STOPPED)


def _stop(runs: Runs, run: Run, timeout: float) -> None:
    run.suspend(True)
    if not _until(lambda: not run.alive, timeout, runs.look_seconds):
        refuse(
            f"{run.name} has not ended after {timeout:g} s",
            f"look at it with `shoal describe {run.name}{runs.options}`",
        )


def _until(condition: Callable[[], bool], timeout: float | None, look_seconds: float) -> bool:
    """Wait for the condition; False when the time is up."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while not condition():
        if deadline is not None and time.monotonic() >= deadline:
            return False
        time.sleep(look_seconds)
    return True
