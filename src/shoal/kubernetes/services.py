"""A headless Service per replica: the name under which its peers find it, also before it is ready and after it was
replaced."""

from __future__ import annotations

from shoal.kubernetes.cluster_config import Object, port
from shoal.kubernetes.labels import JOB_ROLE, metadata, object_name, replica_labels
from shoal.resources import TFJob
from shoal.resources.tfjob import PORT_NAME
from shoal.training import ReplicaId


def service(job: TFJob, id: ReplicaId) -> Object:
    """The Service of one replica, with its pod's name."""
    labels = replica_labels(job, id)
    selector = {name: value for name, value in labels.items() if name != JOB_ROLE}
    number = port(job, id.role)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(job, object_name(job, id), labels),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": selector,
            "ports": [{"name": PORT_NAME, "port": number, "targetPort": number}],
        },
    }
