"""Events (events.k8s.io/v1): what `kubectl describe` tells of the last hour.

They are for people, so they are sent in the background, and one that cannot be sent is dropped. What repeats within
some minutes is said once: an operator that cannot create a pod would say so on every try.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterable

import structlog

from shoal.kubernetes.operator.api import API, APIError, NotLeaderError, UnreachableError
from shoal.kubernetes.operator.kinds import EVENTS
from shoal.kubernetes.operator.views import Deployed, Job, PooledPod
from shoal.resources.base import format_time
from shoal.resources.tfjob import SHOAL_OPERATOR

REPEAT_SECONDS = 300.0
LONGEST_NOTE = 1000
MOST_UNSENT = 500
MOST_SAID = 5000
NAMED = 3

log = structlog.get_logger(__name__)

Subject = Job | Deployed | PooledPod
"""Of whom an event tells."""


class Recorder:
    """Says what happens to jobs, servers and pods, in the name of this `instance` of the operator."""

    def __init__(self, api: API, instance: str) -> None:
        self._api = api
        self._instance = instance
        self._said: dict[tuple[str, str, str], float] = {}
        self._sending: set[asyncio.Task[None]] = set()

    def normal(self, about: Subject, reason: str, note: str) -> None:
        self._record(about, "Normal", reason, note)

    def warning(self, about: Subject, reason: str, note: str) -> None:
        self._record(about, "Warning", reason, note)

    async def flush(self, seconds: float) -> None:
        """Give what is being sent so much time to arrive."""
        if self._sending:
            await asyncio.wait(self._sending, timeout=seconds)

    def _record(self, about: Subject, type: str, reason: str, note: str) -> None:
        now = time.time()
        said = (about.metadata.uid, reason, note)
        if now - self._said.get(said, 0.0) < REPEAT_SECONDS:
            return
        if len(self._said) > MOST_SAID:
            self._said = {key: at for key, at in self._said.items() if now - at < REPEAT_SECONDS}
        self._said[said] = now
        log.info(note, name=about.metadata.name, namespace=about.metadata.namespace, reason=reason)
        if len(self._sending) >= MOST_UNSENT:
            return
        task = asyncio.create_task(self._send(_event(about, type, reason, note, now, self._instance)))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send(self, event: dict[str, object]) -> None:
        try:
            await self._api.create(EVENTS, event)
        except (APIError, UnreachableError, NotLeaderError) as fault:
            log.debug("cannot send an event", reason=event["reason"], fault=str(fault))


def listing(names: Iterable[object]) -> str:
    """`worker-0, worker-1, worker-2 and 7 more`."""
    all_names = [str(name) for name in names]
    rest = f" and {len(all_names) - NAMED} more" if len(all_names) > NAMED else ""
    return ", ".join(all_names[:NAMED]) + rest


def _event(about: Subject, type: str, reason: str, note: str, now: float, instance: str) -> dict[str, object]:
    who = about.metadata
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.name,
        "metadata": {"name": f"{who.name}.{secrets.token_hex(8)}", "namespace": who.namespace},
        "eventTime": format_time(now),
        "reportingController": SHOAL_OPERATOR,
        "reportingInstance": instance,
        "action": "Reconcile",
        "type": type,
        "reason": reason,
        "note": note[:LONGEST_NOTE],
        "regarding": {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "namespace": who.namespace,
            "name": who.name,
            "uid": who.uid,
        },
    }
