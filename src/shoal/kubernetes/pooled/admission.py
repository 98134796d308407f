"""What the webhook answers to a pod that is created: with a gate and a label, if it asks for GPUs of the pool."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from typing import Any

from shoal.kubernetes.pooled.asked import Asked, AskedError, asked
from shoal.kubernetes.pooled.gate import GATE, POOLED_LABEL, environment, lifted, secret_name
from shoal.kubernetes.webhook.review import Decide, patched, refused

Object = dict[str, Any]

PATH = "/gpu"


def gate_for(resources: Collection[str]) -> Decide:
    """For GPUs of these names."""

    def decide(pod: Object, stored: Object | None) -> Object:
        if stored is not None:
            return {}  # gates can only be put on a pod that is new
        spec, about = pod.get("spec") or {}, pod.get("metadata") or {}
        try:
            wanted = asked(about.get("annotations") or {}, spec, resources)
            return patched(_patch(about, spec, wanted)) if wanted else {}
        except AskedError as fault:
            return refused(str(fault))

    return decide


def _patch(about: Object, spec: Object, wanted: Asked) -> list[Object]:
    if spec.get("nodeName"):
        raise AskedError(
            "spec.nodeName: a pod on a node cannot wait for GPUs of the pool; leave the node to the scheduler"
        )
    secret = secret_name(str(about.get("name") or about.get("generateName") or ""), secrets.token_hex(8))
    changed: list[tuple[str, object]] = [
        ("/metadata/labels", {**(about.get("labels") or {}), POOLED_LABEL: "true"}),
        ("/spec/schedulingGates", [*lifted(spec), {"name": GATE}]),
        *(
            (f"/spec/containers/{each.index}/env", environment(spec["containers"][each.index], secret))
            for each in wanted.containers
        ),
    ]
    return [{"op": "add", "path": path, "value": value} for path, value in changed]
