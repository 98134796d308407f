"""Which processes belong to a run: read from /proc, of real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from shoal.local.orphans import MARKER, Stat, group_members, kill_all, process_stat, sweep

TAIL = " ".join(map(str, range(1, 50)))


@pytest.mark.parametrize("name", [b"python", b"a b", b"a) Z 1 2 (b", b") (", b"", b"\xff\n"])
def test_a_commands_name_may_hold_anything(name):
    stat = Stat(b"42 (" + name + b") S 1 7 8 " + TAIL.encode())
    assert (stat.state, stat.group, stat.session, stat.dead) == ("S", 7, 8, False)


@pytest.mark.parametrize(
    ("state", "dead"), [("R", False), ("S", False), ("D", False), ("T", False), ("Z", True), ("X", True)]
)
def test_who_is_dead(state, dead):
    assert Stat(f"42 (sh) {state} 1 7 8 {TAIL}".encode()).dead is dead


def test_the_start_is_the_kernels():
    """Field 22 of proc(5)."""
    fields = ["42", "(sh)", "S", *(str(number) for number in range(4, 53))]
    assert Stat(" ".join(fields).encode()).start == 22


def test_what_the_kernel_says_of_this_process():
    stat = process_stat(os.getpid())
    assert (stat.group, stat.session) == (os.getpgrp(), os.getsid(0))
    assert not stat.dead
    assert os.getpid() in group_members(os.getpgrp())


class Sleepers:
    """Processes that wait until they are killed, or until the test that holds their standard input is gone."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[bytes]] = []

    def __call__(self, session: bool = False, **env: str) -> subprocess.Popen[bytes]:
        program = [
            sys.executable,
            "-S",
            "-c",
            "import sys; print(flush=True); sys.stdin.read()",
        ]
        started = subprocess.Popen(
            program, env={**os.environ, **env}, start_new_session=session, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.started.append(started)
        started.stdout.readline()
        return started


@pytest.fixture
def sleeper() -> Iterator[Sleepers]:
    sleepers = Sleepers()
    yield sleepers
    for process in sleepers.started:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stdin.close()


def test_a_process_that_is_gone_has_no_stat(sleeper):
    process = sleeper()
    process.kill()
    process.wait()
    assert process_stat(process.pid) is None


def test_a_zombie_is_no_member_of_its_group(sleeper):
    process = sleeper(session=True)
    assert group_members(process.pid) == [process.pid]
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert process_stat(process.pid).dead
    assert group_members(process.pid) == []


def test_the_mark_of_a_run_is_the_whole_word(sleeper):
    mine, session = sleeper(**{MARKER: "abc"}), sleeper(session=True, **{MARKER: "abc"})
    others = [
        sleeper(**{MARKER: "abcd"}),
        sleeper(**{MARKER: "ab"}),
        sleeper(**{f"X{MARKER}": "abc"}),
        sleeper(OTHER=f"{MARKER}=abc"),
        sleeper(),
    ]
    assert sorted(sweep("abc")) == sorted([mine.pid, session.pid])
    assert {process.wait() for process in (mine, session)} == {-9}
    assert [process.poll() for process in others] == [None] * len(others)
    assert sweep("abc") == []


def test_a_leaders_group_is_killed_though_it_bears_no_mark(sleeper):
    leader = sleeper(session=True)
    assert kill_all("abc", {leader.pid: process_stat(leader.pid).start}) == [leader.pid]


@pytest.mark.parametrize("off", [-1, 1])
def test_an_id_that_was_given_out_again_is_let_be(sleeper, off):
    other = sleeper(session=True)
    assert kill_all("abc", {other.pid: process_stat(other.pid).start + off}) == []
    assert kill_all("abc", {other.pid: None}) == []
    assert other.poll() is None
