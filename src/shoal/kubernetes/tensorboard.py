"""`tensorBoard` as a Deployment that reads the job's storage, and a Service."""

from __future__ import annotations

from shoal.kubernetes.claims import pod_volumes
from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.labels import COMPONENT, job_labels, metadata, object_name
from shoal.kubernetes.security import restrict
from shoal.resources import TFJob

IMAGE = "tensorflow/tensorflow:2.21.0"
PORT = 6006
SERVICE_PORT = 80


def tensorboard(job: TFJob) -> list[Object]:
    """The objects of the job's TensorBoard; none where it wants none."""
    board = job.spec.tensor_board
    if board is None:
        return []
    name = object_name(job, "tensorboard")
    labels = {**job_labels(job), COMPONENT: "tensorboard"}
    volumes, mounts = pod_volumes(job)
    folders = ",".join(f"{run}:{folder}" for run, folder in board.log_dirs.items())
    spec: Object = {
        "containers": [
            {
                "name": "tensorboard",
                "image": IMAGE,
                "command": ["tensorboard", f"--logdir_spec={folders}", "--bind_all", f"--port={PORT}"],
                "ports": [{"name": "http", "containerPort": PORT}],
                "volumeMounts": [{**mount, "readOnly": True} for mount in mounts],
                "readinessProbe": {"httpGet": {"path": "/", "port": "http"}},
            }
        ],
        "volumes": volumes,
    }
    restrict(spec)
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata(job, name, labels),
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata(job, name, labels),
            "spec": {"selector": labels, "ports": [{"name": "http", "port": SERVICE_PORT, "targetPort": "http"}]},
        },
    ]
