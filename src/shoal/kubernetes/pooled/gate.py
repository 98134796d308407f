"""The gate of a pod that waits for the pool, and the Secret by which it gets what was lent. PURE.

The Secret's name stands in the pod's own environment, which nobody can change after the pod was created: whoever may
edit a pod's labels and annotations cannot have the operator write into another Secret by it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.cuda.environment import LEASE, NUMBERS, SERVERS, TOKEN

Object = dict[str, Any]

GATE = "shoal.dev/gpu"
POOLED_LABEL = "shoal.dev/pooled-gpu"
"""Of every pod that had the gate; the operator watches these pods alone."""

LEASE_ANNOTATION = "shoal.dev/gpu-lease"
"""Written as the gate is lifted: the lease that the pod has."""

SERVERS_ANNOTATION = "shoal.dev/gpu-servers"
"""Written with it, and when it changes: by what the addresses in the pod's Secret are known again."""

_SECRET = re.compile(r"[a-z0-9.-]+-gpu-[0-9a-f]{16}")


def keys(container: str) -> dict[str, str]:
    """Environment of a container that asks, and which key of the Secret each is."""
    return {
        LEASE: "lease",
        TOKEN: "token",
        SERVERS: f"{container}.servers",
        NUMBERS: f"{container}.numbers",
    }


def environment(container: Mapping[str, Any], secret: str) -> list[Object]:
    """The container's environment, with the lease's from `secret`. What the pod says of these itself does not count."""
    own = keys(str(container["name"]))
    kept = [each for each in container.get("env") or [] if each.get("name") not in own]
    return [
        *kept,
        *({"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}} for name, key in own.items()),
    ]


def secret_name(pod: str, random: str) -> str:
    """For a pod of this name, or one whose name is to begin so; `random` is 16 hexadecimal digits."""
    return f"{pod[:200].strip('-.') or 'pod'}-gpu-{random}"


def secret_of(spec: Mapping[str, Any], container: int) -> str | None:
    """The name of the pod's Secret, as the environment of one of its containers has it; None where no webhook of ours
    has written it."""
    for each in spec["containers"][container].get("env") or []:
        if each.get("name") == LEASE:
            name = str(((each.get("valueFrom") or {}).get("secretKeyRef") or {}).get("name", ""))
            return name if _SECRET.fullmatch(name) else None
    return None


def gates(spec: Mapping[str, Any]) -> list[Object]:
    return list(spec.get("schedulingGates") or [])


def gated(spec: Mapping[str, Any]) -> bool:
    return any(each.get("name") == GATE for each in gates(spec))


def lifted(spec: Mapping[str, Any]) -> list[Object]:
    """The gates of others, which stay."""
    return [each for each in gates(spec) if each.get("name") != GATE]


def numbered(shares: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """From (host, address of the server) of each GPU of a lease: the address, and the GPU's number among those that
    this server serves."""
    served: dict[str, int] = {}
    found = []
    for host, address in shares:
        number = served.setdefault(host, 0)
        found.append((address, str(number)))
        served[host] += 1
    return found
