"""Objects as the API server would send them, in few words."""

from __future__ import annotations

from typing import Any

import msgspec

from shoal.kubernetes.operator.views import Job, Pod

JOB_UID = "uid-of-the-job"

PODS_LABELS = {"training.kubeflow.org/operator-name": "shoal", "training.kubeflow.org/job-name": "train"}


def time(second: int) -> str:
    return f"2026-01-01T00:00:{second:02d}Z"


def seconds(second: int) -> float:
    return 1767225600.0 + second


def container(state: dict[str, Any] | None = None, name: str = "tensorflow", restarts: int = 0) -> dict[str, Any]:
    return {"name": name, "restartCount": restarts, "state": state or {}}


def running(since: int = 1) -> dict[str, Any]:
    return {"running": {"startedAt": time(since)}}


def terminated(code: int, reason: str = "", at: int = 9, message: str = "") -> dict[str, Any]:
    reason = reason or ("Error" if code else "Completed")
    ended = {"exitCode": code, "reason": reason, "message": message, "startedAt": time(1), "finishedAt": time(at)}
    return {"terminated": ended}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


def condition(type: str, reason: str = "", message: str = "", status: str = "True", at: int = 5) -> dict[str, Any]:
    return {"type": type, "status": status, "reason": reason, "message": message, "lastTransitionTime": time(at)}


def pod(
    phase: str = "Running",
    *containers: dict[str, Any],
    name: str = "train-worker-0",
    version: int = 1,
    uid: str = "",
    restart: str = "Never",
    deleted_at: int | None = None,
    attempt: int = 0,
    labels: dict[str, str] | None = None,
    **status: Any,
) -> Pod:
    role, _, index = name.removeprefix("train-").rpartition("-")
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "default",
        "uid": uid or f"uid-of-{name}-{attempt}",
        "resourceVersion": str(version),
        "labels": {
            **PODS_LABELS,
            "training.kubeflow.org/replica-type": role,
            "training.kubeflow.org/replica-index": index,
            "shoal.dev/attempt": str(attempt),
            **(labels or {}),
        },
        "ownerReferences": [
            {"apiVersion": "shoal.dev/v1", "kind": "TFJob", "name": "train", "uid": JOB_UID, "controller": True}
        ],
    }
    if deleted_at is not None:
        metadata |= {"deletionTimestamp": time(deleted_at), "deletionGracePeriodSeconds": 3}
    found = {
        "metadata": metadata,
        "spec": {"restartPolicy": restart, "unknown": {"to": "us"}},
        "status": {"phase": phase, "containerStatuses": list(containers), **status},
    }
    return msgspec.convert(found, Pod)


def job(
    version: int = 1, name: str = "train", status: dict[str, Any] | None = None, restart: str = "ExitCode", **spec: Any
) -> Job:
    template = {"spec": {"containers": [{"name": "tensorflow", "image": "example/train"}]}}
    roles = {key: spec.pop(key) for key in list(spec) if key[0].isupper()}
    replicas = {
        kind: {"replicas": count, "restartPolicy": restart, "template": template} for kind, count in roles.items()
    }
    return msgspec.convert(
        {
            "apiVersion": "shoal.dev/v1",
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": JOB_UID,
                "generation": 1,
                "resourceVersion": str(version),
            },
            "spec": {"tfReplicaSpecs": replicas, **spec},
            "status": status or {},
        },
        Job,
    )
