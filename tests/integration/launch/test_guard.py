from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys

import psutil

from shoal.local.guard import Guard
from shoal.local.orphans import MARKER, kill_all, process_stat, sweep
from tests.integration.launch.launching import BOUND_SECONDS, SOURCE, alive, command, launching, run, until

SUPERVISOR = """
import asyncio, json, os, sys
from pathlib import Path
from tests.integration.launch.launching import launching, command, python, stand_in_tensorflow

async def main(folder, mode, run_id):
    async with launching(folder, mode, run_id) as launcher:
        stand_in_tensorflow(folder)
        script = folder / "replica.py"
        script.write_text(REPLICA)
        launches = [python(folder, f"worker-{i}", script) for i in range(2)]
        started = await asyncio.gather(*(launcher.start(launch) for launch in launches))
        guard = getattr(launcher, "guard", None) or launcher._spawn.guard
        print(json.dumps({"guard": guard.pid, "replicas": [process.pid for process in started]}), flush=True)
        await asyncio.sleep(1000)

REPLICA = '''
import os, subprocess, sys, time
import tensorflow
sleep = [sys.executable, "-c", "import time; time.sleep(1000)"]
# A child in the group that has wiped its environment, one in a session of its own, and one of that one's.
children = [subprocess.Popen(sleep, env={}), subprocess.Popen(sleep, start_new_session=True)]
nested = subprocess.Popen(["setsid", "sh", "-c", "sleep 1000 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
pids = [child.pid for child in [*children, nested]] + [int(nested.stdout.readline())]
print(*pids, tensorflow.IMPORTED_BY, flush=True)
time.sleep(1000)
'''

asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
"""


async def begin(folder, mode, run_id):
    """Start a supervisor in a process of its own; answers it and the ids of all processes that came of it."""
    path = os.pathsep.join([str(SOURCE), str(SOURCE.parent)])
    supervisor = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, str(folder), mode, run_id],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )
    said = json.loads(await asyncio.to_thread(supervisor.stdout.readline))
    logs = [folder / f"worker-{i}.log" for i in range(2)]
    await until(lambda: all(log.exists() and log.read_text().endswith("\n") for log in logs), "the replicas are up")
    pids = {int(pid) for log in logs for pid in log.read_text().split()} | set(said["replicas"])
    assert len(pids) >= 10
    assert all(alive(pid) for pid in pids)
    return supervisor, said["guard"], pids


def kill(supervisor):
    supervisor.kill()
    supervisor.wait(BOUND_SECONDS)
    supervisor.stdout.close()


def leaves_nothing(folder, mode, run_id):
    async def scenario():
        supervisor, guard, pids = await begin(folder, mode, run_id)
        kill(supervisor)
        await until(lambda: not any(alive(pid) for pid in pids), "all that it started is gone")
        await until(lambda: not alive(guard), "the guard is gone")

    run(scenario())


def test_a_killed_supervisor_leaves_nothing(tmp_path):
    leaves_nothing(tmp_path, "spawn", "run-of-test-spawn")


def test_a_killed_supervisor_leaves_nothing_when_replicas_are_forked(tmp_path):
    leaves_nothing(tmp_path, "prefork", "run-of-test-prefork")


def test_a_sweep_finds_what_is_left_when_the_guard_was_killed_as_well(tmp_path):
    async def scenario():
        supervisor, guard, pids = await begin(tmp_path, "spawn", "run-of-test-sweep")
        os.kill(guard, signal.SIGKILL)
        kill(supervisor)
        wiped = {pid for pid in pids if not psutil.Process(pid).environ()}
        assert len(wiped) == 2
        try:
            swept = set(sweep("run-of-test-sweep"))
        finally:
            for pid in wiped:
                os.kill(pid, signal.SIGKILL)
        assert swept == pids - wiped
        assert not any(alive(pid) for pid in swept)
        assert sweep("run-of-test-sweep") == []

    run(scenario())


def test_nobody_else_is_harmed(tmp_path):
    """Neither a process of another run whose id begins alike, nor one that merely has our id in some other variable."""
    sleep = [sys.executable, "-c", "import time; time.sleep(1000)"]
    others = [
        subprocess.Popen(sleep, env={**os.environ, **env}, start_new_session=True)
        for env in ({}, {MARKER: "mine-2"}, {"X": f"{MARKER}=mine"}, {MARKER: ""})
    ]
    ours = subprocess.Popen(sleep, env={**os.environ, MARKER: "mine"})
    try:
        assert sweep("mine") == [ours.pid]
        assert all(other.poll() is None for other in others)
    finally:
        for process in [*others, ours]:
            process.kill()
            process.wait()


def test_a_group_whose_id_was_given_out_again_is_spared():
    process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        start = process_stat(process.pid).start
        assert kill_all("no-such-run", {process.pid: start - 1}) == []
        assert kill_all("no-such-run", {process.pid: None}) == []
        assert process.poll() is None
        assert kill_all("no-such-run", {process.pid: start}) == [process.pid]
    finally:
        process.kill()
        process.wait()


def test_the_guard_ignores_the_terminal_and_ends_when_told(tmp_path):
    async def scenario():
        guard = Guard("run-of-test-guard")
        assert os.getsid(guard.pid) == guard.pid
        stat = lambda: open(f"/proc/{guard.pid}/status").read()  # noqa: E731, SIM115, PTH123
        ignored = sum(1 << (number - 1) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        await until(lambda: int(stat().split("SigIgn:")[1].split()[0], 16) & ignored == ignored, "it is set up")
        assert psutil.Process(guard.pid).memory_info().rss < 20 * 2**20
        os.kill(guard.pid, signal.SIGTERM)
        spared = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        caught = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        try:
            guard.watch(spared.pid)
            guard.watch(caught.pid)
            guard.forget(spared.pid)
            assert alive(guard.pid)
            await guard.close()
            assert not alive(guard.pid)
            assert caught.wait(BOUND_SECONDS) == -signal.SIGKILL
            assert spared.poll() is None
        finally:
            spared.kill()
            spared.wait()

    run(scenario())


def test_a_run_goes_on_without_its_guard(tmp_path):
    async def scenario():
        async with launching(tmp_path) as launcher:
            os.kill(launcher.guard.pid, signal.SIGKILL)
            await until(lambda: not alive(launcher.guard.pid), "the guard is gone")
            process = await launcher.start(command(tmp_path, "worker-0", "sh", "-c", "exit 4"))
            return await process.wait()

    assert run(scenario()) == 4
