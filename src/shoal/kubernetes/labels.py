"""Names and labels of a job's objects, as users of Kubeflow's TFJob know them, and of the other resources'."""

from __future__ import annotations

from shoal.resources import Known, ModelServer, ReplicaType, TensorBoard, TFJob, Workbench
from shoal.training import ReplicaId
from shoal.training.duties import leader

JOB_NAME = "training.kubeflow.org/job-name"
REPLICA_TYPE = "training.kubeflow.org/replica-type"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
OPERATOR_NAME = "training.kubeflow.org/operator-name"
JOB_ROLE = "training.kubeflow.org/job-role"
MODEL_SERVER = "shoal.dev/model-server"
TENSORBOARD = "shoal.dev/tensorboard"
WORKBENCH = "shoal.dev/workbench"
COMPONENT = "app.kubernetes.io/component"

OPERATOR = "shoal"
DEFAULT_NAMESPACE = "default"


Owner = Known
"""What has objects of its own."""


def object_name(owner: Owner, suffix: object) -> str:
    """`mnist-worker-1`: the name of a replica's pod and of its Service; or of another object of the owner's."""
    return f"{owner.name}-{suffix}"


def namespace(owner: Owner) -> str:
    return owner.metadata.namespace or DEFAULT_NAMESPACE


def job_labels(job: TFJob) -> dict[str, str]:
    """Labels of everything that belongs to the job."""
    return {JOB_NAME: job.name, OPERATOR_NAME: OPERATOR}


def replica_labels(job: TFJob, id: ReplicaId) -> dict[str, str]:
    """Labels that tell a replica from all others. The type is the manifest's, so a master is called one."""
    labels = {**job_labels(job), REPLICA_TYPE: replica_type(job, id).value.lower(), REPLICA_INDEX: str(id.index)}
    return {**labels, JOB_ROLE: "master"} if id == leader(job) else labels


def replica_type(job: TFJob, id: ReplicaId) -> ReplicaType:
    """The key of `tfReplicaSpecs` that the replica comes from."""
    return next(kind for kind in job.spec.tf_replica_specs if kind.role is id.role)


def server_labels(server: ModelServer) -> dict[str, str]:
    """Labels of everything that belongs to the server but its pods, which the operator need not watch."""
    return {MODEL_SERVER: server.name, OPERATOR_NAME: OPERATOR}


def owner_labels(owner: Owner) -> dict[str, str]:
    """Labels of everything that belongs to the owner."""
    match owner:
        case TFJob():
            return job_labels(owner)
        case ModelServer():
            return server_labels(owner)
        case TensorBoard():
            return {TENSORBOARD: owner.name, OPERATOR_NAME: OPERATOR}
        case Workbench():
            return {WORKBENCH: owner.name, OPERATOR_NAME: OPERATOR}


def metadata(owner: Owner, name: str, labels: dict[str, str] | None = None) -> dict[str, object]:
    """The metadata of an object of the owner's."""
    return {"name": name, "namespace": namespace(owner), "labels": labels or owner_labels(owner)}
