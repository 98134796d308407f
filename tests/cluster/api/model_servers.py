"""ModelServers for tests of the operator, whose pods pretend to serve."""

from __future__ import annotations

from typing import Any

from tests.cluster.kubectl import Kubectl
from tests.cluster.pods import annotations

SERVER = "modelservers.v1.shoal.dev"


def model_server(name: str, script: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A server of one model that lies elsewhere; `script` is what its pods do, as {"ready_after": "1s"}."""
    models = [{"name": "digits", "basePath": "s3://bucket/digits"}]
    if script:
        spec = {"template": {"metadata": {"annotations": annotations(**script)}}, **spec}
    return {
        "apiVersion": "shoal.dev/v1",
        "kind": "ModelServer",
        "metadata": {"name": name},
        "spec": {"models": models, **spec},
    }


def wait_for_server(namespace: Kubectl, name: str, phase: str, generation: int = 1, timeout: float = 30) -> Any:
    """The server once it is in `phase`, and the operator has seen this generation of it."""

    def there(found: Any) -> bool:
        status = found.get("status", {})
        return status.get("phase") == phase and status.get("observedGeneration", 0) >= generation

    return namespace.wait_for(f"{SERVER}/{name}", there, timeout)
