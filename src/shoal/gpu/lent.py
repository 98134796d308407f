"""A command that runs with a lease: asked for, waited for, renewed while it runs, and released however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

from shoal.gpu.client import POLL_SECONDS, BrokerClient, BrokerError, Unreachable

RENEW_SECONDS = 5.0
RETRY_SECONDS = 1.0
END_SECONDS = 10.0
"""From Ctrl-C to SIGTERM, and from that to SIGKILL."""

GONE = (404, 410)

Lease = dict[str, Any]


class TooLate(Exception):
    """Nothing was free in time; the message says what lacked."""


class Ended(Exception):
    """The lease has ended under the command."""


class _Terminated(BaseException):
    pass


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
    before = signal.signal(signal.SIGTERM, _terminate)
    lease: Lease | None = None
    until = None if patience is None else time.monotonic() + patience
    try:
        lease = client.ask(requests, priority)
        told = ""
        while lease["state"] != "running":
            told = _tell(lease, told, tell)
            lease = _next(client, lease, until, lambda: client.ask(requests, priority))
        return _with(client, lease, command, tell)
    except _Terminated:
        return 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)
        if lease is not None:
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
    if found["state"] not in ("queued", "granted", "running"):
        raise Ended(f"{found['id']} has ended: {found['state']}, {found['reason']}")
    return found


def _tell(lease: Lease, told: str, tell: Callable[[str], None]) -> str:
    if lease["reason"] and lease["reason"] != told:
        tell(f"waiting: {lease['reason']}")
    return lease["reason"] or told


def _with(client: BrokerClient, lease: Lease, command: Sequence[str], tell: Callable[[str], None]) -> int:
    servers = ",".join(share["address"] for share in lease["shares"])
    environment = {
        **os.environ,
        "SHOAL_LEASE": lease["id"],
        "SHOAL_LEASE_TOKEN": lease["token"],
        "SHOAL_GPU_SERVERS": servers,
    }
    child = subprocess.Popen(command, env=environment)
    notice = ""
    try:
        while True:
            try:
                code = child.wait(RENEW_SECONDS)
                return code if code >= 0 else 128 - code
            except subprocess.TimeoutExpired:
                notice = _renew(client, lease, notice, tell)
    except KeyboardInterrupt:
        if os.isatty(0):  # then Ctrl-C has reached the child, too, which may have something to save
            with suppress(subprocess.TimeoutExpired):
                child.wait(END_SECONDS)
        raise
    finally:
        _end(child)


def _renew(client: BrokerClient, lease: Lease, notice: str, tell: Callable[[str], None]) -> str:
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


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _Terminated
