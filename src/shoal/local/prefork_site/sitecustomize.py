"""The prefork parent: a Python that stops short of running its script, and runs it in forked children instead.

`prefork` starts the parent as `python FILE`, just as it would start a replica, with this folder in front on
PYTHONPATH. Python imports `sitecustomize` when everything is set up and the script has not begun. There the parent
stays: it imports what the script will import, then forks once for each replica asked for. Only a child goes on from
here, into the script, and it does so by Python's own way: `__main__`, `sys.path[0]`, tracebacks, exit codes and
buffering are those of `python FILE` because that is what runs. No frame of this file is below the script's.

Messages on the control socket are a length (four bytes, big-endian) and JSON:

    first    {"steps": [["set", NAME, VALUE], ["import", NAME, ""]…], "path": the script's folder}
    answer   {"ready": true} or {"refused": why}
    then     {"fork": number, "args": […], "env": {…}, "cwd": …, "log": …}
    answer   {"forked": number, "pid": …} or {"failed": number, "why": …}
    later    {"ended": pid, "code": exit code, 128 + N for signal N}
    answer   {"reap": pid}: until then the child stays a zombie, so that its process group can be signalled safely

The parent ends when the socket does, and its children with it.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import importlib.machinery
import importlib.util
import json
import os
import select
import signal
import struct
import sys
import traceback
from typing import Any

CONTROL = "SHOAL_PREFORK_CONTROL"
"""The control socket's file descriptor."""

PR_SET_PDEATHSIG = 1
"""prctl(2): the signal to get when the parent dies."""

Message = dict[str, Any]


class Refused(Exception):
    """The parent cannot be forked from."""


def main() -> None:
    """Returns in children only."""
    control = int(os.environ.pop(CONTROL))
    try:
        become_invisible()
        order = receive(control)
        assert order is not None
        try:
            prepare(order)
        except Exception as fault:
            traceback.print_exc()
            send(control, {"refused": f"{type(fault).__name__}: {fault}"})
            os._exit(1)
        send(control, {"ready": True})
        child = serve(control)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    if child is None:
        os._exit(0)


def become_invisible() -> None:
    """Undo the way in, and run the `sitecustomize` that Python would have run instead of this one."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]  # noqa: PTH100
    sys.path_importer_cache.pop(here, None)
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec and spec.loader:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def prepare(order: Message) -> None:
    """Import ahead, with the script's folder on the path as it will be, and check that a fork is safe."""
    if not sys.flags.safe_path:
        sys.path.insert(0, order["path"])
    # Imports make many objects and hardly any garbage: looking for it takes a tenth of the time.
    gc.disable()
    for verb, name, value in order["steps"]:
        if verb == "import":
            importlib.import_module(name)
        elif verb == "set":
            os.environ[name] = value
        else:
            os.environ.setdefault(name, value)
    if not sys.flags.safe_path:
        sys.path.remove(order["path"])
    check_forkable()
    # What is here now lives as long as the process: keep the collector from writing to pages that children share.
    gc.freeze()
    gc.enable()


def check_forkable() -> None:
    """Threads and devices do not survive a fork. Raises Refused where there are any."""
    # Mathematics libraries end their threads in a fork's own handlers and start them anew on need, so look after one.
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208
    if threads > 1:
        raise Refused(f"importing left {threads - 1} threads running")
    files = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]  # noqa: PTH208
    if any(file.startswith(("/dev/nvidia", "/dev/kfd", "/dev/accel")) for file in files):
        raise Refused("importing opened a device")
    context = sys.modules.get("tensorflow.python.eager.context")
    eager = getattr(context, "_context", None)
    if eager is not None and getattr(eager, "_initialized", True):
        raise Refused("importing initialised TensorFlow's context")


def serve(control: int) -> int | None:
    """Fork on demand until the socket ends. In a child, answers 0."""
    living: dict[int, int] = {}
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready != control:
                poll.unregister(ready)
                send(control, ended(living[ready]))
                continue
            order = receive(control)
            if order is None:
                return None
            if "reap" in order:
                os.waitpid(order["reap"], 0)
                handle = next(handle for handle, pid in living.items() if pid == order["reap"])
                del living[handle]
                os.close(handle)
                continue
            try:
                pid = fork(order, [control, *living])
            except OSError as fault:
                send(control, {"failed": order["fork"], "why": str(fault)})
                continue
            if pid == 0:
                return 0
            handle = os.pidfd_open(pid)
            living[handle] = pid
            poll.register(handle, select.POLLIN)
            send(control, {"forked": order["fork"], "pid": pid})


def ended(pid: int) -> Message:
    result = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert result is not None
    signalled = result.si_code != os.CLD_EXITED
    return {"ended": pid, "code": 128 + result.si_status if signalled else result.si_status}


def fork(order: Message, not_for_the_child: list[int]) -> int:
    """Fork a replica; answers its process id once it leads its own session, and 0 in the replica itself."""
    log = os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    settled, settle = os.pipe()
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.dup2(log, 1)
        os.dup2(log, 2)
        for number in (log, settled, *not_for_the_child):
            os.close(number)
        die_with(parent)
        os.close(settle)
        take_over(order)
        return 0
    os.close(log)
    os.close(settle)
    os.read(settled, 1)
    os.close(settled)
    return pid


def die_with(parent: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def take_over(order: Message) -> None:
    """Make this process the replica that `order` describes."""
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv[1:] = order["args"]
    sys.orig_argv += order["args"]
    # `random` sees to itself after a fork. NumPy's global generator and the key for multiprocessing do not.
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "multiprocessing.process" in sys.modules:
        process = sys.modules["multiprocessing.process"].current_process()
        process.authkey = os.urandom(32)


def receive(control: int) -> Message | None:
    """The next message; None where the socket has ended."""
    head = receive_exactly(control, 4)
    if head is None:
        return None
    body = receive_exactly(control, struct.unpack(">I", head)[0])
    message: Message | None = json.loads(body) if body else None
    return message


def receive_exactly(control: int, length: int) -> bytes | None:
    parts = b""
    while len(parts) < length:
        part = os.read(control, length - len(parts))
        if not part:
            return None
        parts += part
    return parts


def send(control: int, message: Message) -> None:
    body = json.dumps(message).encode()
    rest = struct.pack(">I", len(body)) + body
    while rest:
        rest = rest[os.write(control, rest) :]


if CONTROL in os.environ:
    main()
