"""A replica under one of Kubernetes' own controllers, for clusters without Shoal's operator.

A bare pod is gone with its node. Under a controller it comes back, under the same Service: a replica that serves as a
Deployment, one that trains as a Job, whose own retries then stand in for the job's.
"""

from __future__ import annotations

from enum import StrEnum

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.gpu_names import GPUNames
from shoal.kubernetes.labels import metadata, object_name, replica_labels
from shoal.kubernetes.pods import pod
from shoal.resources import TFJob
from shoal.training import ReplicaId
from shoal.training.duties import serves


class Workload(StrEnum):
    """What the replicas are rendered as."""

    PODS = "pods"
    CONTROLLERS = "controllers"


def workload(job: TFJob, id: ReplicaId, kind: Workload, gpus: GPUNames) -> Object:
    """The object that runs one replica."""
    bare = pod(job, id, gpus)
    if kind is Workload.PODS:
        return bare
    labels = replica_labels(job, id)
    own = {key: bare["metadata"][key] for key in ("labels", "annotations") if key in bare["metadata"]}
    template = {"metadata": own, "spec": bare["spec"]}
    made = metadata(job, object_name(job, id), labels)
    if serves(job.strategy, id.role):
        bare["spec"]["restartPolicy"] = "Always"
        spec: Object = {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": template,
        }
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": made, "spec": spec}
    if bare["spec"]["restartPolicy"] == "Always":
        bare["spec"]["restartPolicy"] = "OnFailure"
    limit = job.spec.run_policy.backoff_limit
    spec = {"template": template, **({} if limit is None else {"backoffLimit": limit})}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": made, "spec": spec}
