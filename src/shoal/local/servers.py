"""The ModelServers that are served on this machine: each by the `shoal run` that was given its manifest.

    $SHOAL_HOME/servers/NAME.json    the manifest, and who serves it; locked by that process as long as it lives

The process removes the file at its end. One that nobody has locked is what a killed process left: it counts as none,
and the next server of the name takes it over.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Literal

from shoal.local.ports import HOST
from shoal.local.runs import home_folder
from shoal.resources import ModelServer, ServerPhase, ServerStatus, parse_server
from shoal.resources.model_server import ModelStatus
from shoal.resources.served_models import in_short, model_status, path_of, read_versions
from shoal.resources.suggestion import nearest
from shoal.runs import (
    Lines,
    LogChoice,
    MissingError,
    Place,
    RunError,
    ServerDescription,
    ServerLook,
)

END_SECONDS = 60.0
"""How long a server may take to answer the requests under way and to leave."""

READY_SECONDS = 1.0
"""How long it may take to say whether it is ready."""

LOOK_SECONDS = 0.05
TAKING_TRIES = 20
"""Whoever lists servers holds their locks for moments: a name counts as taken when it is for a second."""


@dataclass(frozen=True, slots=True)
class LocalServer:
    """Implements `shoal.runs.Server` over a process. `began_at` is in seconds since the epoch."""

    server: ModelServer
    pid: int
    began_at: float

    @property
    def kind(self) -> Literal["ModelServer"]:
        return "ModelServer"

    @property
    def name(self) -> str:
        return self.server.name

    @property
    def place(self) -> Place:
        return Place("Process", str(self.pid))

    @property
    def made_for(self) -> str:
        return ""

    def look(self) -> ServerLook:
        ports = self.server.spec.service_ports
        rest = f"http://{HOST}:{ports.rest}"
        ready = _is_ready(f"{rest}/readyz")
        models = list(_models(rest, self.server)) if ready else []
        status = ServerStatus(
            phase=ServerPhase.READY if ready else ServerPhase.PENDING,
            replicas=1,
            ready_replicas=int(ready),
            updated_replicas=1,
            models=models,
            served_versions=in_short(models),
            url=rest,
            grpc=f"{HOST}:{ports.grpc}",
        )
        return ServerLook(status, status.phase.value, self.began_at)

    def outcome(self) -> str | None:
        return self.look().outcome

    def describe(self) -> ServerDescription:
        return ServerDescription(self.look(), self.server)

    def remove(self) -> None:
        """End the process as Ctrl-C would. Raises RunError where it does not leave."""
        with suppress(ProcessLookupError):
            process = os.pidfd_open(self.pid)
            try:
                if _holder(_file(self.name)) == self:  # else the number is another process's by now
                    signal.pidfd_send_signal(process, signal.SIGTERM)
            finally:
                os.close(process)
        deadline = time.monotonic() + END_SECONDS
        while _holder(_file(self.name)) == self:
            if time.monotonic() > deadline:
                raise RunError(f"{self.name} has not ended after {END_SECONDS:g} s", f"its process is {self.pid}")
            time.sleep(LOOK_SECONDS)

    def replicas_with_logs(self) -> list[str]:
        return []

    def log_lines(self, choice: LogChoice) -> Iterator[Lines]:
        raise RunError(f"{self.name} keeps no log", "it writes to the terminal in which it was started")


@contextmanager
def registered(server: ModelServer) -> Iterator[None]:
    """Have this process be found as the one that serves `server`. Raises RunError where another one does."""
    path = _file(server.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _taken(path) as file:
        file.truncate(0)
        told = {"manifest": server.dump(), "pid": os.getpid(), "began_at": time.time()}
        file.write(json.dumps(told).encode())
        file.flush()
        try:
            yield
        finally:
            path.unlink()


def find_server(name: str) -> LocalServer:
    """Raises MissingError where no process serves a ModelServer of the name."""
    servers = {server.name: server for server in all_servers()}
    if name not in servers:
        meant = nearest(name, list(servers))
        listed = f"known model servers: {', '.join(servers)}" if servers else "start one: shoal run FILE"
        hint = f"did you mean {meant}?" if meant else listed
        raise MissingError(f"there is no model server named {name!r}", hint, list(servers))
    return servers[name]


def all_servers() -> list[LocalServer]:
    """Every one that a process serves, the latest first."""
    found = [server for file in (home_folder() / "servers").glob("[!.]*.json") if (server := _holder(file))]
    return sorted(found, key=lambda server: server.began_at, reverse=True)


def _holder(path: Path) -> LocalServer | None:
    """The server whose process holds the file; None where nobody does."""
    try:
        with path.open("rb") as file:
            if _try_lock(file, fcntl.LOCK_SH):
                return None
            told = json.load(file)
    except (FileNotFoundError, ValueError):  # it is being written
        return None
    return LocalServer(parse_server(told["manifest"], source=str(path)), told["pid"], told["began_at"])


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=READY_SECONDS) as answer:
            return bool(answer.status == 200)
    except (OSError, HTTPException):
        return False


def _models(url: str, server: ModelServer) -> Iterator[ModelStatus]:
    """What the process tells of its models; one that it does not tell of is left out."""
    for model in server.spec.models:
        with (
            suppress(OSError, HTTPException, ValueError),
            urllib.request.urlopen(url + path_of(model.name), timeout=READY_SECONDS) as answer,
        ):
            yield model_status(model.name, [read_versions(answer.read())])


@contextmanager
def _taken(path: Path) -> Iterator[Any]:
    """The file, open and locked for as long as this lasts."""
    for _ in range(TAKING_TRIES):
        with path.open("ab") as file:
            # A file that its owner removed before it could be locked here is found by nobody.
            if _try_lock(file, fcntl.LOCK_EX) and path.exists() and path.samefile(f"/dev/fd/{file.fileno()}"):
                yield file
                return
        time.sleep(LOOK_SECONDS)
    raise RunError(
        f"a model server named {path.stem!r} is running",
        f"end it with `shoal rm modelserver/{path.stem}`, or give this one another metadata.name",
    )


def _try_lock(file: Any, how: int) -> bool:
    """Take the lock if nobody holds it. It is released when the file is closed, however its owner ends."""
    try:
        fcntl.flock(file.fileno(), how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _file(name: str) -> Path:
    return home_folder() / "servers" / f"{name}.json"
