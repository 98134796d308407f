"""The dashboard on a port of this machine, until Ctrl-C."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from shoal.runs import RunError, Runs
from shoal.web.access import Door
from shoal.web.app import application
from shoal.web.pool import Broker

HOST = "127.0.0.1"
GRACE_SECONDS = 3


def serve(make_runs: Callable[[], Runs], port: int, show: Callable[[str], None], broker: Broker | None = None) -> None:
    """Serve on `port`, or on a free one for 0, until SIGINT or SIGTERM. `broker` is that of the pool to show. `show` is
    told the address that opens the next browser, again each time one has been used. Raises RunError where the port is
    taken."""
    with _listen(port) as listening:
        chosen = listening.getsockname()[1]

        def tell() -> None:
            show(f"http://{HOST}:{chosen}/open?token={door.token}")

        door = Door(chosen, tell)
        server = uvicorn.Server(
            uvicorn.Config(
                application(make_runs, door, lambda: server.should_exit, broker),
                log_level="warning",
                access_log=False,
                lifespan="off",
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        tell()
        server.run(sockets=[listening])


def _listen(port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()  # before anybody is told of it
    except OSError as fault:
        listening.close()
        raise RunError(f"cannot listen on port {port}: {fault.strerror}", "choose another with --port") from fault
    return listening
