"""The cluster that commands talk to, and what becomes of its refusals: a sentence and a hint."""

from __future__ import annotations

import asyncio
import atexit
import math
import os
import time
from collections.abc import AsyncGenerator, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import yaml
from lightkube.config.kubeconfig import DEFAULT_KUBECONFIG
from lightkube.core.exceptions import ConfigError

from shoal.kubernetes.labels import DEFAULT_NAMESPACE
from shoal.kubernetes.operator.api import APIError, UnreachableError
from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.kubeconfig import configuration, named_files, read
from shoal.resources.suggestion import nearest
from shoal.runs import RunError

T = TypeVar("T")

FIELD_MANAGER = "shoal-cli"
"""Under this name the server books what commands have written, apart from what the operator has."""

_BROKEN = (ConfigError, OSError, yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError)
"""What reading a file that is no kubeconfig may raise."""

PATIENCE_SECONDS = 60.0
"""For how long a cluster that has answered before is asked again while somebody waits."""

NO_TFJOBS = (
    "the cluster knows no TFJobs",
    "an administrator installs Shoal's: kubectl apply --server-side -f charts/shoal/crds (docs/operator.md)",
)

NO_KUBECTL = ("there is no kubectl here, which this takes", "https://kubernetes.io/docs/tasks/tools/")


class Connection:
    """An API server as the kubeconfig names it. Commands are synchronous: `run` waits for what is asked."""

    def __init__(self, context: str | None) -> None:
        """Raises RunError where there is no such cluster."""
        self.context = context
        files = named_files()
        try:
            config = configuration(files, context)
            self.server = config.cluster.server
            self.namespace = config.namespace or DEFAULT_NAMESPACE
            self.client = Client(config, manager=FIELD_MANAGER)
        except _BROKEN as fault:
            raise _no_configuration(fault, files, context) from fault
        self._runner = asyncio.Runner()
        self._answered = -math.inf
        # A command has no other end: it may be left from anywhere. The loop stays, for what is dropped still later.
        self.abandoned = False
        atexit.register(self._close)

    def run(self, asked: Coroutine[Any, Any, T]) -> T:
        """Raises RunError for whatever the server refuses, and where it does not answer."""
        with self.explained():
            answer = self._runner.run(asked)
        self._answered = time.monotonic()
        return answer

    def _close(self) -> None:
        if not self.abandoned:  # somebody still waits in it
            self._runner.run(self.client.close())

    def latest(self, asked: Coroutine[Any, Any, T], known: T) -> T:
        """What is asked; what is `known` while the cluster does not answer for a moment: whoever waits for hours must
        bear that."""
        try:
            return self.run(asked)
        except RunError as fault:
            silent = isinstance(fault.__cause__, UnreachableError)
            if not silent or time.monotonic() - self._answered > PATIENCE_SECONDS:
                raise
            return known

    def iterate(self, source: AsyncGenerator[T, None]) -> Iterator[T]:
        """What comes, as it comes."""

        async def following() -> T | None:
            return await anext(source, None)

        try:
            while (found := self.run(following())) is not None:
                yield found
        finally:
            self._runner.run(source.aclose())

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turns the API's errors into what a user can do something about."""
        try:
            yield
        except UnreachableError as fault:
            cause = fault.__cause__ or fault
            raise RunError(
                f"the cluster at {self.server} does not answer: {str(cause) or type(cause).__name__}",
                "is it up, and is this the right one? --context names another (kubectl config get-contexts)",
            ) from fault
        except APIError as fault:
            raise RunError(f"the cluster refuses: {fault}", _hint(fault)) from fault


def _hint(fault: APIError) -> str:
    match fault.code:
        case 401:
            return "it does not know who you are: log in again, or choose another --context"
        case 403:
            return "ask for the right to it, or choose another --namespace or --context"
        case 422:
            return "the message names the field; `shoal lint FILE` may tell more"
        case _:
            return ""


def _no_configuration(fault: Exception, files: Sequence[str], context: str | None) -> RunError:
    files = files or [DEFAULT_KUBECONFIG]
    place = os.pathsep.join(files)
    if not isinstance(fault, ConfigError):
        return RunError(f"{place} is no kubeconfig: {type(fault).__name__}", "KUBECONFIG names another file")
    known = contexts(files=files)
    if context is not None and known and context not in known:
        meant = nearest(context, known)
        hint = f"did you mean {meant}?" if meant else f"known contexts: {', '.join(sorted(known)[:5])}"
        return RunError(f"there is no context named {context!r} in {place}", hint)
    return RunError(f"no cluster to connect to: {fault}", "KUBECONFIG names the file that says how to reach one")


def contexts(one_of_each: bool = False, files: Sequence[str] = ()) -> list[str]:
    """The names of the contexts in the kubeconfig; none where it cannot be read. With `one_of_each` those of a cluster
    and a user count as one: the current context's, or else the first by name."""
    try:
        found = read(files or named_files() or [DEFAULT_KUBECONFIG])
    except _BROKEN:
        return []
    names = sorted(found.contexts, key=lambda name: (name != found.current_context, name))
    if not one_of_each:
        return sorted(names)
    chosen: dict[tuple[str, str | None], str] = {}
    for name in names:
        context = found.contexts[name]
        chosen.setdefault((context.cluster, context.user), name)
    return list(chosen.values())
