"""Names and labels of a job's objects, as users of Kubeflow's TFJob know them."""

from __future__ import annotations

from shoal.resources import ReplicaType, TFJob
from shoal.training import ReplicaId
from shoal.training.duties import leader

JOB_NAME = "training.kubeflow.org/job-name"
REPLICA_TYPE = "training.kubeflow.org/replica-type"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
OPERATOR_NAME = "training.kubeflow.org/operator-name"
JOB_ROLE = "training.kubeflow.org/job-role"
COMPONENT = "app.kubernetes.io/component"

OPERATOR = "shoal"
DEFAULT_NAMESPACE = "default"


def object_name(job: TFJob, suffix: object) -> str:
    """`mnist-worker-1`: the name of a replica's pod and of its Service; or of another object of the job's."""
    return f"{job.name}-{suffix}"


def namespace(job: TFJob) -> str:
    return job.metadata.namespace or DEFAULT_NAMESPACE


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


def metadata(job: TFJob, name: str, labels: dict[str, str] | None = None) -> dict[str, object]:
    """The metadata of an object of the job."""
    return {"name": name, "namespace": namespace(job), "labels": labels or job_labels(job)}
