"""The guard: a small process beside the supervisor that outlives it just long enough to end its replicas.

No signal handler survives SIGKILL, and a parent-death signal reaches a child but not the child's children. The guard
holds the reading end of a pipe whose only writing end is the supervisor's; when the supervisor is gone, for whatever
reason, the kernel closes it. What the guard does then is in `orphans`, which is also its whole program.

A run that ends well ends its guard the same way, so what a replica left behind in a session of its own goes too.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from pathlib import Path

from shoal.local import orphans


class Guard:
    """Watches one run from now on. `run_id` must be unique to the run; launchers put it into every environment."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", str(Path(orphans.__file__)), run_id],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def watch(self, group: int) -> None:
        """Kill this process group, too, when the supervisor dies."""
        self._tell(f"+{group}\n")

    def forget(self, group: int) -> None:
        """The group is empty, and its id may soon be somebody else's."""
        self._tell(f"-{group}\n")

    async def close(self) -> None:
        """Kill whatever of the run is left, and end the guard."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await asyncio.to_thread(self._process.wait)

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        # A guard that was killed is missed only if the supervisor is killed as well; `sweep` is for that.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line.encode())
