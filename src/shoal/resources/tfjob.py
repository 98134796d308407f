"""TFJob: a TensorFlow training job, as `shoal.dev/v1` and as Kubeflow's `kubeflow.org/v1`.

Fields that Kubeflow v1.9 defines keep its names and meaning. `SHOAL_ONLY` lists what `shoal.dev/v1` adds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from shoal.resources.base import Model, NonEmpty, Resource
from shoal.resources.code import CodeSpec
from shoal.resources.quantity import Quantity
from shoal.resources.roles import ReplicaType, Role
from shoal.resources.scaling import ScalingSpec
from shoal.resources.status import JobStatus

SHOAL_API: Final = "shoal.dev/v1"
KUBEFLOW_API: Final = "kubeflow.org/v1"
CONTAINER_NAME = "tensorflow"
PORT_NAME = "tfjob-port"
DEFAULT_PORT = 2222
SHOAL_OPERATOR = "shoal.dev/operator"
"""What `managedBy` and events call Shoal's operator."""


class RestartPolicy(StrEnum):
    """What happens when a replica exits. ExitCode: 1-127 is final, 128-255 is tried again."""

    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ALWAYS = "Always"
    EXIT_CODE = "ExitCode"


class CleanPodPolicy(StrEnum):
    """Which replicas are removed when the job has ended."""

    NONE = "None"
    RUNNING = "Running"
    ALL = "All"


class SuccessPolicy(StrEnum):
    """ "" : the chief's success (worker 0's where there is no chief). AllWorkers: every worker's, and the chief's."""

    DEFAULT = ""
    ALL_WORKERS = "AllWorkers"


class Strategy(StrEnum):
    """How the replicas train together; it decides what must be restarted when one of them dies."""

    ALL_REDUCE = "AllReduce"
    PARAMETER_SERVER = "ParameterServer"
    BETWEEN_GRAPH_ASYNC = "BetweenGraphAsync"
    BETWEEN_GRAPH_SYNC = "BetweenGraphSync"
    IN_GRAPH = "InGraph"
    INDEPENDENT = "Independent"


AbsolutePath = Annotated[str, Field(pattern="^/")]
ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]


class ServerKind(StrEnum):
    """Which program serves. Both speak the same protocols and read the same configuration."""

    TENSORFLOW_SERVING = "TensorFlowServing"
    SHOAL = "Shoal"


ManagedBy = Literal["shoal.dev/operator", "kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"]
"""Kubeflow's values of `managedBy`, and Shoal's own."""


class SchedulingPolicy(Model):
    """Gang scheduling, for the schedulers that know it."""

    min_available: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="How many replicas must fit before any starts. Default: all of them."
    )
    queue: str | None = Field(default=None, description="The scheduler's queue that the job waits in. Cannot change.")
    min_resources: dict[str, Quantity] | None = Field(
        default=None, description="Resources that must be free before any replica starts, such as cpu: 8."
    )
    priority_class: str | None = Field(default=None, description="PriorityClass of the group.")
    schedule_timeout_seconds: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="How long the scheduler tries to place the group, in seconds."
    )


class RunPolicy(Model):
    """How long a job may run, how often it is tried again, and what is left when it ends."""

    clean_pod_policy: CleanPodPolicy | None = Field(
        default=None,
        description="Which replicas are removed when the job has ended: None, Running (the default) or All.",
    )
    ttl_seconds_after_finished: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="Seconds after its end at which the job is removed. Default: never."
    )
    active_deadline_seconds: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Seconds from its start after which a job that still runs has failed. Default: none."
    )
    backoff_limit: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="How many retries the job has, restarts in place and evictions included. Default: no limit.",
    )
    scheduling_policy: SchedulingPolicy | None = Field(
        default=None, description="Gang scheduling: all replicas start together or not at all."
    )
    suspend: bool | None = Field(
        default=None, description="While true no replica runs. Training goes on from its checkpoint afterwards."
    )
    managed_by: ManagedBy | None = Field(
        default=None,
        description="The controller that runs the job. Default: whichever watches this API group. Cannot change.",
    )
    startup_timeout_seconds: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="How long the job waits for replicas that no queue keeps before it fails. Default: for ever.",
    )
    stall_timeout_seconds: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="Seconds without a training step (or a log line) after which the job is restarted. Default: never.",
    )
    evaluation_timeout_seconds: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="How long the evaluator gets for the final checkpoint. Default: 300."
    )


class GPURequest(Model):
    """GPUs of one replica: how many, and which models will do (as the label `shoal.dev/gpu-model` names them)."""

    count: Annotated[int, Field(ge=1)] = Field(default=1, description="GPUs of each replica.")
    models: Annotated[list[NonEmpty], Field(min_length=1)] | None = Field(
        default=None, description="GPU models that will do, as nodes are labelled: A100, T4. Default: any."
    )


class ReplicaSpec(Model):
    """One role of the cluster: how many replicas, the pod each is made from, and when one is started again."""

    replicas: Annotated[int, Field(ge=0)] | None = Field(default=None, description="How many. Default: 1.")
    restart_policy: RestartPolicy | None = Field(
        default=None,
        description="When a replica that has exited is started again: Never (the default), OnFailure, Always, or "
        "ExitCode, where codes 1-127 are final and 128-255 are tried again.",
    )
    template: dict[str, Any] = Field(
        description="The pod that each replica runs in. `restartPolicy` above replaces the template's."
    )
    gpu: GPURequest | None = Field(default=None, description="GPUs from Shoal's pool for each replica.")

    @property
    def count(self) -> int:
        return 1 if self.replicas is None else self.replicas

    @property
    def restarts(self) -> RestartPolicy:
        return self.restart_policy or RestartPolicy.NEVER

    @property
    def container(self) -> dict[str, Any]:
        """The container that trains: the one named `tensorflow`, or the first."""
        containers: list[dict[str, Any]] = self.template["spec"]["containers"]
        return next((c for c in containers if c.get("name") == CONTAINER_NAME), containers[0])


class NFSSource(Model):
    """An NFS export."""

    server: NonEmpty = Field(description="Host name or address of the server.")
    path: AbsolutePath = Field(description="Absolute path of the export.")


class StorageClaim(Model):
    """A folder that all replicas share: an existing claim, an NFS export, or a claim to make of a size (and class)."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)] = Field(
        description="Name of the volume: lower-case letters, digits and dashes."
    )
    mount_path: AbsolutePath = Field(description="Absolute path at which every container sees the folder.")
    size: Quantity | None = Field(default=None, description="Make a claim of this size, such as 10Gi, for the job.")
    storage_class_name: NonEmpty | None = Field(
        default=None, description="StorageClass of the claim to make. Default: the cluster's."
    )
    existing_claim: NonEmpty | None = Field(default=None, description="Use this PersistentVolumeClaim.")
    nfs: NFSSource | None = Field(default=None, description="Use this NFS export.")
    read_only: bool | None = Field(default=None, description="Mount it read-only. Default: false.")


class TensorBoardSpec(Model):
    """A TensorBoard that lives as long as the job: log directories by run name."""

    log_dirs: Annotated[dict[str, NonEmpty], Field(min_length=1)] = Field(
        description="Where to read event files, by the name that each run is shown under."
    )


class ServeSpec(Model):
    """Serve the export when the job has succeeded: on Kubernetes by a ModelServer of the job's name, which stays when
    the job goes; on one machine by a server of its own."""

    model_name: ModelName | None = Field(default=None, description="Name to serve it under. Default: the job's.")
    base_path: NonEmpty = Field(description="The folder that holds the exported versions, as the leader sees it.")
    server: ServerKind | None = Field(
        default=None, description="Which program serves: TensorFlowServing (the default) or Shoal."
    )
    image: NonEmpty | None = Field(default=None, description="An image of that program, in place of the usual one.")
    replicas: Annotated[int, Field(ge=0)] | None = Field(default=None, description="How many servers. Default: 1.")


class TFJobSpec(Model):
    """What the user wants trained, and how."""

    tf_replica_specs: Annotated[dict[ReplicaType, ReplicaSpec], Field(min_length=1)] = Field(
        description="The cluster: Chief (or Master), Worker, PS and Evaluator, in any case. At most one chief and one "
        "evaluator replica."
    )
    run_policy: RunPolicy = Field(
        default_factory=RunPolicy, description="How long the job may run, how often it is tried, what is left of it."
    )
    success_policy: SuccessPolicy | None = Field(
        default=None,
        description="Whose success is the job's. \"\" (the default): the chief's, or worker 0's where there is no "
        "chief. AllWorkers: every worker's, and the chief's.",
    )
    enable_dynamic_worker: bool | None = Field(
        default=None, description="Workers come and go: each knows the parameter servers and itself alone."
    )
    strategy: Strategy | None = Field(
        default=None,
        description="How the replicas train together; it decides what is restarted when one dies. Default: as the "
        "roles suggest.",
    )
    storage: Annotated[list[StorageClaim], Field(max_length=64)] | None = Field(
        default=None,
        description="Folders that all replicas share.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    tensor_board: TensorBoardSpec | None = Field(
        default=None, description="A TensorBoard that lives as long as the job."
    )
    serve: ServeSpec | None = Field(default=None, description="Serve the exported model when the job has succeeded.")
    scaling: ScalingSpec | None = Field(
        default=None, description="Let the number of workers follow what they bring, between two bounds."
    )
    code: CodeSpec | None = Field(
        default=None, description="Scripts that are not in the image: every replica finds them at /shoal/code."
    )


class TFJob(Resource):
    """A training job: wanted (`spec`) and observed (`status`)."""

    api_version: Literal["shoal.dev/v1", "kubeflow.org/v1"] = Field(
        default=SHOAL_API, description="shoal.dev/v1, or kubeflow.org/v1 for the fields that Kubeflow knows."
    )
    kind: Literal["TFJob"] = Field(default="TFJob", description="TFJob.")
    spec: TFJobSpec = Field(description="What to train, and how.")
    status: JobStatus = Field(default_factory=JobStatus, description="What was last known of the job.")

    @property
    def replicas(self) -> dict[Role, ReplicaSpec]:
        """The replica specs by role, in listing order."""
        by_role = {kind.role: spec for kind, spec in self.spec.tf_replica_specs.items()}
        return {role: by_role[role] for role in Role if role in by_role}

    @property
    def strategy(self) -> Strategy:
        """As the user says, else as the roles suggest: a chief with ps coordinates them, ps without a chief (or with
        workers that come and go) are between-graph, several workers reduce among themselves, one process is on its
        own."""
        if self.spec.strategy is not None:
            return self.spec.strategy
        replicas = self.replicas
        if Role.PS in replicas:
            coordinated = Role.CHIEF in replicas and not self.spec.enable_dynamic_worker
            return Strategy.PARAMETER_SERVER if coordinated else Strategy.BETWEEN_GRAPH_ASYNC
        training = sum(replicas[role].count for role in (Role.CHIEF, Role.WORKER) if role in replicas)
        return Strategy.ALL_REDUCE if training > 1 else Strategy.INDEPENDENT


SHOAL_ONLY = (
    "spec.strategy",
    "spec.storage",
    "spec.tensorBoard",
    "spec.serve",
    "spec.scaling",
    "spec.code",
    "spec.runPolicy.startupTimeoutSeconds",
    "spec.runPolicy.stallTimeoutSeconds",
    "spec.runPolicy.evaluationTimeoutSeconds",
    "spec.tfReplicaSpecs.*.gpu",
)
"""Paths that `shoal.dev/v1` has and `kubeflow.org/v1` has not (`*` stands for any replica type)."""
