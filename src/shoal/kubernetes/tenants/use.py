"""What tenants use of what they are granted, as their ResourceQuotas tell. A member may ask for its own."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from shoal.kubernetes.client.connection import Connection
from shoal.kubernetes.operator.api import APIError, NotFoundError
from shoal.kubernetes.tenants.kinds import QUOTAS, ROLE_BINDINGS, Stored
from shoal.kubernetes.tenants.names import OBJECT, TENANT
from shoal.resources.quantity import parse_quantity
from shoal.runs import RunError

SHOWN = {"requests.cpu": "cpu", "requests.memory": "memory", "pods": "pods", "requests.storage": "storage"}
"""What of a quota is shown, under which name, beside GPUs."""


@dataclass(frozen=True, slots=True)
class Use:
    """`used` of `granted`, both as Kubernetes writes them."""

    resource: str
    used: str
    granted: str

    @property
    def share(self) -> float:
        """Of what is granted; 0 where nothing is."""
        granted = parse_quantity(self.granted)
        return float(parse_quantity(self.used) / granted) if granted else 0.0


@dataclass(frozen=True, slots=True)
class TenantUse:
    """`members` is None where who asks may not know them."""

    name: str
    uses: list[Use]
    members: list[str] | None = None


def all_tenants(connection: Connection) -> list[TenantUse]:
    """By name. Takes the right to list quotas in all namespaces."""
    found, _ = connection.run(connection.client.list(QUOTAS, selector=TENANT))
    return sorted((_use(each) for each in found if each.metadata.name == OBJECT), key=lambda each: each.name)


def one_tenant(connection: Connection, name: str) -> TenantUse:
    """Raises RunError where there is none."""
    return connection.run(_one(connection, name))


async def _one(connection: Connection, name: str) -> TenantUse:
    client = connection.client
    try:
        use = _use(await client.get(QUOTAS, name, OBJECT))
    except NotFoundError:
        raise RunError(f"there is no tenant {name!r}", "`shoal tenant list` shows which there are") from None
    try:
        binding = await client.get(ROLE_BINDINGS, name, OBJECT)
    except NotFoundError:
        return use
    except APIError as fault:
        if fault.code != 403:
            raise
        return use
    return TenantUse(use.name, use.uses, [str(each["name"]) for each in binding.subjects or []])


def _use(quota: Stored) -> TenantUse:
    """What is granted stands in the spec from the start, what is used a moment later in the status."""
    hard: dict[str, str] = quota.spec.get("hard", {})
    used: dict[str, str] = quota.status.get("used", {})
    uses = []
    for resource, granted in hard.items():
        called = SHOWN.get(resource) or (resource.removeprefix("requests.") if "/" in resource else None)
        if called and ("/" not in called or parse_quantity(granted) > Decimal(0)):
            uses.append(Use(called, str(used.get(resource, "0")), str(granted)))
    return TenantUse(quota.metadata.labels[TENANT], uses)
