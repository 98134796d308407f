"""Asks the pool for what waits at the gate, lets through who has got it, and gives back what nobody uses any more.

Each pass starts from the pods that are there and from what the broker says of their leases; tokens follow from the uids
of the pods. So an operator that starts finds the leases of its predecessor, and what it does twice changes nothing. A
lease that no operator speaks for is ended by the broker after a while: none is left behind.

Each tenant's leases are kept by a loop of their own (`leases`); another looks at the pods, some of which may be slow to
write.
"""

from __future__ import annotations

import asyncio
import base64
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
from shoal.kubernetes.operator.caches import Caches
from shoal.kubernetes.operator.concurrently import concurrently
from shoal.kubernetes.operator.events import Recorder
from shoal.kubernetes.operator.kinds import POOLED_PODS, SECRETS
from shoal.kubernetes.operator.reflector import Reflector
from shoal.kubernetes.operator.store import Store
from shoal.kubernetes.operator.views import PooledPod
from shoal.kubernetes.pooled.bearers import Bearers, NoToken
from shoal.kubernetes.pooled.broker import Broker, Lease, PoolSettings, hashed
from shoal.kubernetes.pooled.gangs import Gangs
from shoal.kubernetes.pooled.gate import LEASE_ANNOTATION, POOLED_LABEL, SERVERS_ANNOTATION, lifted, numbered
from shoal.kubernetes.pooled.leases import GATHER_SECONDS, Kept, Leases
from shoal.kubernetes.pooled.telling import Teller, Word, lent, moved, queued
from shoal.kubernetes.pooled.units import Member, Unit, units

LOOK_SECONDS = 2.0
"""How often is looked at what waits, although nothing was heard of it."""

AT_ONCE = 8

log = structlog.get_logger(__name__)


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
        self._resources = settings.resources
        self._broker = Broker(settings)
        self._bearers = Bearers(api)
        self._pods: Store[PooledPod] = Store()
        self._reflector = Reflector(api, POOLED_PODS, self._pods, namespace, f"{POOLED_LABEL}=true")
        self._gangs = Gangs(caches, gpus, settings.resources)
        self._teller = Teller(api, recorder, self._pods)
        self._news = asyncio.Event()
        self._own = Leases(self._broker, settings.token, self._news)
        self._of_tenants: dict[str, Leases] = {}
        self._keeping: dict[str, asyncio.Task[None]] = {}
        """By namespaces."""

    async def run(self) -> None:
        self._pods.listen(self._on_pod)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._reflector.run())
                await self._reflector.synced.wait()
                tasks.create_task(self._own.keep())
                tasks.create_task(self._look(tasks))
        finally:
            await self._broker.close()

    def _on_pod(self, before: PooledPod | None, after: PooledPod | None) -> None:
        if after is None and before is not None:
            self._teller.forget(before.metadata.uid)
        self._news.set()

    async def _look(self, tasks: asyncio.TaskGroup) -> None:
        while True:
            self._news.clear()
            try:
                await self._pass(tasks)
            except NotLeaderError:
                raise
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

    async def _pass(self, tasks: asyncio.TaskGroup) -> None:
        kept = {key: each for leases in self._all for key, each in leases.kept.items()}
        running = {key: len(each.live.shares) for key, each in kept.items() if each.live and each.live.running}
        found = units(self._pods.all(), self._resources, self._gangs.of, running)
        await self._give_back({unit.key for unit in found.units})
        for pod, told in found.faults:
            await self._teller.tell(pod, Word("Invalid", told, warning=True))
        served: list[tuple[Unit, Leases]] = []
        for unit in found.units:
            try:
                leases = await self._leases_of(unit, tasks)
            except NoToken as fault:
                await self._tell(unit, Word("GPUsRefused", str(fault), warning=True))
                continue
            if unit.key not in leases.kept:
                job = next((self._gangs.job_of(member.pod) for member in unit.members if member.pod), None)
                # Where no pod runs yet, asking tells as much.
                leases.remember(unit.key, job, looked=not any(member.runs for member in unit.members))
            served.append((unit, leases))
        self._forget_tenants({unit.namespace for unit in found.units})
        await concurrently((partial(self._ask, unit, leases) for unit, leases in served), AT_ONCE)
        await concurrently((partial(self._serve, unit, leases) for unit, leases in served), AT_ONCE)

    @property
    def _all(self) -> list[Leases]:
        return [self._own, *self._of_tenants.values()]

    async def _leases_of(self, unit: Unit, tasks: asyncio.TaskGroup) -> Leases:
        """Those in whose name the unit asks: once it has asked, the same for ever. Raises NoToken."""
        namespace = unit.namespace
        there = self._of_tenants.get(namespace)
        known = next((each for each in (self._own, there) if each and unit.key in each.kept), None)
        try:
            token = await self._bearers.of(namespace)
        except NoToken:
            if known:
                return known
            raise
        if token is None:
            return known or self._own
        if there is None:
            there = self._of_tenants[namespace] = Leases(self._broker, token, self._news)
            self._keeping[namespace] = tasks.create_task(there.keep())
        there.bearer = token
        return known or there

    def _forget_tenants(self, asking: set[str]) -> None:
        self._bearers.keep(asking)
        for namespace in self._of_tenants.keys() - asking:
            if not self._of_tenants[namespace].kept:
                del self._of_tenants[namespace]
                self._keeping.pop(namespace).cancel()

    async def _give_back(self, alive: set[str]) -> None:
        """Release what no pod uses. A job that goes on keeps what it has while its pods are replaced."""
        for leases in self._all:
            for key, kept in list(leases.kept.items()):
                if key not in alive and not (kept.job is not None and self._gangs.goes_on(kept.job, key)):
                    await leases.release(key)

    async def _ask(self, unit: Unit, leases: Leases) -> None:
        kept = leases.kept[unit.key]
        if not kept.live and kept.looked and unit.waiting and not unit.missing:
            await leases.ask(unit.key, unit.requests, unit.priority)

    async def _serve(self, unit: Unit, leases: Leases) -> None:
        """Whatever it cannot write of one unit must not keep the others waiting."""
        try:
            await self._let_through(unit, leases)
        except ConflictError as fault:
            log.debug("again, on newer objects", fault=str(fault))
            self._news.set()
        except APIError as fault:
            log.warning("cannot write", namespace=unit.namespace, unit=unit.key, fault=str(fault))

    async def _let_through(self, unit: Unit, leases: Leases) -> None:
        """Its pods, or tell them why they wait; and tell those whose lease is gone."""
        kept, waiting = leases.kept[unit.key], unit.waiting
        lease = kept.live
        if lease is not None and lease.served:
            await concurrently((partial(self._write_secret, each, kept.token, lease) for each in waiting), AT_ONCE)
            await concurrently((partial(self._lift, each, lease) for each in waiting), AT_ONCE)
            for each in unit.members:
                await self._move(each, kept.token, lease)
        elif word := _why(unit, kept, leases.away):
            await self._tell(unit, word)
        if kept.looked:
            for each in unit.members:
                await self._end_if_lost(each, lease)

    async def _tell(self, unit: Unit, word: Word) -> None:
        await concurrently((partial(self._teller.tell, each.pod, word) for each in unit.waiting if each.pod), AT_ONCE)

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
        except APIError as fault:  # a quota of Secrets, or a namespace that is going
            await self._teller.tell(pod, Word("SecretRefused", str(fault), warning=True))
            raise

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
            "metadata": {
                "resourceVersion": about.resource_version,
                "annotations": {LEASE_ANNOTATION: lease.id, SERVERS_ANNOTATION: _servers(member, lease)},
            },
            "spec": {"schedulingGates": lifted(pod.spec) or None},
        }
        try:
            stored = await self._api.patch(POOLED_PODS, about.namespace, about.name, patch)
        except NotFoundError:
            return
        self._pods.wrote(stored)
        await self._teller.tell(stored, lent(lease))

    async def _move(self, member: Member, token: str, lease: Lease) -> None:
        """An agent that was started again serves the same lease at other addresses: containers that start from now on
        find them."""
        pod, servers = member.pod, _servers(member, lease)
        if pod is None or not member.runs or pod.metadata.deletion_timestamp is not None:
            return
        about = pod.metadata
        if about.annotations.get(LEASE_ANNOTATION) != lease.id or about.annotations.get(SERVERS_ANNOTATION) == servers:
            return
        await self._write_secret(member, token, lease)
        patch = {"metadata": {"uid": about.uid, "annotations": {SERVERS_ANNOTATION: servers}}}
        try:
            stored = await self._api.patch(POOLED_PODS, about.namespace, about.name, patch)
        except NotFoundError:
            return
        self._pods.wrote(stored)
        await self._teller.tell(stored, moved(lease))

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


def _why(unit: Unit, kept: Kept, away: Word | None) -> Word | None:
    """What its pods wait for."""
    if kept.live:
        return away or queued(kept.live)
    if unit.missing:
        there = len(unit.members) - len(unit.missing)
        return Word("GangIncomplete", f"{there} of the {len(unit.members)} pods of the job that ask for GPUs are there")
    return away or kept.problem


def _served(member: Member, lease: Lease) -> list[tuple[str, str]]:
    """Of each of its GPUs the server's address, and the number there."""
    served = numbered([(share.host, share.address) for share in lease.shares])
    return served[member.first : member.first + member.asked.gpus]


def _servers(member: Member, lease: Lease) -> str:
    return hashed(" ".join(address for address, _ in _served(member, lease)))[:16]


def _secret(pod: PooledPod, name: str, member: Member, token: str, lease: Lease) -> Object:
    about = pod.metadata
    served = _served(member, lease)
    content, first = {"lease": lease.id, "token": token}, 0
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
