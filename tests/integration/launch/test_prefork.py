"""Forked replicas must be indistinguishable from `python FILE`, so each behaviour is compared with a plain run."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import psutil
import pytest

from shoal.local.process import LaunchError
from tests.integration.launch.behaviours import BEHAVIOURS
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
    stand_in_tensorflow,
    until,
)

PREAMBLE = "import tensorflow, os, sys\nassert tensorflow.IMPORTED_BY != os.getpid() or 'PLAIN' in os.environ\n"

MULTIPROCESSING = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

class Sample:
    def __init__(self, value):
        self.value = value

def double(sample):
    return Sample(2 * sample.value)

if __name__ == "__main__":
    for method in ("spawn", "fork", "forkserver"):
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            print(method, [sample.value for sample in pool.map(double, [Sample(1), Sample(2)])])
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            print(pool.submit(double, Sample(4)).result().value)
"""


def plain(folder, launch):
    """What the launch comes to outside Shoal: exit code as a shell tells it, and output."""
    log = folder / "plain.log"
    with log.open("ab") as out:
        code = subprocess.run(
            launch.argv,
            cwd=launch.cwd,
            env={**launch.env, "PLAIN": "1"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            check=False,
        ).returncode
    return code if code >= 0 else 128 - code, log.read_text()


async def together(launcher, *launches):
    return await asyncio.gather(*(launcher.start(launch) for launch in launches))


def forked_and_plain(folder, script, *args, **env):
    """Exit code and output of two forked replicas and of a plain run, each with names of its own taken out."""
    (folder / "installed" / "sitecustomize.py").write_text("ran = True\n")
    path = folder / "train.py"
    path.write_text(script)
    launches = [python(folder, f"worker-{i}", path, *args, TF_CONFIG=f"task-{i}", **env) for i in range(2)]

    async def scenario():
        async with launching(folder, "prefork") as launcher:
            processes = await together(launcher, *launches)
            return [(await process.wait(), log(process, folder)) for process in processes]

    def told(outcome, i):
        code, text = outcome
        return code, "\n".join(
            line.replace(f"task-{i}", "task").replace("('PLAIN', '1'), ", "")
            for line in text.splitlines()
            if not line.startswith(("Current thread", "Extension modules"))
        )

    forked = [told(outcome, i) for i, outcome in enumerate(run(scenario()))]
    assert "Traceback" not in (folder / "prefork.log").read_text()
    return forked, told(plain(folder, launches[0]), 0)


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_a_forked_replica_is_like_a_plain_one(tmp_path, behaviour):
    stand_in_tensorflow(tmp_path)
    odd = ["", "a b", "--x=$(Y)", "é\n'", "\udcff"]
    forked, plain = forked_and_plain(tmp_path, PREAMBLE + BEHAVIOURS[behaviour], *odd, ODD="two\nlines=é\udcff")
    assert forked == [plain, plain]


def test_multiprocessing_in_a_forked_replica(tmp_path):
    stand_in_tensorflow(tmp_path)
    forked, plain = forked_and_plain(tmp_path, PREAMBLE.replace("assert", "#") + MULTIPROCESSING)
    assert plain[0] == 0
    assert forked == [plain, plain]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_is_buffered_as_python_would(tmp_path, unbuffered):
    stand_in_tensorflow(tmp_path)
    script = PREAMBLE + "print('said'); os.kill(os.getpid(), 9)"
    forked, plain = forked_and_plain(tmp_path, script, PYTHONUNBUFFERED=unbuffered)
    assert plain == (137, "said" if unbuffered else "")
    assert forked == [plain, plain]


def test_a_module_run_by_name_is_forked_too(tmp_path):
    stand_in_tensorflow(tmp_path)
    package = tmp_path / "trainer"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "model.py").write_text("import tensorflow\n")
    task = "from . import model\nimport os, sys\n"
    task += "print(model.tensorflow.IMPORTED_BY != os.getpid(), __spec__.name, sys.argv, sys.path[0])\n1/0"
    (package / "task.py").write_text(task)
    launches = [command(tmp_path, f"worker-{i}", sys.executable, "-m", "trainer.task", "x") for i in range(2)]

    async def scenario():
        async with launching(tmp_path, "prefork") as launcher:
            processes = await together(launcher, *launches)
            return [(await process.wait(), log(process, tmp_path)) for process in processes]

    code, text = plain(tmp_path, launches[0])
    assert run(scenario()) == [(code, text.replace("False trainer.task", "True trainer.task"))] * 2


WHO = "import tensorflow, os\nprint(tensorflow.IMPORTED_BY, os.getpid())\n"


def importers(folder, names):
    """For each replica, the process that imported TensorFlow for it: itself where it was spawned."""
    pairs = [log(name, folder).split() for name in names]
    return ["itself" if by == own else by for by, own in pairs]


def started_together(folder, launches, mode="prefork"):
    async def scenario():
        async with launching(folder, mode) as launcher:
            processes = await together(launcher, *launches)
            assert [await process.wait() for process in processes] == [0] * len(processes)

    run(scenario())
    return importers(folder, [launch.name for launch in launches])


def test_one_import_serves_all_replicas_that_may_share_it(tmp_path):
    stand_in_tensorflow(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(WHO)
    names = ["chief-0", "worker-0", "worker-1", "ps-0"]
    launches = [python(tmp_path, name, script, name, TF_CONFIG=name, SHOAL_REPLICA=name, POD=name) for name in names]
    by = started_together(tmp_path, launches)
    assert len(set(by)) == 1
    assert by[0] != "itself"


def test_what_is_read_at_import_keeps_replicas_apart(tmp_path):
    stand_in_tensorflow(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(WHO)
    env = [{}, {}, {"TF_ENABLE_ONEDNN_OPTS": "0"}, {"TF_ENABLE_ONEDNN_OPTS": "0"}, {"OMP_NUM_THREADS": "1"}]
    launches = [python(tmp_path, f"worker-{i}", script, **variables) for i, variables in enumerate(env)]
    one, two, three, four, alone = started_together(tmp_path, launches)
    assert one == two != three == four != one
    assert alone == "itself"


def test_the_environment_that_the_script_sets_before_its_import_is_set_for_the_import(tmp_path):
    stand_in_tensorflow(tmp_path, "SEEN = os.environ.get('TF_USE_LEGACY_KERAS')")
    sets = "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n" + PREAMBLE + "print(tensorflow.SEEN)"
    forked, plain = forked_and_plain(tmp_path, sets)
    assert forked == [plain, plain] == [(0, "1")] * 2


@pytest.mark.parametrize(
    ("package", "why"),
    [
        ("raise ImportError('no such library')", "ImportError: no such library"),
        ("import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()", "1 threads running"),
        ("if 'PYTHONPATH' in os.environ and 'prefork_site' in os.environ['PYTHONPATH']: os._exit(3)", ""),
    ],
)
def test_where_no_parent_can_be_had_replicas_are_spawned(tmp_path, package, why):
    stand_in_tensorflow(tmp_path, package)
    script = tmp_path / "train.py"
    text = "try:\n    import tensorflow\nexcept ImportError as fault: print(fault)\n"
    script.write_text(text + "import os; print('ran'); os._exit(0)")

    async def scenario():
        async with launching(tmp_path, "prefork") as launcher:
            for names in (["worker-0", "worker-1"], ["worker-2", "worker-3"]):
                processes = await together(launcher, *(python(tmp_path, name, script) for name in names))
                assert [await process.wait() for process in processes] == [0, 0]

    run(scenario())
    assert all(log(f"worker-{i}", tmp_path).endswith("ran\n") for i in range(4))
    assert why in (tmp_path / "prefork.log").read_text()


def test_a_restarted_replica_comes_from_the_same_parent_and_a_dead_parent_is_replaced(tmp_path):
    stand_in_tensorflow(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(WHO + "import sys, time\ntime.sleep(1000 if sys.argv[1:] else 0)")

    async def scenario():
        async with launching(tmp_path, "prefork") as launcher:
            living = await together(launcher, *(python(tmp_path, f"worker-{i}", script, "stay") for i in range(2)))
            again = await launcher.start(python(tmp_path, "again", script))
            assert await again.wait() == 0
            await until(lambda: all(log(process, tmp_path) for process in living), "both are up")
            first = importers(tmp_path, ["worker-0", "worker-1", "again"])
            assert len(set(first)) == 1
            parent = int(first[0])
            os.kill(parent, signal.SIGKILL)
            assert [await process.wait() for process in living] == [137, 137]
            assert not any(alive(process.pid) for process in living)
            alone = await launcher.start(python(tmp_path, "alone", script))
            assert await alone.wait() == 0
            assert importers(tmp_path, ["alone"]) == ["itself"]
            later = await together(launcher, *(python(tmp_path, f"later-{i}", script) for i in range(2)))
            assert [await process.wait() for process in later] == [0, 0]
            second = importers(tmp_path, ["later-0", "later-1"])
            assert second[0] == second[1] not in ("itself", str(parent))
            successor = int(second[0])
            assert alive(successor)
        assert not alive(successor)

    run(scenario())


def test_stop_ends_a_forked_replica_with_all_it_started(tmp_path):
    stand_in_tensorflow(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(
        PREAMBLE + "import signal, subprocess, time\nchild = subprocess.Popen(['sleep', '1000'])\n"
        "print(child.pid, flush=True)\nif sys.argv[1:]: signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('ready', flush=True)\ntime.sleep(1000)"
    )

    async def scenario():
        async with launching(tmp_path, "prefork") as launcher:
            launches = [python(tmp_path, "worker-0", script), python(tmp_path, "worker-1", script, "stubborn")]
            processes = await together(launcher, *launches)
            await until(lambda: all("ready" in log(process, tmp_path) for process in processes), "both are ready")
            assert all(os.getsid(process.pid) == process.pid for process in processes)
            children = [int(log(process, tmp_path).split()[0]) for process in processes]
            codes = await asyncio.gather(processes[0].stop(30), processes[1].stop(0.2))
            return codes, [alive(child) for child in children]

    assert run(scenario()) == ([143, 137], [False, False])


def test_fifty_forked_replicas_at_once_and_no_file_left_open(tmp_path):
    stand_in_tensorflow(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(PREAMBLE + "sys.exit(int(sys.argv[1]))")

    async def scenario():
        before = open_files_at_first()
        async with launching(tmp_path, "prefork") as launcher:
            processes = await together(launcher, *(python(tmp_path, f"w-{i}", script, str(i)) for i in range(50)))
            codes = [await process.wait() for process in processes]
            parent = psutil.Process(psutil.Process(os.getpid()).children()[-1].pid)
            await until(lambda: not parent.children(), "the children are reaped")
            files = parent.num_fds()
        return codes, open_files() - before, files <= 6

    assert run(scenario()) == (list(range(50)), 0, True)


def test_faults_are_told_as_for_a_spawned_replica(tmp_path):
    stand_in_tensorflow(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(WHO)
    env = environment(tmp_path)

    async def start(launch):
        async with launching(tmp_path, "prefork") as launcher:
            return await together(launcher, launch, launch)

    good = python(tmp_path, "worker-0", script)
    with pytest.raises(LaunchError, match=r"worker-0: cannot write the log .*/nowhere/log"):
        run(start(type(good)("worker-0", good.argv, env, tmp_path, tmp_path / "nowhere" / "log")))
    with pytest.raises(LaunchError, match="null byte"):
        run(start(type(good)("worker-0", (*good.argv, "a\0b"), env, tmp_path, tmp_path / "log")))
