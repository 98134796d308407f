"""The workbenches of one namespace: where they are, what lets one in, and whether they run."""

from __future__ import annotations

import base64
import shutil
from typing import NamedTuple

from pydantic import ValidationError

from shoal.kubernetes.client.connection import NO_KUBECTL, Connection
from shoal.kubernetes.operator.api import NotFoundError
from shoal.kubernetes.operator.kinds import SECRETS, WORKBENCHES
from shoal.kubernetes.operator.views import Bench
from shoal.kubernetes.operator.wanted import manifest_of
from shoal.kubernetes.web_app import SERVICE_PORT, prefix, url
from shoal.kubernetes.workbench import TOKEN_KEY, secret_name
from shoal.resources import AppStatus, parse_workbench
from shoal.resources.suggestion import nearest
from shoal.runs import MissingError, RunError


class Listed(NamedTuple):
    """A workbench in a list. `since` is when it was made, in seconds since the epoch."""

    name: str
    phase: str
    url: str
    message: str
    since: float | None


class Workbenches:
    """All methods raise RunError where they cannot do what they are asked for."""

    def __init__(self, context: str | None, namespace: str | None) -> None:
        self._connection = Connection(context)
        self._namespace = namespace or self._connection.namespace

    def all(self) -> list[Listed]:
        """By name."""
        return sorted(map(_listed, self._stored()), key=lambda each: each.name)

    def outside_url(self, name: str) -> str:
        """The address with the token. Raises RunError for one that no Ingress with a host leads to."""
        bench = self._find(name)
        wanted = parse_workbench(manifest_of(bench), "Workbench")
        if wanted.spec.ingress is None or not wanted.spec.ingress.host:
            raise RunError(f"{name} has no address outside the cluster", "`shoal workbench open` makes one here")
        return self._with_token(bench, url(wanted))

    def forwarded(self, name: str, port: int) -> tuple[list[str], str]:
        """The command that brings the workbench to 127.0.0.1:`port`, and the address there, with the token."""
        bench = self._find(name)
        if bench.spec.get("stopped"):
            raise RunError(f"{name} is stopped", f"start it with `shoal workbench start {name}`")
        if shutil.which("kubectl") is None:
            raise RunError(*NO_KUBECTL)
        command = ["kubectl", "--namespace", self._namespace]
        if self._connection.context:
            command += ["--context", self._connection.context]
        command += ["port-forward", "--address", "127.0.0.1", f"service/{name}", f"{port}:{SERVICE_PORT}"]
        path = prefix(parse_workbench(manifest_of(bench), "Workbench"))
        return command, self._with_token(bench, f"http://127.0.0.1:{port}{path}/")

    def is_stopped(self, name: str) -> bool:
        return bool(self._find(name).spec.get("stopped"))

    def stop(self, name: str, stopped: bool) -> None:
        """Take its pod away and keep the rest, or take that back. Does not wait."""
        about = self._find(name).metadata
        body = {"spec": {"stopped": True if stopped else None}}
        self._connection.run(self._connection.client.patch(WORKBENCHES, about.namespace, about.name, body))

    def _stored(self) -> list[Bench]:
        try:
            found, _ = self._connection.run(self._list())
        except RunError as fault:
            if isinstance(fault.__cause__, NotFoundError):
                raise RunError("the cluster knows no Workbenches", "an administrator installs the CRDs") from None
            raise
        return found

    async def _list(self) -> tuple[list[Bench], str]:
        found, version = await self._connection.client.list(WORKBENCHES, self._namespace)
        for each in found:
            each.api_version = WORKBENCHES.api_version  # items of a list do not say it
        return found, version

    def _find(self, name: str) -> Bench:
        found = {each.metadata.name: each for each in self._stored()}
        if name in found:
            return found[name]
        meant = nearest(name, list(found))
        known = f"known workbenches: {', '.join(found)}" if found else "kubectl apply makes one: docs/workbench.md"
        raise MissingError(
            f"there is no workbench named {name!r} in the namespace {self._namespace!r}",
            f"did you mean {meant}?" if meant else known,
            list(found),
        )

    def _with_token(self, bench: Bench, address: str) -> str:
        name = secret_name(bench.metadata.name, bench.metadata.uid)
        try:
            secret = self._connection.run(self._connection.client.get(SECRETS, self._namespace, name))
        except RunError as fault:
            if isinstance(fault.__cause__, NotFoundError):
                raise RunError(f"{bench.metadata.name} has no token yet", "does an operator look after it?") from None
            raise
        token = base64.b64decode((secret.data or {})[TOKEN_KEY]).decode()
        return f"{address}lab?token={token}"


def _listed(bench: Bench) -> Listed:
    status, made = _status(bench), bench.metadata.creation_timestamp
    since = made.timestamp() if made else None
    return Listed(bench.metadata.name, status.phase.value, status.url or "", status.message, since)


def _status(bench: Bench) -> AppStatus:
    """As stored. One that cannot be read counts as none."""
    try:
        return AppStatus.model_validate(bench.status)
    except ValidationError:
        return AppStatus()
