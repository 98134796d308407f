"""`shoal stop`, `rm`, `scale`, `wait`: change a run, or wait for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from shoal.cli.named import find, find_run
from shoal.cli.names import AnyNames, RunName
from shoal.cli.place import ContextOption, NamespaceOption, On, OnOption, runs_on
from shoal.cli.terminal import Exit, refuse, say

if TYPE_CHECKING:
    from shoal.runs import Run, Runs, Server

STOP_SECONDS = 60.0

T = TypeVar("T")


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
    run = find_run(runs, name)
    if not run.alive:
        say(f"{name} does not run")
        return
    serving = run.look().phase == SERVING
    _stop(runs, run, timeout)
    say(f"{name} has stopped" + ("" if serving else f"; go on with `shoal resume {name}{runs.options}`"))


def rm(
    names: AnyNames,
    force: Annotated[bool, typer.Option("--force", "-f", help="Stop it first if it runs.")] = False,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Remove runs with their logs, volumes and models. End model servers, and wait until they are gone."""
    runs = runs_on(on, context, namespace)
    for found in [find(runs, name) for name in names]:
        if found.kind == "TFJob" and found.alive:
            if not force:
                refuse(f"run {found.name!r} is running", "stop it first, or use --force")
            _stop(runs, found, STOP_SECONDS)
        found.remove()
        say(f"{found.name} is removed")


def scale(
    name: RunName,
    workers: Annotated[int, typer.Option(help="How many workers there shall be.", min=1)],
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Change the number of workers. Whoever must learn of it starts again from the last checkpoint."""
    from shoal.resources import ReplicaType

    run = find_run(runs_on(on, context, namespace), name)
    if run.look().snapshot.status.phase.final:
        refuse(f"run {name!r} has ended")
    spec = run.job().spec.tf_replica_specs.get(ReplicaType.WORKER)
    if spec is None:
        refuse(f"run {name!r} has no workers to scale")
    before = spec.count
    run.scale(workers)
    say(f"{name}: {before} → {workers} workers")


def wait(
    names: AnyNames,
    timeout: Annotated[float | None, typer.Option(help="Seconds to wait at most.", min=0)] = None,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Wait until runs have ended, and model servers are ready. Exit code 0: all succeeded; 1: one failed; 3: one was
    stopped; 124: time is up."""
    from shoal.runs import SERVING

    runs = runs_on(on, context, namespace)
    found = [find(runs, name) for name in names]
    phases = _until(lambda: _outcomes(found), timeout, runs.look_seconds)
    if not phases:
        still = ", ".join(each.name for each in found if each.outcome() is None)
        say(f"still running after {timeout:g} s: {still}")
        raise SystemExit(Exit.TIMEOUT)
    for each, phase in zip(found, phases, strict=True):
        say(f"{each.name} {phase.lower()}")
    if all(phase in ("Succeeded", SERVING, "Ready") for phase in phases):
        return
    raise SystemExit(Exit.FAILED if "Failed" in phases else Exit.STOPPED)


def _outcomes(found: Iterable[Run | Server]) -> list[str]:
    """The phases that all of them have come to; none while one is still to be waited for."""
    phases = []
    for each in found:
        if (phase := each.outcome()) is None:
            return []
        phases.append(phase)
    return phases


def _stop(runs: Runs, run: Run, timeout: float) -> None:
    run.suspend(True)
    if not _until(lambda: not run.alive, timeout, runs.look_seconds):
        refuse(
            f"{run.name} has not ended after {timeout:g} s",
            f"look at it with `shoal describe {run.name}{runs.options}`",
        )


def _until(condition: Callable[[], T], timeout: float | None, look_seconds: float) -> T:
    """Wait for the condition; what it last was, which is not met when the time is up."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while not (met := condition()):
        if deadline is not None and time.monotonic() >= deadline:
            break
        time.sleep(look_seconds)
    return met
