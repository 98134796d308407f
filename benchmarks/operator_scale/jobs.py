"""The jobs that are measured, and the objects that the operator makes of one, for the bare client to make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoal.kubernetes.labels import JOB_NAME, REPLICA_TYPE
from shoal.kubernetes.operator.kinds import JOBS, PODS, Kind, kind_of
from shoal.kubernetes.operator.owned_objects import adopt, before_pods, beside_pods
from shoal.kubernetes.operator.replica_pods import attempt_pod
from shoal.resources import KUBEFLOW_API, parse
from shoal.training import Create, Observed, decide

Request = dict[str, Any]

TFJOBS = JOBS[KUBEFLOW_API]
"""Both operators run the same manifests."""

NAMESPACE = "default"
ROLES = ("Chief", "PS", "Worker")


def tfjob(name: str, replicas: int) -> dict[str, Any]:
    """A chief, one parameter server in ten, and workers: `replicas` in all, which run until they are deleted."""
    template = {"spec": {"containers": [{"name": "tensorflow", "image": "example/train"}]}}
    servers = max(1, replicas // 10)
    counts = zip(ROLES, (1, servers, replicas - servers - 1), strict=True)
    roles = {kind: {"replicas": n, "restartPolicy": "OnFailure", "template": template} for kind, n in counts}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": KUBEFLOW_API, "kind": "TFJob", "metadata": metadata, "spec": {"tfReplicaSpecs": roles}}


def finished(jobs: int) -> tuple[list[Request], list[Request]]:
    """Requests that create jobs, and those that give them the status of jobs that have succeeded."""
    names = [f"finished-{number}" for number in range(jobs)]
    creates = [post(TFJOBS, tfjob(name, 8)) for name in names]
    ends = [
        {
            "method": "PATCH",
            "path": TFJOBS.path(NAMESPACE, name, "status"),
            "type": "application/merge-patch+json",
            "body": {"status": _succeeded(name)},
        }
        for name in names
    ]
    return creates, ends


def _succeeded(job: str) -> dict[str, Any]:
    at = "2026-01-01T00:00:00.000000Z"
    condition = {"type": "Succeeded", "status": "True", "reason": "TFJobSucceeded", "lastTransitionTime": at}
    roles = {kind: {"selector": f"{JOB_NAME}={job},{REPLICA_TYPE}={kind.lower()}"} for kind in ROLES}
    return {
        "phase": "Succeeded",
        "startTime": at,
        "completionTime": at,
        "conditions": [condition],
        "replicaStatuses": roles,
    }


def made_of(manifest: dict[str, Any], uid: str) -> tuple[list[Request], list[Request]]:
    """What the operator creates for a job: first what pods cannot start without, then the rest."""
    job = parse(manifest, source="benchmark")
    creates = [each for each in decide(job, Observed(), 0.0).actions if isinstance(each, Create)]
    first = [adopt(job, uid, each) for each in before_pods(job)]
    beside = [adopt(job, uid, each) for each in beside_pods(job)]
    pods = [post(PODS, attempt_pod(job, uid, each)) for each in creates]
    return list(_posts(first)), [*_posts(beside), *pods]


def post(kind: Kind[Any], manifest: dict[str, Any]) -> Request:
    return {"method": "POST", "path": kind.path(NAMESPACE), "type": "application/json", "body": manifest}


def _posts(manifests: list[dict[str, Any]]) -> Iterator[Request]:
    return (post(kind_of(each), each) for each in manifests)
