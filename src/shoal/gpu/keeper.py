"""Keeps a shell's lease: renews it until it is released, and releases it when the shell's process ends.

    python -m shoal.gpu.keeper FD     with {"broker": …, "token": …, "ca": …, "lease": …} on its standard input

FD is a pidfd of the shell, which whoever starts the keeper has opened: no other process can take the shell's number in
between. Tokens come by standard input, since arguments and environment can be read by others.
"""

from __future__ import annotations

import json
import os
import select
import ssl
import subprocess
import sys
from pathlib import Path

from shoal.gpu.client import BrokerClient
from shoal.gpu.lent import RENEW_SECONDS, Ended, Lease, release, renew


class NoShell(Exception):
    """There is no process of that number."""


def keep(broker: str, token: str, ca: Path | None, lease: Lease, shell: int) -> None:
    """Start a keeper that outlives the caller. Raises NoShell where the shell has ended already."""
    try:
        descriptor = os.pidfd_open(shell)
    except OSError as fault:
        raise NoShell(f"process {shell}: {fault.strerror}") from fault
    try:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "shoal.gpu.keeper", str(descriptor)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            pass_fds=[descriptor],
        )
    finally:
        os.close(descriptor)
    assert keeper.stdin is not None
    given = {"broker": broker, "token": token, "ca": str(ca.absolute()) if ca else None, "lease": lease}
    with keeper.stdin:
        keeper.stdin.write(json.dumps(given).encode())


def main() -> None:
    shell, given = int(sys.argv[1]), json.load(sys.stdin)
    client = BrokerClient(given["broker"], given["token"], ssl.create_default_context(cafile=given["ca"]))
    lease, ended = given["lease"], select.poll()
    ended.register(shell, select.POLLIN)
    try:
        while not ended.poll(RENEW_SECONDS * 1000):
            renew(client, lease, "", lambda notice: None)
    except Ended:
        return
    release(client, lease)


if __name__ == "__main__":
    main()
