"""What the API server writes into a TFJob that leaves it out, so that others who read the object find it.

Autoscalers, `kubectl get` and Kueue look for `tfReplicaSpecs.Worker.replicas`, in whatever case users write the role.
Shoal itself reads all the same, and a default that only Shoal reads is not written: what is stored is what users wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.resources.roles import ReplicaType

DEFAULT_REPLICAS = 1


def default_roles(specs: Any, stored: Any = None) -> Any:
    """`tfReplicaSpecs` under Kubeflow's spelling of the roles, and with `replicas`. `stored` are those before an edit.

    Whatever is faulty is handed on as it is, for validation to speak of.
    """
    if not isinstance(specs, Mapping):
        return specs
    spelt: dict[str, Any] = {}
    for key in sorted(specs, key=lambda key: _is_edit(key, stored)):
        name = _spelling(key)
        if name in spelt and not _is_edit(key, stored):
            return specs  # a role that is written twice
        spelt[name] = _merged(spelt.get(name), specs[key])
    return {name: _counted(spec) for name, spec in spelt.items()}


def _spelling(key: str) -> str:
    kind = ReplicaType.parse(key)
    return key if kind is None else kind.value


def _is_edit(key: str, stored: Any) -> bool:
    """Whether the key is a user's spelling of a role that is stored under Kubeflow's: a manifest applied again."""
    return isinstance(stored, Mapping) and key not in stored and _spelling(key) in stored


def _merged(stored: Any, written: Any) -> Any:
    """What was applied again, on top of what others, such as Kueue, have added since."""
    if not (isinstance(stored, Mapping) and isinstance(written, Mapping)):
        return written
    return {**stored, **{key: _merged(stored.get(key), value) for key, value in written.items()}}


def _counted(spec: Any) -> Any:
    if not isinstance(spec, Mapping) or spec.get("replicas") is not None:
        return spec
    return {**spec, "replicas": DEFAULT_REPLICAS}
