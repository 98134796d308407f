from __future__ import annotations

import asyncio
import os
import signal
import sys
import time

import pytest

from shoal.local.process import Launch, LaunchError
from tests.integration.launch.launching import (
    alive,
    command,
    environment,
    launching,
    log,
    open_files,
    open_files_at_first,
    python,
    run,
    until,
)


def ends(folder, *argv, **env):
    """Start one replica, wait for it, and answer its exit code and its log."""

    async def scenario():
        async with launching(folder) as launcher:
            process = await launcher.start(command(folder, "worker-0", *argv, **env))
            return await process.wait()

    return run(scenario()), log("worker-0", folder)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exit 0", 0),
        ("exit 3", 3),
        ("exit 255", 255),
        ("kill -9 $$", 137),
        ("kill -TERM $$", 143),
        ("kill -SEGV $$", 139),
    ],
)
def test_exit_codes(tmp_path, script, code):
    assert ends(tmp_path, "sh", "-c", script)[0] == code


def test_both_streams_are_appended_to_the_log_and_there_is_no_input(tmp_path):
    (tmp_path / "worker-0.log").write_text("before\n")
    assert ends(tmp_path, "sh", "-c", "echo out; echo err >&2; cat; echo end") == (0, "before\nout\nerr\nend\n")


def test_environment_and_arguments_arrive_as_they_are(tmp_path):
    odd = ["", " ", "a b", "$(X)", "'\"", "é\n\t", "--", "\udcff"]
    show = "import os, sys; print(ascii((sys.argv[1:], os.environ['ODD'], sorted(os.environ)[:0])))"
    code, text = ends(tmp_path, sys.executable, "-c", show, *odd, ODD="two\nlines=é")
    assert (code, text) == (0, ascii((odd, "two\nlines=é", [])) + "\n")


def test_a_replica_leads_a_session_of_its_own_and_inherits_no_file(tmp_path):
    show = "import os; print(os.getpid() == os.getsid(0) == os.getpgid(0), sorted(os.listdir('/proc/self/fd')))"
    reading, writing = os.pipe()
    try:
        # 3 is the listing itself.
        assert ends(tmp_path, sys.executable, "-c", show)[1] == "True ['0', '1', '2', '3']\n"
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize(
    ("argv", "message", "hint"),
    [
        (("no-such-program",), "no such program", "image is not used"),
        (("/opt/model/train",), "no such program", "image is not used"),
        (("./plain.txt",), "not an executable file", "chmod +x"),
        (("./no-interpreter",), "#! line names does not exist", "no-interpreter"),
        (("./no-line",), "no program for this machine", "#!/bin/sh"),
        (("echo", "a\0b"), "null byte", ""),
        (("echo", "x" * 200_000), "longer than the kernel allows", ""),
    ],
)
def test_what_cannot_be_run_is_explained(tmp_path, argv, message, hint):
    (tmp_path / "plain.txt").write_text("data")
    for name, text in (("no-interpreter", "#!/no/such/shell\n"), ("no-line", "data")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    with pytest.raises(LaunchError, match=message) as raised:
        ends(tmp_path, *argv)
    assert str(raised.value).startswith(f"worker-0: cannot run {argv[0]!r}")
    assert hint in raised.value.hint


def test_a_missing_folder_is_named(tmp_path):
    async def start(launch):
        async with launching(tmp_path) as launcher:
            await launcher.start(launch)

    env = environment(tmp_path)
    with pytest.raises(LaunchError, match=r"worker-0: the working directory .*/nowhere does not exist"):
        run(start(Launch("worker-0", ("true",), env, tmp_path / "nowhere", tmp_path / "log")))
    with pytest.raises(LaunchError, match=r"worker-0: cannot write the log .*/nowhere/log"):
        run(start(Launch("worker-0", ("true",), env, tmp_path, tmp_path / "nowhere" / "log")))


def test_fifty_replicas_at_once(tmp_path):
    """They meet: each waits until all fifty are there, so none can have been waited for before the next was begun."""
    script = tmp_path / "meet.py"
    script.write_text(
        "import pathlib, sys, time\npathlib.Path(f'here-{sys.argv[1]}').touch()\n"
        "while len(list(pathlib.Path().glob('here-*'))) < 50: time.sleep(0.05)\nsys.exit(int(sys.argv[1]))"
    )

    async def scenario():
        before = open_files_at_first()
        async with launching(tmp_path) as launcher:
            launches = [python(tmp_path, f"worker-{i}", script, str(i)) for i in range(50)]
            started = await asyncio.gather(*(launcher.start(launch) for launch in launches))
            codes = await asyncio.gather(*(process.wait() for process in started))
        return codes, open_files() - before

    assert run(scenario()) == (list(range(50)), 0)


IGNORES_SIGTERM = "trap '' TERM; echo ready; while :; do sleep 0.1; done"


def test_stop_is_sigterm_first(tmp_path):
    script = "trap 'echo saved; exit 7' TERM; echo ready; while :; do sleep 0.1; done"

    async def scenario():
        async with launching(tmp_path) as launcher:
            process = await launcher.start(command(tmp_path, "worker-0", "sh", "-c", script))
            await until(lambda: "ready" in log(process, tmp_path), "it is ready")
            assert process.exit_code is None
            assert abs(process.started_at - time.time()) < 30
            return await process.stop(30), await process.stop(30), process.exit_code

    assert run(scenario()) == (7, 7, 7)
    assert "saved" in log("worker-0", tmp_path)


def test_stop_is_sigkill_when_the_grace_is_over(tmp_path):
    async def scenario():
        async with launching(tmp_path) as launcher:
            process = await launcher.start(command(tmp_path, "worker-0", "sh", "-c", IGNORES_SIGTERM))
            await until(lambda: "ready" in log(process, tmp_path), "it is ready")
            return await process.stop(0.2)

    assert run(scenario()) == 137


def test_a_second_stop_may_be_less_patient(tmp_path):
    async def scenario():
        async with launching(tmp_path) as launcher:
            process = await launcher.start(command(tmp_path, "worker-0", "sh", "-c", IGNORES_SIGTERM))
            await until(lambda: "ready" in log(process, tmp_path), "it is ready")
            patient = asyncio.create_task(process.stop(3600))
            await asyncio.sleep(0)
            return await process.stop(0), await patient

    assert run(scenario()) == (137, 137)


def test_the_program_under_a_shell_has_its_grace_although_the_shell_dies_at_once(tmp_path):
    save = tmp_path / "save.py"
    save.write_text(
        "import signal, time\n"
        "def save(*_):\n    time.sleep(0.3)\n    print('saved', flush=True)\n    raise SystemExit\n"
        "signal.signal(signal.SIGTERM, save)\nprint('ready', flush=True)\nwhile True: time.sleep(1)\n"
    )

    async def scenario():
        async with launching(tmp_path) as launcher:
            launch = command(tmp_path, "worker-0", "sh", "-c", f"{sys.executable} {save}; echo not reached")
            process = await launcher.start(launch)
            await until(lambda: "ready" in log(process, tmp_path), "it is ready")
            return await process.stop(30)

    assert run(scenario()) == 128 + signal.SIGTERM
    assert log("worker-0", tmp_path) == "ready\nsaved\n"


def test_nothing_of_a_replica_outlives_its_first_process(tmp_path):
    async def scenario():
        async with launching(tmp_path) as launcher:
            process = await launcher.start(command(tmp_path, "worker-0", "sh", "-c", "sleep 1000 & echo $!; exit 5"))
            code = await process.wait()
            return code, alive(int(log(process, tmp_path)))

    assert run(scenario()) == (5, False)


def test_closing_kills_what_still_runs(tmp_path):
    async def scenario():
        async with launching(tmp_path) as launcher:
            process = await launcher.start(command(tmp_path, "worker-0", "sh", "-c", IGNORES_SIGTERM))
            daemon = "import subprocess; print(subprocess.Popen(['sleep', '1000'], start_new_session=True).pid)"
            gone = await launcher.start(python(tmp_path, "worker-1", daemon))
            await gone.wait()
            left = int(log(gone, tmp_path))
            assert alive(left)
        return process.exit_code, alive(process.pid), alive(left), alive(launcher.guard.pid)

    assert run(scenario()) == (137, False, False, False)
