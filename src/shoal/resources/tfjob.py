"""TFJob: a TensorFlow training job, as `shoal.dev/v1` and as Kubeflow's `kubeflow.org/v1`.

Fields that Kubeflow v1.9 defines keep its names and meaning. `SHOAL_ONLY` lists what `shoal.dev/v1` adds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field

from shoal.resources.base import Model
from shoal.resources.roles import ReplicaType, Role
from shoal.resources.status import JobStatus

SHOAL_API: Final = "shoal.dev/v1"
KUBEFLOW_API: Final = "kubeflow.org/v1"
CONTAINER_NAME = "tensorflow"
PORT_NAME = "tfjob-port"
DEFAULT_PORT = 2222


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


class SchedulingPolicy(Model):
    """Gang scheduling, for the schedulers that know it."""

    min_available: Annotated[int, Field(ge=1)] | None = None
    queue: str | None = None
    min_resources: dict[str, int | float | str] | None = None
    priority_class: str | None = None
    schedule_timeout_seconds: Annotated[int, Field(ge=0)] | None = None


class RunPolicy(Model):
    """How long a job may run, how often it is tried again, and what is left when it ends."""

    clean_pod_policy: CleanPodPolicy | None = None
    ttl_seconds_after_finished: Annotated[int, Field(ge=0)] | None = None
    active_deadline_seconds: Annotated[int, Field(ge=1)] | None = None
    backoff_limit: Annotated[int, Field(ge=0)] | None = None
    scheduling_policy: SchedulingPolicy | None = None
    suspend: bool | None = None
    managed_by: str | None = None
    startup_timeout_seconds: Annotated[int, Field(ge=1)] | None = None
    stall_timeout_seconds: Annotated[int, Field(ge=1)] | None = None
    evaluation_timeout_seconds: Annotated[int, Field(ge=0)] | None = None


class GPURequest(Model):
    """GPUs of one replica: how many, and which models will do (as the label `shoal.dev/gpu-model` names them)."""

    count: Annotated[int, Field(ge=1)] = 1
    models: list[str] | None = None


class ReplicaSpec(Model):
    """One role of the cluster: how many replicas, the pod each is made from, and when one is started again."""

    replicas: Annotated[int, Field(ge=0)] | None = None
    restart_policy: RestartPolicy | None = None
    template: dict[str, Any]
    gpu: GPURequest | None = None

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

    server: str
    path: str


class StorageClaim(Model):
    """A folder that all replicas share: an existing claim, an NFS export, or a claim to make from a class."""

    name: str
    mount_path: str
    size: str | None = None
    storage_class_name: str | None = None
    existing_claim: str | None = None
    nfs: NFSSource | None = None
    read_only: bool | None = None


class TensorBoardSpec(Model):
    """A TensorBoard that lives as long as the job: log directories by run name."""

    log_dirs: dict[str, str]


class ServeSpec(Model):
    """Serve the export when the job has succeeded."""

    model_name: str | None = None
    base_path: str


class TFJobSpec(Model):
    """What the user wants trained, and how."""

    tf_replica_specs: dict[ReplicaType, ReplicaSpec]
    run_policy: RunPolicy = Field(default_factory=RunPolicy)
    success_policy: SuccessPolicy | None = None
    enable_dynamic_worker: bool | None = None
    strategy: Strategy | None = None
    storage: list[StorageClaim] | None = None
    tensor_board: TensorBoardSpec | None = None
    serve: ServeSpec | None = None


class Metadata(Model):
    """The part of `ObjectMeta` that Shoal reads; the rest is kept as written."""

    model_config = ConfigDict(extra="allow")

    name: str
    namespace: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class TFJob(Model):
    """A training job: wanted (`spec`) and observed (`status`)."""

    api_version: Literal["shoal.dev/v1", "kubeflow.org/v1"] = SHOAL_API
    kind: Literal["TFJob"] = "TFJob"
    metadata: Metadata
    spec: TFJobSpec
    status: JobStatus = Field(default_factory=JobStatus)

    @property
    def name(self) -> str:
        return self.metadata.name

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
    "spec.runPolicy.startupTimeoutSeconds",
    "spec.runPolicy.stallTimeoutSeconds",
    "spec.runPolicy.evaluationTimeoutSeconds",
    "spec.tfReplicaSpecs.*.gpu",
)
"""Paths that `shoal.dev/v1` has and `kubeflow.org/v1` has not (`*` stands for any replica type)."""
