"""Who may come in: each connection has a process of its own from its first byte on, so that nothing which a client
does, or which its kernels do, reaches the next one. The process that listens reads nothing that clients send."""

from __future__ import annotations

import ctypes
import hashlib
import hmac
import json
import os
import signal
import socket
import traceback

from shoal.cuda.api.messages import HEADER
from shoal.cuda.driver import Status
from shoal.cuda.server.budget import Budget
from shoal.cuda.server.connection import Connection
from shoal.cuda.server.offer import Offer

PR_SET_PDEATHSIG = 1
"""prctl(2): the signal to get when the parent dies."""

CLIENTS = 256
"""At a time, of one lease."""

TOKEN_SECONDS = 10.0
TOKEN_BYTES = 512
REAP_SECONDS = 0.2
"""How soon what a dead client had is free for others."""

NOT_PERMITTED = 800


_agent = 1
"""Where what is said to the agent goes."""


def listen(host: str, token_hash: str, offer: Offer) -> None:
    """Serve until killed."""
    global _agent
    _agent = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no word to the agent
    offer.prepare()
    budget = Budget([each.memory for each in offer.gpus], CLIENTS)
    rows = list(range(CLIENTS))
    serving: dict[int, int] = {}
    with socket.create_server((host, 0), backlog=CLIENTS) as server:
        server.settimeout(REAP_SECONDS)
        say(address=f"{host}:{server.getsockname()[1]}")
        while True:
            for row in _reap(serving):
                budget.clear(row)
                rows.append(row)
            try:
                client, address = server.accept()
            except TimeoutError:
                continue
            with client:
                if not rows:
                    say(refused=f"{CLIENTS} clients are served already", client=address[0])
                    continue
                row = rows.pop()
                parent = os.getpid()
                if pid := os.fork():
                    serving[pid] = row
                else:
                    _serve(client, address[0], parent, token_hash, offer, budget, row)


def say(**told: object) -> None:
    """A line to the agent, written as a whole."""
    os.write(_agent, json.dumps(told).encode() + b"\n")


def die_with_parent(parent: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it died before the signal was asked for


def refusal(client: socket.socket, token_hash: str) -> str:
    """Why a client is turned away; empty for one that has shown the token. Nothing behind the token is read."""
    client.settimeout(TOKEN_SECONDS)
    shown = b""
    try:
        while not shown.endswith(b"\n"):
            got = client.recv(1)
            if not got:
                return "no token"
            shown += got
            if len(shown) > TOKEN_BYTES:
                return "no token, but what is none"
    except TimeoutError:
        return f"no token within {TOKEN_SECONDS:g} s"
    given = hashlib.sha256(shown.strip()).hexdigest()
    if hmac.compare_digest(given, token_hash):
        return ""
    return "not the token of this lease" if shown.strip() else "no token"


def _serve(
    client: socket.socket, address: str, parent: int, token_hash: str, offer: Offer, budget: Budget, row: int
) -> None:
    """The life of a client's process. It does not return."""
    code = 1
    try:
        die_with_parent(parent)
        if why := refusal(client, token_hash):
            say(refused=why, client=address)
            told = why.encode()
            client.sendall(HEADER.pack(len(told), NOT_PERMITTED, 0, 0) + told)
        else:
            client.settimeout(None)
            _greet(client, offer, budget, row)
        code = 0
    except (ConnectionError, TimeoutError):
        code = 0  # the client went
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _greet(client: socket.socket, offer: Offer, budget: Budget, row: int) -> None:
    """Serve a client that has shown the token; one whose driver does not start is told why."""
    from shoal.cuda.driver import DriverError

    try:
        driver = offer.driver()
    except DriverError as fault:
        told = str(fault).encode()
        client.sendall(HEADER.pack(len(told), fault.status or Status.UNKNOWN, 0, 0) + told)
        raise
    Connection(client, driver, budget, row, lambda: say(used=True)).serve()


def _reap(serving: dict[int, int]) -> list[int]:
    """The rows of processes that have ended."""
    rows = []
    while serving:
        pid, _ = os.waitpid(-1, os.WNOHANG)
        if not pid:
            break
        if (row := serving.pop(pid, None)) is not None:
            rows.append(row)
    return rows
