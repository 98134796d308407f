"""What the launch tests share: launchers over real processes, and a stand-in for TensorFlow that imports in no time."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
import time
import uuid
from pathlib import Path

from shoal.local.guard import Guard
from shoal.local.prefork import PreforkLauncher
from shoal.local.process import Launch
from shoal.local.spawn import SpawnLauncher

BOUND_SECONDS = 60
SOURCE = Path(__file__).parents[3] / "src"


def run(scenario):
    """Run a coroutine to its end, within the bound."""
    return asyncio.run(asyncio.wait_for(scenario, BOUND_SECONDS))


@contextlib.asynccontextmanager
async def launching(folder, mode="spawn", run_id=None):
    """A launcher of either kind; whatever it started is gone afterwards."""
    spawn = SpawnLauncher(Guard(run_id or uuid.uuid4().hex))
    launcher = PreforkLauncher(spawn, folder / "prefork.log") if mode == "prefork" else spawn
    try:
        yield launcher
    finally:
        await launcher.close()


def python(folder, name, script, *args, **env):
    """The launch of a Python script, given as a path or as text, in `folder`."""
    if not isinstance(script, Path):
        path = folder / f"{name}.py"
        path.write_text(script)
        script = path
    return command(folder, name, sys.executable, str(script), *args, **env)


def command(folder, name, *argv, **env):
    return Launch(name, argv, {**environment(folder), **env}, folder, folder / f"{name}.log")


def environment(folder):
    return {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(folder / "installed")}


def stand_in_tensorflow(folder, text=""):
    """A `tensorflow` that tells which process imported it."""
    package = folder / "installed" / "tensorflow"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"import os\nIMPORTED_BY = os.getpid()\n{text}\n")


def log(process_or_name, folder):
    name = getattr(process_or_name, "name", process_or_name)
    return (folder / f"{name}.log").read_text()


async def until(condition, what):
    """Wait until `condition()` holds."""
    deadline = time.monotonic() + BOUND_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        await asyncio.sleep(0.02)


def alive(pid):
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def open_files_at_first():
    """How many are open when all is closed that earlier tests have left to the garbage collector: it would otherwise
    close it in the course of a test, and hide as many files that the test leaves open."""
    gc.collect()
    return open_files()


def open_files():
    """How many file descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))
