"""Being the supervisor of a run: take its lock, clear what an earlier one left, and look after it to the end."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from shoal.local.guard import Guard
from shoal.local.manifests import ManifestReader
from shoal.local.orphans import sweep
from shoal.local.plan import Plan
from shoal.local.prefork import PreforkLauncher
from shoal.local.process import Launcher
from shoal.local.runs import Run
from shoal.local.spawn import SpawnLauncher
from shoal.local.supervisor import Supervisor
from shoal.resources.status import JobStatus
from shoal.runs import RunError, Snapshot

DETACHED_START_SECONDS = 30.0
"""How long a detached supervisor may take to write its first status."""


class Interruption:
    """SIGINT and SIGTERM while runs are looked after: the first suspends their jobs, so that they can be resumed, a
    second one ends their replicas at once. A context manager, to be entered where an event loop runs."""

    def __init__(self) -> None:
        self.received = 0
        self.supervisors: list[Supervisor] = []
        self._ending: list[asyncio.Task[None]] = []

    def __enter__(self) -> Interruption:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().remove_signal_handler(number)

    def _on_signal(self) -> None:
        self.received += 1
        for supervisor in self.supervisors:
            supervisor.interrupt()
            if self.received > 1:
                self._ending.append(asyncio.create_task(supervisor.abort()))


async def look_after(
    run: Run,
    interruption: Interruption,
    *,
    prefork: bool,
    on_change: Callable[[Snapshot], None] = lambda snapshot: None,
) -> JobStatus:
    """Supervise the run until its job has ended or is suspended; answers its status. Nothing that the run started is
    left then. Raises RunError where the run has a supervisor already."""
    with run.supervised():
        if earlier := run.run_id:
            sweep(earlier)
        run_id = secrets.token_hex(8)
        spawn = SpawnLauncher(Guard(run_id))
        launcher: Launcher = PreforkLauncher(spawn, run.logs / "prefork.log") if prefork else spawn
        read = ManifestReader(run)
        supervisor = Supervisor(run, launcher, read, Plan(run, read()), run_id, on_change)
        interruption.supervisors.append(supervisor)
        if interruption.received:
            supervisor.interrupt()
        try:
            return await supervisor.supervise()
        finally:
            await launcher.close()


def detach(run: Run, *, prefork: bool) -> None:
    """Leave a supervisor behind, in a session of its own, and return when it has written its first status.

    Raises RunError where it did not get that far.
    """
    before = run.snapshot().began_at
    with (run.folder / "supervisor.log").open("ab") as log:
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "shoal.local.detached", run.name, "prefork" if prefork else "spawn"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + DETACHED_START_SECONDS
    while run.snapshot().began_at == before:
        if supervisor.poll() is not None or time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError):
                supervisor.kill()
            raise RunError(f"the supervisor of {run.name!r} did not start", f"see {run.folder / 'supervisor.log'}")
        time.sleep(0.02)
