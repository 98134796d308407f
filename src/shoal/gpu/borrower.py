"""Borrows the GPUs of a local job, beside its supervisor, which must know nothing of brokers.

    python -m shoal.gpu.borrower     with [REQUEST, …], as the broker takes them, in a line on its standard input

The broker is that of SHOAL_BROKER, SHOAL_BROKER_CA and SHOAL_TOKEN_FILE. It says on standard output, a JSON object a
line, `{"waiting": REASON}`, `{"granted": [ENVIRONMENT, …]}` with one for each request, and `{"ended": REASON}`. All are
asked for as one gang, renewed, and released when standard input ends: with the supervisor, however that ends.
"""

from __future__ import annotations

import json
import os
import signal
import ssl
import sys
import threading
import time
from pathlib import Path
from typing import Any

from shoal.gpu.client import BrokerClient, BrokerError, Unreachable
from shoal.gpu.lent import (
    RENEW_SECONDS,
    RETRY_SECONDS,
    Ended,
    Lease,
    Terminated,
    environment,
    obtain,
    raised_sigterm,
    release,
    renew,
)


def main() -> None:
    line = sys.stdin.readline()
    if not line:
        return  # the supervisor has ended already
    requests = json.loads(line)
    try:
        with raised_sigterm():
            threading.Thread(target=_end_with_the_supervisor, daemon=True).start()
            client = _client()
            lease = _patiently(client, requests)
            try:
                _say(granted=environments(lease, [request.get("gpus", 1) for request in requests]))
                while True:
                    time.sleep(RENEW_SECONDS)
                    renew(client, lease, "", lambda notice: None)
            finally:
                release(client, lease)
    except Terminated:
        return
    except (Ended, BrokerError, OSError) as fault:
        _say(ended=str(fault))
    except KeyError as missing:
        _say(ended=f"{missing.args[0]} is not set, and SHOAL_BROKER is")


def environments(lease: Lease, gpus: list[int]) -> list[dict[str, str]]:
    """One for each request of the gang, with its own GPUs: shares are in the order of the requests."""
    return [environment(lease, sum(gpus[:i]), n) for i, n in enumerate(gpus)]


def _patiently(client: BrokerClient, requests: list[dict[str, Any]]) -> Lease:
    """A broker that is away is waited for, like GPUs."""
    while True:
        try:
            return obtain(client, requests, 0, None, lambda told: _say(waiting=told.removeprefix("waiting: ")))
        except Unreachable as away:
            _say(waiting=str(away))
            time.sleep(RETRY_SECONDS)


def _client() -> BrokerClient:
    trusted = ssl.create_default_context(cafile=os.environ.get("SHOAL_BROKER_CA"))
    token = Path(os.environ["SHOAL_TOKEN_FILE"]).read_text(encoding="utf-8").strip()
    return BrokerClient(os.environ["SHOAL_BROKER"], token, trusted)


def _end_with_the_supervisor() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _say(**told: object) -> None:
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
