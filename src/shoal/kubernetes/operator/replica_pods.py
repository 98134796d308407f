"""The pod of one attempt of a replica: what the renderer makes, and what the operator must be able to read back."""

from __future__ import annotations

from typing import Any

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.gpu_names import GPU_NAMES, GPUNames
from shoal.kubernetes.labels import Owner
from shoal.kubernetes.operator.progress import speaks
from shoal.kubernetes.pods import pod
from shoal.resources import TFJob
from shoal.tf import protocol
from shoal.training import Create
from shoal.training.duties import in_group

ATTEMPT = "shoal.dev/attempt"
"""Label: how often the replica was replaced before."""

SHAPE = "shoal.dev/cluster-shape"
"""Annotation: the cluster that the pod was told of, as `decide` names it."""


def owner_reference(owner: Owner, uid: str) -> dict[str, Any]:
    """What makes an object the owner's, so that it goes when the owner goes."""
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def attempt_pod(job: TFJob, uid: str, create: Create, gpus: GPUNames = GPU_NAMES) -> Object:
    """The pod that `decide` wants created."""
    made = pod(job, create.id, gpus)
    made["metadata"]["ownerReferences"] = [owner_reference(job, uid)]
    made["metadata"]["labels"][ATTEMPT] = str(create.attempt)
    made["metadata"].setdefault("annotations", {})[SHAPE] = create.shape
    if in_group(job.strategy, create.id.role):
        # A member that the kubelet restarted by itself would wait for ever: a group restarts as a whole.
        made["spec"]["restartPolicy"] = "Never"
    name = job.replicas[create.id.role].container["name"]
    for container in made["spec"]["containers"]:
        if container["name"] == name:
            # The last log lines come with the pod's status then, and need not be fetched before the pod is gone.
            container.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
            told = {protocol.ATTEMPT: str(create.attempt)}
            if speaks(job, create.id):
                told[protocol.PROGRESS_LOG] = "1"
            container["env"] += [{"name": name, "value": value} for name, value in told.items()]
    return made
