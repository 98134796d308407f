"""Calls between the processes of one server: each listens at a Unix socket in a folder that only they may enter.

A call is a connection of its own, so a long one holds up no other, and the death of who is asked ends it at once.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

from shoal.serving.status import Code, ServingError

BACKLOG = 128

Methods = Mapping[str, Callable[..., Any]]


class Gone(ServingError):
    """Who was asked is not there, or died before it answered."""

    def __init__(self) -> None:
        super().__init__(Code.UNAVAILABLE, "a process of the server has ended")


def answer(path: Path, methods: Methods) -> None:
    """Answer calls at `path` until the process ends. What a method raises is raised where it was called."""
    listener = socket.socket(socket.AF_UNIX)  # a Listener would complain at its end that the folder is gone
    listener.bind(str(path))
    listener.listen(BACKLOG)
    threading.Thread(target=_accept, args=[listener, methods], name="control", daemon=True).start()


def ask(path: Path, method: str, *args: Any) -> Any:
    """What `method` answers there. Raises ServingError."""
    try:
        with Client(str(path), "AF_UNIX") as connection:
            connection.send((method, args))
            good, value = connection.recv()
    except (OSError, EOFError):
        raise Gone from None
    if not good:
        raise ServingError(*value)
    return value


def _accept(listener: socket.socket, methods: Methods) -> None:
    while True:
        connection = Connection(listener.accept()[0].detach())
        threading.Thread(target=_answer, args=[connection, methods], daemon=True).start()


def _answer(connection: Connection, methods: Methods) -> None:
    with connection:
        try:
            method, args = connection.recv()
            try:
                reply = True, methods[method](*args)
            except ServingError as error:
                reply = False, (error.code, error.message)
            except Exception as fault:
                reply = False, (Code.INTERNAL, f"{type(fault).__name__}: {fault}")
            connection.send(reply)
        except (OSError, EOFError):
            pass  # nobody waits for the answer any more
