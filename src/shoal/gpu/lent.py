"""A lease as its borrower has it: asked for, waited for, renewed while a command runs, released however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from shoal.cuda.environment import LEASE, LIBRARIES, NUMBERS, SERVERS, TOKEN, VISIBLE, client_folder, with_client
from shoal.gpu.client import POLL_SECONDS, BrokerClient, BrokerError, Unreachable
from shoal.pool.lease import LIVE

RENEW_SECONDS = 5.0
RETRY_SECONDS = 1.0
END_SECONDS = 10.0
"""From Ctrl-C to SIGTERM, and from that to SIGKILL."""

GONE = (404, 410)

ENVIRONMENT = LEASE, TOKEN, SERVERS, NUMBERS
"""What a program is told of its lease."""

Lease = dict[str, Any]


class TooLate(Exception):
    """Nothing was free in time; the message says what lacked."""


class Ended(Exception):
    """The lease has ended under the command."""


class Terminated(BaseException):
    """SIGTERM has come."""


def run(
    client: BrokerClient,
    requests: list[dict[str, Any]],
    priority: int,
    patience: float | None,
    command: Sequence[str],
    tell: Callable[[str], None],
) -> int:
    """The command's exit code, 128 + N where signal N ended it. Raises TooLate, Ended, BrokerError, and OSError for a
    command that cannot be started."""
    try:
        with raised_sigterm():
            lease = obtain(client, requests, priority, patience, tell)
            try:
                return _with(client, lease, command, tell)
            finally:
                release(client, lease)
    except Terminated:
        return 128 + signal.SIGTERM


def obtain(
    client: BrokerClient,
    requests: list[dict[str, Any]],
    priority: int,
    patience: float | None,
    tell: Callable[[str], None],
) -> Lease:
    """A lease that runs. Whatever ends the wait, nothing stays asked for. Raises TooLate, Ended and BrokerError."""
    until = None if patience is None else time.monotonic() + patience
    lease = client.ask(requests, priority)
    told = ""
    try:
        while lease["state"] != "running":
            told = _tell(lease, told, tell)
            lease = _next(client, lease, until, lambda: client.ask(requests, priority))
    except BaseException:
        release(client, lease)
        raise
    return lease


def environment(lease: Lease, first: int = 0, gpus: int | None = None) -> dict[str, str]:
    """What a program needs to use the GPUs of a lease that runs: all, or so many from the `first` on. Where the client
    library is built, it is before all others that this process's programs find."""
    numbers: Counter[str] = Counter()
    servers, numbered = [], []
    for share in lease["shares"]:
        servers.append(share["address"])
        numbered.append(str(numbers[share["host"]]))
        numbers[share["host"]] += 1
    part = slice(first, None if gpus is None else first + gpus)
    told = lease["id"], lease["token"], ",".join(servers[part]), ",".join(numbered[part])
    given = dict(zip(ENVIRONMENT, told, strict=True))
    if client_folder():
        given[LIBRARIES] = with_client(os.environ.get(LIBRARIES, ""))
    return given


def release(client: BrokerClient, lease: Lease) -> None:
    """As far as the broker can be reached: what it is not told expires."""
    with suppress(BrokerError):
        client.release(lease["id"])


def _next(client: BrokerClient, lease: Lease, until: float | None, again: Callable[[], Lease]) -> Lease:
    """The lease a while later; another one, asked for anew, where the broker was replaced and knows of none."""
    left = POLL_SECONDS if until is None else min(POLL_SECONDS, until - time.monotonic())
    if left <= 0:
        raise TooLate(lease["reason"] or f"its servers have not started ({lease['state']})")
    try:
        found = client.wait(lease, left)
    except Unreachable:
        time.sleep(RETRY_SECONDS)
        return lease
    except BrokerError as fault:
        if fault.code == 503:
            time.sleep(RETRY_SECONDS)
            return lease
        if fault.code in GONE:
            return again()
        raise
    if found["state"] not in LIVE:
        raise Ended(f"{found['id']} has ended: {found['state']}, {found['reason']}")
    return found


def _tell(lease: Lease, told: str, tell: Callable[[str], None]) -> str:
    if lease["reason"] and lease["reason"] != told:
        tell(f"waiting: {lease['reason']}")
    return lease["reason"] or told


def _with(client: BrokerClient, lease: Lease, command: Sequence[str], tell: Callable[[str], None]) -> int:
    own = {name: value for name, value in os.environ.items() if name != VISIBLE}  # it is of this machine's GPUs
    child = subprocess.Popen(command, env={**own, **environment(lease)})
    notice = ""
    try:
        while True:
            try:
                code = child.wait(RENEW_SECONDS)
                return code if code >= 0 else 128 - code
            except subprocess.TimeoutExpired:
                notice = renew(client, lease, notice, tell)
    except KeyboardInterrupt:
        if os.isatty(0):  # then Ctrl-C has reached the child, too, which may have something to save
            with suppress(subprocess.TimeoutExpired):
                child.wait(END_SECONDS)
        raise
    finally:
        _end(child)


def renew(client: BrokerClient, lease: Lease, notice: str, tell: Callable[[str], None]) -> str:
    """The notice that the broker gives; told where it is another than `notice`. Raises Ended."""
    try:
        seen = client.renew(lease)
    except BrokerError as fault:
        if fault.code in GONE:
            raise Ended(str(fault)) from fault
        return notice  # a broker that is away for a while takes nothing away
    if seen["notice"] and seen["notice"] != notice:
        tell(f"notice: {seen['notice']}")
    return str(seen["notice"])


def _end(child: subprocess.Popen[bytes]) -> None:
    for order in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is None:
            child.send_signal(order)
            with suppress(subprocess.TimeoutExpired):
                child.wait(END_SECONDS)


@contextmanager
def raised_sigterm() -> Iterator[None]:
    """SIGTERM is raised as Terminated, so that what is held is released on the way out."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
