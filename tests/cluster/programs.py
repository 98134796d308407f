"""Programs of a cluster: started in process groups of their own, waited for until ready, and stopped by pid.

Each is told by the kernel to die with the thread that started it, so that a test runner that is killed leaves nothing
behind. Start them from the main thread: another one may end earlier.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from tests.cluster.errors import ClusterError


def tool(name: str, package: str) -> str:
    """Where a program of the system is. Raises ClusterError naming the Debian package that has it."""
    # Programs for administrators are missing from the PATH of many users' shells.
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        raise ClusterError(f"there is no `{name}` on this machine", f"on Debian: apt-get install {package}")
    return found


def run_to_end(command: Sequence[str], timeout: float = 60) -> str:
    """What a command prints. Raises ClusterError with its complaints when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise ClusterError(f"{' '.join(command)} failed with {done.returncode}: {done.stderr}")
    return done.stdout


class Program:
    """One program that runs until it is stopped."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        *,
        within: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`within` is a command that enters namespaces and then runs its arguments, as nsenter does."""
        self.name = name
        self.log = log
        die_together = [tool("setpriv", "util-linux"), "--pdeathsig", "KILL", "--"]
        # Both the program that enters the namespaces and the one that runs inside must go.
        argv = [*die_together, *within, *die_together, *command] if within else [*die_together, *command]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process that was started; with `within`, the program itself may be its child."""
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def wait_until(self, ready: Callable[[], bool], timeout: float, what: str = "ready") -> None:
        """Wait until `ready()`. Raises ClusterError with the log's end when the program ends or time runs out."""
        deadline = time.monotonic() + timeout
        while not ready():
            if not self.running:
                raise ClusterError(f"{self.name} ended with code {self._process.returncode}:\n{self._last_words()}")
            if time.monotonic() > deadline:
                raise ClusterError(f"{self.name} was not {what} within {timeout:.0f} s:\n{self._last_words()}")
            time.sleep(0.05)

    def stop(self, grace: float = 5) -> None:
        """End it: SIGTERM, and SIGKILL to its whole group when it is not gone after `grace` seconds."""
        self.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        self.kill()

    def kill(self) -> None:
        """End it as a crash would."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def terminate(self) -> None:
        """Ask it to end; do not wait."""
        if self.running:
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                os.kill(self._innermost(), signal.SIGTERM)

    def _innermost(self) -> int:
        """nsenter passes no signals on, and stays as the parent when it enters a PID namespace."""
        process = psutil.Process(self.pid)
        while process.name() == "nsenter" and (children := process.children()):
            process = children[0]
        return process.pid

    def _last_words(self) -> str:
        text = self.log.read_text(errors="replace")
        before, panic, stack = text.partition("panic: ")
        if panic:
            return panic + "\n".join(stack.splitlines()[:15])
        return "\n".join(before.splitlines()[-15:])


def stop_all(programs: Sequence[Program], grace: float = 5) -> None:
    """End several at once, so that the slowest one decides how long it takes."""
    for each in programs:
        each.terminate()
    deadline = time.monotonic() + grace
    for each in programs:
        while each.running and time.monotonic() < deadline:
            time.sleep(0.02)
    for each in programs:
        each.kill()
