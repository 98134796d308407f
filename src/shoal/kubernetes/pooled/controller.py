"""Asks the pool for what waits at the gate, lets through who has got it, and gives back what nobody uses any more.

Each pass starts from the pods that are there and from what the broker says of their leases; tokens follow from the uids
of the pods. So an operator that starts finds the leases of its predecessor, and what it does twice changes nothing. A
lease that no operator speaks for is ended by the broker after a while: none is left behind.

Two loops: one keeps the leases by one request for all of them, which is answered as soon as there are news; the other
looks at the pods, some of which may be slow to write.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import time
from dataclasses import dataclass
from functools import partial

import structlog

from shoal.kubernetes.gpu_names import GPUNames
from shoal.kubernetes.operator.api import (
    API,
    AlreadyExistsError,
    APIError,
    ConflictError,
    NotFoundError,
    NotLeaderError,
    Object,
    UnreachableError,
)
from shoal.kubernetes.operator.caches import Caches, JobKey
from shoal.kubernetes.operator.concurrently import concurrently
from shoal.kubernetes.operator.events import Recorder
from shoal.kubernetes.operator.kinds import POOLED_PODS
from shoal.kubernetes.operator.reflector import Reflector
from shoal.kubernetes.operator.store import Store
from shoal.kubernetes.operator.views import PooledPod
from shoal.kubernetes.pooled.broker import (
    MOST_RENEWED,
    WAIT_SECONDS,
    Broker,
    BrokerAway,
    BrokerRefused,
    Lease,
    PoolSettings,
    hashed,
)
from shoal.kubernetes.pooled.gangs import Gangs
from shoal.kubernetes.pooled.gate import LEASE_ANNOTATION, POOLED_LABEL, lifted, numbered
from shoal.kubernetes.pooled.telling import Teller, Word, lent, queued
from shoal.kubernetes.pooled.units import Member, Unit, units
from shoal.kubernetes.webhook.views import SECRETS

GATHER_SECONDS = 0.2
"""News are gathered for so long, which bounds how often the broker is asked."""

LOOK_SECONDS = 2.0
"""How often is looked at what waits, although nothing was heard of it."""

RETRY_SECONDS = {403: 30.0, 422: 30.0, 429: 10.0}
"""When one that was refused is asked for again: quotas change, and annotations do."""

OTHERWISE_SECONDS = 10.0
AWAY_SECONDS = 1.0
"""Nobody asks for so long once no broker has answered: each that waits would wait for its time to connect."""

AT_ONCE = 8

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Kept:
    """What is known of a unit's lease. It may be lost at any time, and is found again."""

    token: str
    job: JobKey | None = None
    looked: bool = False
    """Whether the broker has said if there is a lease."""
    lease: Lease | None = None
    retry_at: float = 0.0
    problem: Word | None = None

    @property
    def live(self) -> Lease | None:
        return self.lease if self.lease and self.lease.live else None


class PooledPods:
    """Runs until it is cancelled, or until nothing may be written any more (NotLeaderError)."""

    def __init__(
        self,
        api: API,
        caches: Caches,
        recorder: Recorder,
        settings: PoolSettings,
        namespace: str | None,
        gpus: GPUNames,
    ) -> None:
        self._api = api
        self._settings = settings
        self._broker = Broker(settings)
        self._pods: Store[PooledPod] = Store()
        self._reflector = Reflector(api, POOLED_PODS, self._pods, namespace, f"{POOLED_LABEL}=true")
        self._gangs = Gangs(caches, gpus, settings.resources)
        self._teller = Teller(api, recorder, self._pods)
        self._kept: dict[str, _Kept] = {}
        self._news = asyncio.Event()
        self._other_leases = asyncio.Event()
        self._away: Word | None = None
        self._ask_from = 0.0

    async def run(self) -> None:
        self._pods.listen(self._on_pod)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._reflector.run())
                await self._reflector.synced.wait()
                tasks.create_task(self._keep())
                tasks.create_task(self._look())
        finally:
            await self._broker.close()

    def _on_pod(self, before: PooledPod | None, after: PooledPod | None) -> None:
        if after is None and before is not None:
            self._teller.forget(before.metadata.uid)
        self._news.set()

    # --- keeping leases ---------------------------------------------------------------------------

    async def _keep(self) -> None:
        """Renew all that is kept, and hear of it."""
        while True:
            self._other_leases.clear()
            renewing = asyncio.create_task(self._renew())
            changed = asyncio.create_task(self._other_leases.wait())
            await asyncio.wait((renewing, changed), return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            if not renewing.done():
                renewing.cancel()
                await asyncio.wait((renewing,))
            elif fault := renewing.exception():
                raise fault
            await asyncio.sleep(GATHER_SECONDS)

    async def _renew(self) -> None:
        by_hash = {hashed(kept.token): key for key, kept in self._kept.items() if kept.live or not kept.looked}
        if not by_hash:
            await self._other_leases.wait()
            return
        parts = [by_hash] if len(by_hash) <= MOST_RENEWED else _parts(by_hash)
        for part in parts:
            known = {hash: kept.lease.state if (kept := self._kept[key]).lease else None for hash, key in part.items()}
            try:
                # Of several parts none may keep the others waiting.
                renewed = await self._broker.renew(known, WAIT_SECONDS if len(parts) == 1 else 0.0)
            except (BrokerAway, BrokerRefused) as fault:
                self._note_away(fault)
                await asyncio.sleep(AWAY_SECONDS)
                return
            self._away = None
            for hash, lease in renewed.leases.items():
                self._note(part[hash], lease)
            if not renewed.settling:
                for hash in renewed.unknown:
                    self._note(part[hash], None)
        if len(parts) > 1:
            await asyncio.sleep(1.0)

    def _note(self, key: str, lease: Lease | None) -> None:
        kept = self._kept.get(key)
        if kept is None:
            return
        if not kept.looked or kept.lease != lease:
            self._news.set()
        kept.looked, kept.lease = True, lease

    def _note_away(self, fault: Exception) -> None:
        if self._away is None:
            log.warning("the pool cannot be asked", broker=self._settings.url, fault=str(fault))
            self._news.set()
        self._away = Word("PoolUnreachable", str(fault), warning=True)

    # --- looking at pods --------------------------------------------------------------------------

    async def _look(self) -> None:
        while True:
            self._news.clear()
            try:
                await self._pass()
            except NotLeaderError:
                raise
            except ConflictError as fault:
                log.debug("again, on newer objects", fault=str(fault))
            except (APIError, UnreachableError) as fault:
                log.warning("cannot do all for pods that wait for GPUs now", fault=str(fault))
                await asyncio.sleep(1.0)
            except Exception:
                log.exception("a fault in the operator")
                await asyncio.sleep(1.0)
            await asyncio.sleep(GATHER_SECONDS)
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                continue

    async def _pass(self) -> None:
        running = {key: len(kept.live.shares) for key, kept in self._kept.items() if kept.live and kept.live.running}
        found = units(self._pods.all(), self._settings.resources, self._gangs.of, running)
        await self._give_back({unit.key for unit in found.units})
        for unit in found.units:
            if unit.key not in self._kept:
                self._remember(unit)
        await concurrently((partial(self._ask, unit) for unit in found.units), AT_ONCE)
        tellings = [partial(self._teller.tell, pod, Word("Invalid", told, warning=True)) for pod, told in found.faults]
        await concurrently(itertools.chain(tellings, (partial(self._serve, unit) for unit in found.units)), AT_ONCE)

    def _remember(self, unit: Unit) -> None:
        job = next((self._gangs.job_of(member.pod) for member in unit.members if member.pod), None)
        kept = self._kept[unit.key] = _Kept(self._broker.token(unit.key), job)
        if not any(member.runs for member in unit.members):
            kept.looked = True  # asking tells as much
        self._other_leases.set()

    async def _give_back(self, alive: set[str]) -> None:
        """Release what no pod uses. A job that goes on keeps what it has while its pods are replaced."""
        for key, kept in list(self._kept.items()):
            if key in alive or (kept.job is not None and self._gangs.goes_on(kept.job, key)):
                continue
            del self._kept[key]
            if kept.live:
                log.info("giving GPUs back", lease=kept.live.id)
                try:
                    await self._broker.release(kept.live.id)
                except (BrokerAway, BrokerRefused) as fault:
                    log.info("a lease will expire", lease=kept.live.id, fault=str(fault))

    async def _ask(self, unit: Unit) -> None:
        kept, now = self._kept[unit.key], time.monotonic()
        if kept.live or not kept.looked or not unit.waiting or unit.missing:
            return
        if now < max(kept.retry_at, self._ask_from):
            return
        try:
            kept.lease = await self._broker.ask(kept.token, unit.requests)
        except BrokerAway as fault:
            self._note_away(fault)
            self._ask_from = time.monotonic() + AWAY_SECONDS
        except BrokerRefused as fault:
            self._away = None
            kept.problem = Word("GPUsRefused", str(fault), warning=True)
            kept.retry_at = now + RETRY_SECONDS.get(fault.code, OTHERWISE_SECONDS)
        else:
            self._away, kept.problem = None, None
            self._other_leases.set()

    async def _serve(self, unit: Unit) -> None:
        """Let its pods through, or tell them why they wait; and tell those whose lease is gone."""
        kept, waiting = self._kept[unit.key], unit.waiting
        lease = kept.live
        if lease is not None and lease.running:
            await concurrently((partial(self._write_secret, each, kept.token, lease) for each in waiting), AT_ONCE)
            await concurrently((partial(self._lift, each, lease) for each in waiting), AT_ONCE)
        else:
            word = self._why(unit, kept)
            if word is not None:
                tell = (partial(self._teller.tell, each.pod, word) for each in waiting if each.pod)
                await concurrently(tell, AT_ONCE)
        if kept.looked:
            for each in unit.members:
                await self._end_if_lost(each, lease)

    def _why(self, unit: Unit, kept: _Kept) -> Word | None:
        if kept.live:
            return self._away or queued(kept.live)
        if unit.missing:
            there = len(unit.members) - len(unit.missing)
            return Word(
                "GangIncomplete", f"{there} of the {len(unit.members)} pods of the job that ask for GPUs are there"
            )
        return self._away or kept.problem

    async def _write_secret(self, member: Member, token: str, lease: Lease) -> None:
        """Created, never written over: the right to read or change Secrets is not asked for."""
        pod, name = member.pod, member.secret
        if pod is None or name is None:
            return
        secret = _secret(pod, name, member, token, lease)
        about = pod.metadata
        try:
            await self._api.create(SECRETS, secret)
        except AlreadyExistsError:  # by an operator that ended before it lifted the gate, for another lease perhaps
            await self._api.delete(SECRETS, about.namespace, name)
            await self._api.create(SECRETS, secret)

    async def _lift(self, member: Member, lease: Lease) -> None:
        pod = member.pod
        if pod is None:
            return
        if member.secret is None:
            problem = "its environment names no Secret of ours: the webhook has not seen it; create it anew"
            await self._teller.tell(pod, Word("Invalid", problem, warning=True))
            return
        about = pod.metadata
        patch = {
            "metadata": {"resourceVersion": about.resource_version, "annotations": {LEASE_ANNOTATION: lease.id}},
            "spec": {"schedulingGates": lifted(pod.spec) or None},
        }
        try:
            stored = await self._api.patch(POOLED_PODS, about.namespace, about.name, patch)
        except NotFoundError:
            return
        self._pods.wrote(stored)
        await self._teller.tell(stored, lent(lease))

    async def _end_if_lost(self, member: Member, lease: Lease | None) -> None:
        """One whose lease is gone cannot get another: its environment is fixed. What has an owner is made again."""
        pod = member.pod
        if pod is None or not member.runs or pod.metadata.deletion_timestamp is not None:
            return
        had = pod.metadata.annotations.get(LEASE_ANNOTATION)
        if had is None or (lease is not None and lease.id == had):
            return
        owner = pod.metadata.controller
        then = f"; it is deleted, for its {owner.kind} to make it again" if owner else "; create it anew"
        await self._teller.tell(pod, Word("GPUsLost", f"{had} has ended{then}", warning=True))
        if owner is not None:
            about = pod.metadata
            try:
                await self._api.delete(POOLED_PODS, about.namespace, about.name, uid=about.uid)
            except NotFoundError:
                return


def _secret(pod: PooledPod, name: str, member: Member, token: str, lease: Lease) -> Object:
    about = pod.metadata
    served = numbered([(share.host, share.address) for share in lease.shares])
    content, first = {"lease": lease.id, "token": token}, member.first
    for container in member.asked.containers:
        part = served[first : first + container.gpus]
        content[f"{container.name}.servers"] = ",".join(address for address, _ in part)
        content[f"{container.name}.numbers"] = ",".join(number for _, number in part)
        first += container.gpus
    owner = {"apiVersion": "v1", "kind": "Pod", "name": about.name, "uid": about.uid, "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {"name": name, "namespace": about.namespace, "ownerReferences": [owner]},
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in content.items()},
    }


def _parts(by_hash: dict[str, str]) -> list[dict[str, str]]:
    items = list(by_hash.items())
    return [dict(items[i : i + MOST_RENEWED]) for i in range(0, len(items), MOST_RENEWED)]
