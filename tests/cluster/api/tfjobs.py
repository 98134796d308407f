"""TFJobs for tests of the operator, whose pods do what the fake kubelet reads from their annotations."""

from __future__ import annotations

from typing import Any

from tests.cluster.kubectl import Kubectl
from tests.cluster.pods import annotations, container
from tests.cluster.waiting import wait_until

KIND = "tfjobs.v1.shoal.dev"
SCRIPT = "fake-kubelet.shoal.dev/"


def role(replicas: int = 1, restart: str = "OnFailure", **script: str) -> dict[str, Any]:
    """Replicas of one role; `script` is what their containers do, as exit="0@1s"."""
    template = {"metadata": {"annotations": annotations(**script)}, "spec": {"containers": [container("tensorflow")]}}
    return {"replicas": replicas, "restartPolicy": restart, "template": template}


def tfjob(
    name: str, run_policy: dict[str, Any] | None = None, api: str = "shoal.dev/v1", **roles: Any
) -> dict[str, Any]:
    """`tfjob("train", Chief=role(exit="0@1s"), PS=role())`; lower-case keywords are fields of the spec."""
    spec = {key: roles.pop(key) for key in list(roles) if key[0].islower()}
    return {
        "apiVersion": api,
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {"tfReplicaSpecs": roles, "runPolicy": run_policy or {}, **spec},
    }


def wait_for_phase(namespace: Kubectl, name: str, phase: str, timeout: float = 30, kind: str = KIND) -> dict[str, Any]:
    """The job once it is in `phase`."""

    def there(found: Any) -> bool:
        return bool(found.get("status", {}).get("phase") == phase)

    job: dict[str, Any] = namespace.wait_for(f"{kind}/{name}", there, timeout)
    return job


def wait_for_attempt(namespace: Kubectl, pod: str, attempt: int, timeout: float = 30) -> dict[str, Any]:
    """The pod once this attempt of it runs."""

    def runs(found: Any) -> bool:
        given = found["metadata"]["labels"].get("shoal.dev/attempt")
        return bool(given == str(attempt) and found["status"].get("phase") == "Running")

    found: dict[str, Any] = namespace.wait_for(f"pod/{pod}", runs, timeout)
    return found


def tell(namespace: Kubectl, pod: str, **script: str) -> None:
    """Have a running pod do something: tell(ns, "job-worker-0", exit="137@0s")."""
    words = [f"{name}={text}" for name, text in annotations(**script).items()]
    namespace("annotate", "--overwrite", f"pod/{pod}", *words)


def names(namespace: Kubectl, kind: str) -> set[str]:
    """The names of all objects of a kind, but for those that every namespace has."""
    found = {each["metadata"]["name"] for each in namespace.json("get", kind)["items"]}
    return found - {"kube-root-ca.crt"}


def wait_until_nothing_is_left(namespace: Kubectl, timeout: float = 60) -> None:
    def left() -> set[str]:
        return names(namespace, "pods,services,configmaps,persistentvolumeclaims")

    wait_until(lambda: not left(), timeout, lambda: f"the end of {left()}")


def reasons(namespace: Kubectl, name: str) -> list[str]:
    """Reasons of the events about a job."""
    events = namespace.json("get", "events.events.k8s.io")["items"]
    return [each["reason"] for each in events if each["regarding"]["name"] == name]
