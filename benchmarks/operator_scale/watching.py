"""What the benchmark sees of pods, by a watch of its own: when each was there, and when it ran."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.kinds import Kind
from shoal.kubernetes.operator.views import Metadata, View


class TooSlowError(Exception):
    """What was waited for did not happen within the time allowed."""


class _Status(View):
    phase: str = ""


class _Pod(View):
    metadata: Metadata
    status: _Status


PODS = Kind("v1", "Pod", "pods", _Pod)


@dataclass
class Seen:
    """One pod. Times are seconds since 1970; 0.0: not yet."""

    job: str
    name: str
    created: float
    running: float = 0.0
    gone: float = 0.0


@dataclass
class Pods:
    """Every pod of a namespace, by uid."""

    seen: dict[str, Seen] = field(default_factory=dict)

    @property
    def running(self) -> int:
        return sum(1 for each in self.seen.values() if each.running and not each.gone)

    def of(self, job: str) -> list[Seen]:
        return [each for each in self.seen.values() if each.job == job]

    def note(self, type: str, pod: _Pod, now: float) -> None:
        owner = pod.metadata.controller
        known = self.seen.setdefault(pod.metadata.uid, Seen(owner.name if owner else "", pod.metadata.name, now))
        if pod.status.phase == "Running" and not known.running:
            known.running = now
        if type == "DELETED":
            known.gone = now


@asynccontextmanager
async def watched(client: Client, namespace: str) -> AsyncIterator[Pods]:
    """The pods of `namespace` as they come, run and go."""
    pods = Pods()
    _, version = await client.list(PODS, namespace)
    task = asyncio.create_task(_follow(client, namespace, version, pods))
    try:
        yield pods
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _follow(client: Client, namespace: str, version: str, pods: Pods) -> None:
    while True:
        async for event in client.watch(PODS, version, namespace):
            version = event.object.metadata.resource_version
            if event.type != "BOOKMARK":
                pods.note(event.type, event.object, time.time())


async def until(condition: Callable[[], object], seconds: float, what: str) -> None:
    """Raises TooSlowError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TooSlowError(f"{what}: not within {seconds:.0f} s")
        await asyncio.sleep(0.05)
