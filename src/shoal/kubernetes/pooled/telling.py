"""Why a pod waits, as its condition and by events: `kubectl describe pod` shows both, and a job's status the first."""

from __future__ import annotations

import time
from dataclasses import dataclass

from shoal.kubernetes.gpu_names import GPU_LEASE
from shoal.kubernetes.operator.api import API, NotFoundError
from shoal.kubernetes.operator.events import Recorder
from shoal.kubernetes.operator.kinds import POOLED_PODS
from shoal.kubernetes.operator.store import Store
from shoal.kubernetes.operator.views import PooledPod
from shoal.kubernetes.pooled.broker import Lease
from shoal.resources.base import format_time

RETELL_SECONDS = 20.0
"""The place in the queue, and what lacks, change with every lease of the pool: a pod is told of it so often at most."""

LONGEST_MESSAGE = 800


@dataclass(frozen=True, slots=True)
class Word:
    """What is to be told: `reason` in CamelCase, `message` for people."""

    reason: str
    message: str
    warning: bool = False
    lent: bool = False


def lent(lease: Lease) -> Word:
    hosts = sorted({share.host for share in lease.shares})
    gpus = f"{len(lease.shares)} GPU{'s' if len(lease.shares) > 1 else ''}"
    return Word("GPUsLent", f"{lease.id} lends {gpus} of {', '.join(hosts)}", lent=True)


def moved(lease: Lease) -> Word:
    return Word(
        "GPUsMoved",
        f"{lease.id} is served at other addresses now, which a container learns as it starts: create the pod anew, or "
        "have its containers restarted",
        lent=True,
    )


def queued(lease: Lease) -> Word:
    if lease.state in ("granted", "running"):
        return Word("GPUsStarting", f"{lease.id} is granted; its servers start")
    place = f"place {lease.place} in the queue of the pool; " if lease.place else ""
    return Word("GPUsAwaited", f"{place}{lease.reason or 'the pool has yet to look at it'}")


class Teller:
    """Writes conditions of pods where they differ, and says what is new by an event."""

    def __init__(self, api: API, recorder: Recorder, pods: Store[PooledPod]) -> None:
        self._api = api
        self._recorder = recorder
        self._pods = pods
        self._told_at: dict[str, float] = {}

    async def tell(self, pod: PooledPod, word: Word) -> None:
        about, now = pod.metadata, time.time()
        known = next((each for each in pod.status.conditions if each.type == GPU_LEASE), None)
        message = word.message[:LONGEST_MESSAGE]
        if known is not None and known.reason == word.reason:
            lately = now - self._told_at.get(about.uid, 0.0) < RETELL_SECONDS
            if known.message == message or lately:
                return
        self._told_at[about.uid] = now
        status = "True" if word.lent else "False"
        condition = {"type": GPU_LEASE, "status": status, "reason": word.reason, "message": message}
        if known is None or known.status != status:
            condition["lastTransitionTime"] = format_time(now)
        patch = {"metadata": {"uid": about.uid}, "status": {"conditions": [condition]}}
        try:
            stored = await self._api.patch(POOLED_PODS, about.namespace, about.name, patch, "status", strategic=True)
        except NotFoundError:
            return
        self._pods.wrote(stored)
        if known is None or known.reason != word.reason:
            say = self._recorder.warning if word.warning else self._recorder.normal
            say(pod, word.reason, message)

    def forget(self, uid: str) -> None:
        self._told_at.pop(uid, None)
