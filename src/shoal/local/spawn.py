"""Start each replica as a fresh program, as a shell would."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from shoal.local.guard import Guard
from shoal.local.orphans import MARKER
from shoal.local.process import Launch, LaunchError, Process


class SpawnLauncher:
    """A Launcher that owns the run's guard: closing one closes the other."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self._running: set[Process] = set()

    async def start(self, launch: Launch, pass_fds: Iterable[int] = ()) -> Process:
        """Start a replica. `pass_fds` are file descriptors for it to inherit beside its standard streams."""
        loop = asyncio.get_running_loop()
        program = self._spawn(launch, tuple(pass_fds))
        started_at = time.time()
        self.guard.watch(program.pid)
        try:
            ended = os.pidfd_open(program.pid)
        except OSError as fault:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()
            raise LaunchError(f"{launch.name}: cannot watch its process: {fault.strerror}") from fault

        def reap() -> None:
            program.wait()
            self.guard.forget(program.pid)
            self._running.discard(process)

        def on_end() -> None:
            loop.remove_reader(ended)
            os.close(ended)
            process.leader_ended(exit_code_of(program.pid))

        process = Process(launch.name, program.pid, started_at, reap)
        self._running.add(process)
        loop.add_reader(ended, on_end)
        return process

    async def close(self) -> None:
        """Kill whatever still runs, and what replicas that are gone have left in sessions of their own."""
        await asyncio.gather(*(process.stop(0) for process in self._running))
        await self.guard.close()

    def _spawn(self, launch: Launch, pass_fds: tuple[int, ...]) -> subprocess.Popen[bytes]:
        check_places(launch)
        with launch.log.open("ab", buffering=0) as log:
            try:
                return subprocess.Popen(
                    launch.argv,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**launch.env, MARKER: self.guard.run_id},
                    cwd=launch.cwd,
                    pass_fds=pass_fds,
                    start_new_session=True,
                )
            except (OSError, ValueError) as fault:
                raise _explained(launch, fault) from fault


def check_places(launch: Launch) -> None:
    """Whether the replica has a directory to start in and a log to write. Raises LaunchError."""
    if not launch.cwd.is_dir():
        raise LaunchError(f"{launch.name}: the working directory {launch.cwd} does not exist")
    try:
        launch.log.open("ab").close()
    except OSError as fault:
        raise LaunchError(f"{launch.name}: cannot write the log {launch.log}: {fault.strerror}") from fault


def exit_code_of(pid: int) -> int:
    """The exit code of a child that has ended and stays to be reaped; 128 + N where signal N ended it."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert ended is not None
    return ended.si_status if ended.si_code == os.CLD_EXITED else 128 + ended.si_status


def _explained(launch: Launch, fault: OSError | ValueError) -> LaunchError:
    """What the failed exec(2) means to the user."""
    command = launch.argv[0]
    program = shutil.which(command, os.F_OK, launch.env.get("PATH")) if "/" not in command else launch.cwd / command
    why, hint = str(fault), ""
    match getattr(fault, "errno", None):
        case errno.ENOENT if program and Path(program).exists():
            why, hint = "the interpreter that its #! line names does not exist", f"see the first line of {program}"
        case errno.ENOENT:
            why = "there is no such program on this machine"
            hint = "the container's image is not used here: install the program, or give the path of one you have"
        case errno.EACCES:
            why, hint = "it is not an executable file", f"chmod +x {program or command}"
        case errno.ENOEXEC:
            why, hint = "it is no program for this machine", "a script needs a first line like #!/bin/sh"
        case errno.E2BIG:
            why = "its arguments and environment are longer than the kernel allows"
    return LaunchError(f"{launch.name}: cannot run {command!r}: {why}", hint)
