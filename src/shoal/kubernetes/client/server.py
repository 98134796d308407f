"""One ModelServer of a cluster (`shoal.runs.Server`)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Literal

from pydantic import ValidationError

from shoal.kubernetes.client.connection import Connection
from shoal.kubernetes.client.events import events_of
from shoal.kubernetes.client.logs import PodLogs, Writer
from shoal.kubernetes.client.snapshots import TERMINATING
from shoal.kubernetes.labels import JOB_NAME, MODEL_SERVER
from shoal.kubernetes.operator.api import NotFoundError
from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.kinds import PODS, SERVERS
from shoal.kubernetes.operator.views import ContainerStatus, Pod
from shoal.kubernetes.operator.views import Server as Stored
from shoal.kubernetes.operator.wanted import manifest_of
from shoal.resources import ManifestError, ServerPhase, ServerStatus, parse_server
from shoal.resources.model_server import SERVER_CONTAINER
from shoal.runs import Lines, LogChoice, Place, RunError, ServerDescription, ServerLook

GONE_SECONDS = 180.0
"""How long a server may take to be gone: its pods drain first, and the nodes may be busy."""

LOOK_SECONDS = 0.2


class ClusterServer:
    """A server by its uid: another one of the same name is not this one."""

    def __init__(self, connection: Connection, server: Stored) -> None:
        self._connection = connection
        self._known = server

    @property
    def kind(self) -> Literal["ModelServer"]:
        return "ModelServer"

    @property
    def name(self) -> str:
        return self._known.metadata.name

    @property
    def place(self) -> Place:
        return Place("Namespace", self._known.metadata.namespace, self._connection.context or "")

    @property
    def made_for(self) -> str:
        return self._known.metadata.labels.get(JOB_NAME, "")

    def look(self) -> ServerLook:
        self._known = self._connection.run(self._current())
        return look(self._known)

    def outcome(self) -> str | None:
        self._known = self._connection.latest(self._current(), self._known)
        return look(self._known).outcome

    def describe(self) -> ServerDescription:
        seen = self.look()
        events = self._connection.run(events_of(self._connection.client, self._known, time.time()))
        try:
            return ServerDescription(seen, parse_server(manifest_of(self._known), "ModelServer"), events=events)
        except ManifestError as fault:
            return ServerDescription(seen, None, str(fault), events)

    def remove(self) -> None:
        self._connection.run(self._remove())

    def replicas_with_logs(self) -> list[str]:
        pods = ServerPods(self._connection.client, self._known)
        return [each.replica for each in self._connection.run(pods.writers())]

    def log_lines(self, choice: LogChoice) -> Iterator[Lines]:
        client = self._connection.client
        return self._connection.iterate(PodLogs(client, ServerPods(client, self._known), choice).lines())

    async def _current(self) -> Stored:
        current = await _current(self._connection.client, self._known)
        if current is None:
            raise RunError(f"model server {self.name!r} is gone", "somebody has removed it")
        return current

    async def _remove(self) -> None:
        """In the foreground: the server is there until its pods have answered what was under way, and are gone."""
        about, client = self._known.metadata, self._connection.client
        try:
            await client.delete(SERVERS, about.namespace, about.name, uid=about.uid, propagation="Foreground")
        except NotFoundError:
            return
        try:
            async with asyncio.timeout(GONE_SECONDS):
                while await _current(client, self._known) is not None:
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            raise RunError(
                f"{self.name} is not gone after {GONE_SECONDS:g} s",
                f"which of its pods still end? kubectl get pods -n {about.namespace} -l {_selector(self._known)}",
            ) from None


class ServerPods:
    """Implements `shoal.kubernetes.client.logs.Owner`: replicas are called as their pods are."""

    def __init__(self, client: Client, server: Stored) -> None:
        self._client = client
        self._server = server

    @property
    def name(self) -> str:
        return self._server.metadata.name

    async def writers(self) -> list[Writer]:
        pods, _ = await self._client.list(PODS, self._server.metadata.namespace, _selector(self._server))
        return sorted(map(_writer, pods), key=lambda each: each.replica)

    async def over(self) -> bool:
        return await _current(self._client, self._server) is None


def look(server: Stored) -> ServerLook:
    """The server as its status tells it, as far as that is about the spec as it is now."""
    try:
        status = ServerStatus.model_validate(server.status)
    except ValidationError:
        status = ServerStatus()
    phase: str = status.phase.value
    if status.observed_generation < server.metadata.generation:
        phase = (ServerPhase.UPDATING if status.ready_replicas else ServerPhase.PENDING).value
    if server.metadata.deletion_timestamp is not None:
        phase = TERMINATING
    made = server.metadata.creation_timestamp
    return ServerLook(status, phase, made.timestamp() if made else None)


async def _current(client: Client, server: Stored) -> Stored | None:
    """The server as it is stored; None once it is gone."""
    about = server.metadata
    try:
        found = await client.get(SERVERS, about.namespace, about.name)
    except NotFoundError:
        return None
    return found if found.metadata.uid == about.uid else None


def _writer(pod: Pod) -> Writer:
    nothing = ContainerStatus(SERVER_CONTAINER)
    status = next((each for each in pod.status.container_statuses if each.name == SERVER_CONTAINER), nothing)
    return Writer(
        pod.metadata.name,
        pod,
        SERVER_CONTAINER,
        status.restart_count + 1,
        status.restart_count > 0,
        pod.status.phase in ("Succeeded", "Failed"),
    )


def _selector(server: Stored) -> str:
    return f"{MODEL_SERVER}={server.metadata.name}"
