"""Tenants as an administrator makes and removes them. Each step looks at what is there, so whatever was interrupted
is finished by the same command given again."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from shoal.kubernetes.client.connection import Connection
from shoal.kubernetes.operator.api import NotFoundError, Object
from shoal.kubernetes.operator.kinds import CLAIMS, JOBS, PODS, SERVERS, Kind
from shoal.kubernetes.tenants.difference import differences
from shoal.kubernetes.tenants.kinds import NAMESPACES, POLICIES, POLICY_BINDINGS, SECRETS, Stored, kind_of
from shoal.kubernetes.tenants.names import MANAGER, POOL_SECRET, TENANT, cluster_name, metadata
from shoal.kubernetes.tenants.objects import tenant_objects
from shoal.resources.tenant import Tenant
from shoal.runs import RunError

GONE_SECONDS = 120.0
"""How long a namespace may take to be gone: its pods get their time to end."""

_WITHIN: tuple[Kind[Any], ...] = (*JOBS.values(), SERVERS, PODS, CLAIMS, SECRETS)
"""What of a namespace is counted before it is deleted."""


@dataclass(frozen=True, slots=True)
class Change:
    """One object: `new`, or what of it differs now."""

    object: str
    new: bool = False
    differs: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Removal:
    """What goes with a tenant: how many objects of each kind are in its namespace, and what is beyond it."""

    tenant: str
    inside: dict[str, int]
    beyond: list[str]


class Administration:
    """The tenants of one cluster."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._client = connection.client

    def create(self, tenant: Tenant) -> list[Change]:
        """Bring it about; what is there as it should be is left alone. Raises RunError where the namespace is
        somebody's already."""
        return self._connection.run(self._create(tenant))

    def removal(self, name: str) -> Removal:
        """What `remove` would delete. Raises RunError where there is no such tenant."""
        return self._connection.run(self._removal(name))

    def remove(self, name: str) -> None:
        """Delete the namespace with all that is in it, wait until it is gone, and delete the rest."""
        self._connection.run(self._remove(name))

    def pool_token(self, tenant: str) -> str | None:
        """The token for the pool that the tenant has, if it has one."""
        return self._connection.run(self._pool_token(tenant))

    def give_pool(self, tenant: Tenant, token: str, broker: str, authority: str) -> list[Change]:
        """Put into the tenant's namespace by what it reaches the pool."""
        held = {"token": token, "broker": broker, **({"ca.crt": authority} if authority else {})}
        data = {key: base64.b64encode(text.encode()).decode() for key, text in held.items()}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata(tenant, POOL_SECRET), "type": "Opaque"}
        return self._connection.run(self._apply({**secret, "data": data}))

    async def _create(self, tenant: Tenant) -> list[Change]:
        stored = await self._find(NAMESPACES, None, tenant.name)
        if stored is not None and stored.metadata.labels.get(TENANT) != tenant.name:
            raise RunError(
                f"the namespace {tenant.name} is there, and is no tenant's",
                f"choose another name, or give it to the tenant: kubectl label namespace {tenant.name} "
                f"{TENANT}={tenant.name}",
            )
        if stored is not None and stored.metadata.deletion_timestamp is not None:
            raise RunError(f"tenant {tenant.name} is being deleted", "wait until its namespace is gone")
        if not any(kind.name == POLICIES.name for kind in await self._client.kinds(POLICIES.api_version)):
            raise RunError(
                "the cluster has no policies of admission, which keep tenants from each other's NFS exports",
                "it takes Kubernetes 1.30 or later",
            )
        return [change for each in tenant_objects(tenant) for change in await self._apply(each)]

    async def _apply(self, wanted: Object) -> list[Change]:
        kind, about = kind_of(wanted), wanted["metadata"]
        called = f"{kind.name.lower()}/{about['name']}"
        before = await self._find(kind, about.get("namespace"), about["name"])
        after = await self._client.apply(kind, wanted, manager=MANAGER)
        if before is None:
            return [Change(called, new=True)]
        told = differences(before, after)
        return [Change(called, differs=told)] if told else []

    async def _removal(self, name: str) -> Removal:
        beyond = [
            f"{kind.name.lower()}/{each.metadata.name}"
            for kind in (POLICY_BINDINGS, POLICIES)
            for each in (await self._client.list(kind, selector=f"{TENANT}={name}"))[0]
        ]
        stored = await self._find(NAMESPACES, None, name)
        if stored is not None and stored.metadata.labels.get(TENANT) != name:
            raise RunError(f"the namespace {name} is no tenant's", "`shoal tenant list` shows who is")
        if stored is None:
            if not beyond:
                raise RunError(f"there is no tenant {name!r}", "`shoal tenant list` shows which there are")
            return Removal(name, {}, beyond)
        inside: dict[str, int] = {}
        for kind in _WITHIN:
            if number := await self._count(kind, name):
                inside[kind.plural] = inside.get(kind.plural, 0) + number
        return Removal(name, inside, [f"namespace/{name}", *beyond])

    async def _count(self, kind: Kind[Any], namespace: str) -> int:
        try:
            return len((await self._client.list(kind, namespace))[0])
        except NotFoundError:  # the cluster does not know the kind
            return 0

    async def _remove(self, name: str) -> None:
        removal = await self._removal(name)
        if f"namespace/{name}" in removal.beyond:
            await self._delete(NAMESPACES, name)
            async for _ in _until(time.monotonic() + GONE_SECONDS):
                if await self._find(NAMESPACES, None, name) is None:
                    break
            else:
                raise RunError(
                    f"the namespace {name} is not gone after {GONE_SECONDS:.0f} s",
                    f"`kubectl get namespace {name} -o yaml` says what keeps it; then give the command again",
                )
        # Last, so that nothing that is left in the namespace is ever without them.
        for kind in (POLICY_BINDINGS, POLICIES):
            await self._delete(kind, cluster_name(name))

    async def _delete(self, kind: Kind[Stored], name: str) -> None:
        try:
            await self._client.delete(kind, None, name)
        except NotFoundError:
            return

    async def _pool_token(self, tenant: str) -> str | None:
        secret = await self._find(SECRETS, tenant, POOL_SECRET)
        token = (secret.data or {}).get("token") if secret else None
        return base64.b64decode(token).decode() if token else None

    async def _find(self, kind: Kind[Stored], namespace: str | None, name: str) -> Stored | None:
        try:
            return await self._client.get(kind, namespace, name)
        except NotFoundError:
            return None


async def _until(end: float) -> AsyncIterator[None]:
    while time.monotonic() < end:
        yield
        await asyncio.sleep(0.5)
