"""`shoal stop`, `rm`, `scale`, `wait`: change a run, or wait for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.names import RunName
from shoal.cli.terminal import Exit, refuse, say

if TYPE_CHECKING:
    from shoal.local.runs import Run

LOOK_SECONDS = 0.1


def register(app: typer.Typer) -> None:
    for command in (stop, rm, scale, wait):
        app.command()(command)


def stop(
    name: RunName,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for its processes to end.", min=0)] = 60.0,
) -> None:
    """End a run's processes and keep the run: `shoal resume` goes on from its last checkpoint."""
    from shoal.local import manifests
    from shoal.local.runs import find

    run = find(name)
    if not run.alive:
        say(f"{name} does not run")
        return
    manifests.edit(run, lambda job: setattr(job.spec.run_policy, "suspend", True))
    if not _until(lambda: not run.alive, timeout):
        refuse(f"{name} has not ended after {timeout:g} s", f"look at it with `shoal describe {name}`")
    say(f"{name} has stopped; go on with `shoal resume {name}`")


def rm(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="The runs' names.")],
    force: Annotated[bool, typer.Option("--force", "-f", help="Stop it first if it runs.")] = False,
) -> None:
    """Remove runs with their logs, volumes and models."""
    from shoal.local.runs import find

    for run in [find(name) for name in names]:
        if run.alive:
            if not force:
                refuse(f"run {run.name!r} is running", "stop it first, or use --force")
            stop(run.name, timeout=60.0)
        _sweep(run)
        run.remove()
        say(f"{run.name} is removed")


def scale(
    name: RunName,
    workers: Annotated[int, typer.Option(help="How many workers there shall be.", min=1)],
) -> None:
    """Change the number of workers. Whoever must learn of it starts again from the last checkpoint."""
    from shoal.local import manifests
    from shoal.local.runs import find
    from shoal.resources import ReplicaType

    run = find(name)
    if run.snapshot().status.phase.final:
        refuse(f"run {name!r} has ended")
    spec = manifests.read(run).job.spec.tf_replica_specs.get(ReplicaType.WORKER)
    if spec is None:
        refuse(f"run {name!r} has no workers to scale")
    before = spec.count
    manifests.edit(run, lambda job: setattr(job.spec.tf_replica_specs[ReplicaType.WORKER], "replicas", workers))
    say(f"{name}: {before} → {workers} workers")


def wait(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="The runs' names.")],
    timeout: Annotated[float | None, typer.Option(help="Seconds to wait at most.", min=0)] = None,
) -> None:
    """Wait until runs have ended. Exit code 0: all succeeded; 1: one failed; 3: one was stopped; 124: time is up."""
    from shoal.local.listing import phase_of
    from shoal.local.runs import find

    runs = [find(name) for name in names]
    if not _until(lambda: not any(run.alive for run in runs), timeout):
        refuse_late = ", ".join(run.name for run in runs if run.alive)
        say(f"still running after {timeout:g} s: {refuse_late}")
        raise SystemExit(Exit.TIMEOUT)
    phases = {run.name: phase_of(run, run.snapshot()) for run in runs}
    for name, phase in phases.items():
        say(f"{name} {phase.lower()}")
    if all(phase == "Succeeded" for phase in phases.values()):
        return
    raise SystemExit(Exit.FAILED if "Failed" in phases.values() else Exit.STOPPED)


def _until(condition: Callable[[], bool], timeout: float | None) -> bool:
    """Wait for the condition; False when the time is up."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while not condition():
        if deadline is not None and time.monotonic() >= deadline:
            return False
        time.sleep(LOOK_SECONDS)
    return True


def _sweep(run: Run) -> None:
    from shoal.local.orphans import sweep

    if earlier := run.run_id:
        sweep(earlier)
