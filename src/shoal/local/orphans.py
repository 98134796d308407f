"""Find and kill what a run left behind when its supervisor died: the guard's program, and `sweep` at the next start.

Every process of a run carries the run's id in its environment (`SHOAL_RUN_ID`), and its children inherit it, so what
a run started can be told from everything else on the machine, long after the supervisor that knew it is gone. A
process that has wiped its environment is still found by its process group or session, where the guard was told it.

The guard runs this file by itself, as `python -I -S orphans.py RUN_ID`, so it imports little and stays small. It reads
its standard input, one line per process group that began (`+PGID`) or ended (`-PGID`). At the end of the file, which
the kernel brings about however the supervisor died, it kills what is left and exits.

Processes are examined and signalled through a pidfd, so an id that the kernel gives to somebody else meanwhile is
never hit.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

MARKER = "SHOAL_RUN_ID"
"""The environment variable that every process of a run carries."""

PATIENCE_SECONDS = 10.0
"""How long `kill_all` goes on looking for new children of what it has killed, and for the dying to be dead."""


def main(run_id: str) -> None:
    """The guard's life. Signals that a terminal or a closing session sends are not for it: it ends with its
    supervisor."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    leaders: dict[int, int | None] = {}
    for line in sys.stdin.buffer:
        pid = int(line[1:])
        if line.startswith(b"+"):
            leaders[pid] = _start(pid)
        else:
            leaders.pop(pid, None)
    kill_all(run_id, leaders)


def sweep(run_id: str) -> list[int]:
    """Kill every process of a run whose supervisor and guard are both gone; answers the process ids.

    Only for a run that is known to have no living supervisor: a living one's replicas would be killed too.
    """
    return kill_all(run_id, {})


def kill_all(run_id: str, leaders: dict[int, int | None]) -> list[int]:
    """SIGKILL all processes marked with `run_id`, and the process groups and sessions of `leaders` (process id to start
    time), until none is left. Answers the ids of the processes killed; they are dead by then."""
    killed: list[int] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        groups = {pid for pid, start in leaders.items() if not _reused(pid, start)}
        victims = {pid: handle for pid in _process_ids() if (handle := _kill(pid, run_id, groups)) is not None}
        if not victims:
            break
        _await_death(list(victims.values()), deadline)
        killed += victims
    return killed


class Stat:
    """What `/proc/PID/stat` says of one process. `start` is in clock ticks since boot: with the id it names a process
    for good, where the id alone may be given out again."""

    __slots__ = ("group", "session", "start", "state")

    def __init__(self, text: bytes) -> None:
        # The command's name stands in brackets and may itself hold brackets and spaces.
        fields = text[text.rindex(b")") + 2 :].split()
        self.state = fields[0].decode()
        self.group, self.session, self.start = int(fields[2]), int(fields[3]), int(fields[19])

    @property
    def dead(self) -> bool:
        return self.state in "ZX"


def process_stat(pid: int) -> Stat | None:
    """What the kernel says of a process (proc(5)); None where there is none."""
    text = _read(pid, "stat")
    return Stat(text) if text else None


def group_members(group: int) -> list[int]:
    """The living processes of a process group."""
    stats = ((pid, process_stat(pid)) for pid in _process_ids())
    return [pid for pid, stat in stats if stat and stat.group == group and not stat.dead]


def _kill(pid: int, run_id: str, groups: set[int]) -> int | None:
    """Kill one process if it belongs to the run. Answers the pidfd that tells when it is dead, or None."""
    if pid == os.getpid():
        return None
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return None
    try:
        stat = process_stat(pid)
        if stat and not stat.dead and (stat.group in groups or stat.session in groups or _marked(pid, run_id)):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def _await_death(handles: list[int], deadline: float) -> None:
    for handle in handles:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        os.close(handle)


def _marked(pid: int, run_id: str) -> bool:
    return f"{MARKER}={run_id}".encode() in _read(pid, "environ").split(b"\0")


def _start(pid: int) -> int | None:
    stat = process_stat(pid)
    return stat.start if stat else None


def _reused(pid: int, start: int | None) -> bool:
    """Whether the id now names another process than when its start was noted. The kernel gives no id out again while a
    group or session of that name has members, so what is left of a dead leader's group is the run's."""
    now = _start(pid)
    return start is None or (now is not None and now != start)


def _process_ids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208  # pathlib is no small import


def _read(pid: int, name: str) -> bytes:
    """A file of `/proc/PID`; empty where the process is gone or somebody else's."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""


if __name__ == "__main__":
    main(sys.argv[1])
