"""ModelServer: SavedModels served over gRPC and REST, by TensorFlow Serving or by Shoal's own server.

The fields are what a rollout, a route and an autoscaler need; everything else of a pod is in `template`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from shoal.resources.base import Model, NonEmpty, Resource, Timestamp
from shoal.resources.tfjob import (
    SHOAL_API,
    AbsolutePath,
    GPURequest,
    ModelName,
    ServerKind,
    StorageClaim,
)

SERVER_CONTAINER = "server"
"""The container of `template` that is the server's; others run beside it."""

AVAILABLE = "AVAILABLE"
"""The state of a version that answers, in the words of TensorFlow Serving."""

Port = Annotated[int, Field(ge=1, le=65535)]
Percent = Annotated[int, Field(ge=1, le=100)]
Positive = Annotated[int, Field(ge=1)]
Version = Annotated[int, Field(ge=0)]
Host = Annotated[str, Field(pattern=r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")]


class LatestVersions(Model):
    """The highest version numbers."""

    count: Positive | None = Field(default=None, description="How many. Default: 1.")


class SpecificVersions(Model):
    """Versions by number."""

    versions: Annotated[list[Version], Field(min_length=1)] = Field(description="Their numbers.")


class VersionPolicy(Model):
    """Which versions are served: exactly one of the fields."""

    latest: LatestVersions | None = Field(default=None, description="The newest ones.")
    all_versions: bool | None = Field(default=None, alias="all", description="true: every version that is there.")
    specific: SpecificVersions | None = Field(default=None, description="Named ones, as to pin or to roll back.")


class ServedModel(Model):
    """A model: where its versions lie, which of them are served, and under which labels."""

    name: ModelName = Field(description="What clients call it: letters, digits, dots, dashes and underscores.")
    base_path: NonEmpty = Field(
        description="The folder that has a folder for each version in it: an absolute path, or with TensorFlowServing "
        "a URI such as s3://bucket/model."
    )
    version_policy: VersionPolicy | None = Field(default=None, description="Default: the newest version.")
    labels: dict[str, Version] | None = Field(
        default=None, description="Names for versions by which clients may ask, such as canary: 2."
    )


class Autoscaling(Model):
    """As many replicas as the load needs: exactly one of cpuUtilization and requestsInFlight."""

    min_replicas: Positive | None = Field(default=None, description="Never fewer. Default: 1.")
    max_replicas: Positive = Field(description="Never more.")
    cpu_utilization: Positive | None = Field(
        default=None, description="Percent of the CPU that is requested at which replicas are added."
    )
    requests_in_flight: Positive | None = Field(
        default=None,
        description="Requests under way in each replica at which replicas are added. Needs Shoal's server, and an "
        "adapter that offers its metric shoal_serving_requests_in_progress to the cluster.",
    )


class Ports(Model):
    """Ports of the Service. Containers listen on 8500 and 8501 whatever these are."""

    grpc: Port = Field(default=8500, description="gRPC. Default: 8500.")
    rest: Port = Field(default=8501, description="REST. Default: 8501.")
    legacy_grpc: Port | None = Field(
        default=None, description="A second port for gRPC, such as the 9000 that clients of older set-ups call."
    )


class IngressTLS(Model):
    """HTTPS at the ingress."""

    secret_name: NonEmpty = Field(description="The Secret with the certificate of the host.")


class Ingress(Model):
    """REST from outside the cluster, through an Ingress."""

    host: Host | None = Field(default=None, description="Host name. Default: any.")
    path: AbsolutePath | None = Field(
        default=None,
        description="Everything below this path goes to the server, without the path (ingress-nginx takes it off). "
        "Default: /v1/models/NAME for each model, so that servers can share a host.",
    )
    class_name: NonEmpty | None = Field(default=None, description="IngressClass. Default: the cluster's.")
    tls: IngressTLS | None = Field(default=None, description="HTTPS.")
    canary_weight: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None,
        description="Percent of the requests that come here rather than to another ModelServer with the same host and "
        "paths, which has no canaryWeight. Needs ingress-nginx.",
    )
    annotations: dict[str, str] | None = Field(default=None, description="Annotations of the Ingress.")


class Gateway(Model):
    """REST from outside the cluster, through a Gateway of the Gateway API (an HTTPRoute)."""

    name: NonEmpty = Field(description="The Gateway.")
    namespace: NonEmpty | None = Field(default=None, description="Its namespace. Default: the ModelServer's.")
    section_name: NonEmpty | None = Field(default=None, description="One listener of it. Default: all.")
    host: Host | None = Field(default=None, description="Host name. Default: the listener's.")
    path: AbsolutePath | None = Field(
        default=None,
        description="Everything below this path goes to the server, without the path. Default: /v1/models/NAME for "
        "each model.",
    )
    weights: dict[str, Annotated[int, Field(ge=0)]] | None = Field(
        default=None,
        description="Shares of the requests by ModelServer of this namespace, this one among them. Default: all to "
        "this one. The others' REST port must be the same.",
    )


class Batching(Model):
    """Requests that come at the same time run as one."""

    max_batch_size: Positive | None = Field(default=None, description="Rows of a batch at most.")
    batch_timeout_micros: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="How long a batch waits to be filled, in microseconds."
    )
    max_enqueued_batches: Positive | None = Field(
        default=None, description="Batches that may wait; what comes beyond is refused."
    )
    num_batch_threads: Positive | None = Field(default=None, description="Batches that run at a time.")
    allowed_batch_sizes: Annotated[list[Positive], Field(min_length=1)] | None = Field(
        default=None, description="Sizes that batches are padded to, rising, the last one maxBatchSize."
    )
    pad_variable_length_inputs: bool | None = Field(
        default=None, description="Whether rows of different lengths may share a batch, padded."
    )


class DisruptionBudget(Model):
    """How many replicas a drain of nodes may take at a time: one of the fields."""

    max_unavailable: Positive | None = Field(default=None, description="So many at most.")
    min_available: Positive | None = Field(default=None, description="So many must stay.")


class ModelServerSpec(Model):
    """What is served, by what, and how it is reached."""

    models: Annotated[list[ServedModel], Field(min_length=1, max_length=256)] = Field(
        description="The models. The server follows changes of them without a restart.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    server: ServerKind | None = Field(
        default=None, description="Which program serves: TensorFlowServing (the default) or Shoal."
    )
    image: NonEmpty | None = Field(
        default=None,
        description="An image of that program. Default: tensorflow/serving, or Shoal's, at a fixed version.",
    )
    replicas: Annotated[int, Field(ge=0)] | None = Field(default=None, description="How many servers. Default: 1.")
    autoscaling: Autoscaling | None = Field(default=None, description="In place of replicas.")
    ports: Ports | None = Field(default=None, description="Ports of the Service.")
    ingress: Ingress | None = Field(default=None, description="REST from outside, through an Ingress.")
    gateway: Gateway | None = Field(default=None, description="REST from outside, through a Gateway.")
    batching: Batching | None = Field(
        default=None, description="Run requests that come together as one. {}: as default."
    )
    storage: Annotated[list[StorageClaim], Field(max_length=64)] | None = Field(
        default=None,
        description="Folders with the models. They are mounted read-only.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    resources: dict[str, Any] | None = Field(default=None, description="Requests and limits of the server's container.")
    gpu: GPURequest | None = Field(default=None, description="GPUs for each replica.")
    pod_disruption_budget: DisruptionBudget | None = Field(
        default=None, description="How many replicas a drain of nodes may take at a time. Default: one."
    )
    template: dict[str, Any] | None = Field(
        default=None,
        description="Whatever else the pods need. A container named server is merged with the server's own (its args "
        "are added), others run beside it.",
    )

    @property
    def serves_by(self) -> ServerKind:
        return self.server or ServerKind.TENSORFLOW_SERVING

    @property
    def service_ports(self) -> Ports:
        return self.ports or Ports()


class ServerPhase(StrEnum):
    """Where a server stands, in one word."""

    PENDING = "Pending"
    UPDATING = "Updating"
    READY = "Ready"
    FAILED = "Failed"


class ServerCondition(Model):
    """One statement about the server, and since when it holds."""

    type: str = Field(description="What is stated: Ready.")
    status: Literal["True", "False", "Unknown"] = Field(description="Whether it holds.")
    reason: str = Field(default="", description="Why, in one CamelCase word.")
    message: str = Field(default="", description="Why, for people.")
    last_transition_time: Timestamp | None = Field(default=None, description="When `status` last changed.")
    observed_generation: int = Field(default=0, description="The generation of the spec that it is about.")


class VersionStatus(Model):
    """A version of a model, in one of the states that replicas have it in."""

    version: Version = Field(description="Its number.")
    state: str = Field(
        description="What replicas say of it: AVAILABLE is one that answers; also START, LOADING, UNLOADING, END."
    )
    replicas: int = Field(default=0, description="How many replicas say so.")
    message: str = Field(default="", description="Why it could not be loaded.")


class ModelStatus(Model):
    """A model as the replicas serve it."""

    name: str = Field(description="What clients call it.")
    versions: list[VersionStatus] = Field(default_factory=list, description="The newest ones, the newest first.")

    @property
    def available(self) -> list[int]:
        """The versions that answer, the newest first."""
        return list(dict.fromkeys(each.version for each in self.versions if each.state == AVAILABLE))


class ServerStatus(Model):
    """What was last known of a server."""

    phase: ServerPhase = Field(default=ServerPhase.PENDING, description="Where the server stands, in one word.")
    message: str = Field(default="", description="What it waits for, or what is wrong.")
    conditions: list[ServerCondition] = Field(
        default_factory=list,
        description="Ready: all replicas that are wanted serve what the spec says.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    replicas: int = Field(default=0, description="Replicas that are there.")
    ready_replicas: int = Field(default=0, description="Replicas that answer.")
    updated_replicas: int = Field(default=0, description="Replicas as the spec now says.")
    models: list[ModelStatus] = Field(
        default_factory=list,
        description="Which versions the replicas that answer have; a model that none has been asked for is not there.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    served_versions: str = Field(default="", description="Versions that answer, by model, as in digits:2,1.")
    silent_replicas: int = Field(default=0, description="Ready replicas that did not tell of their models when asked.")
    selector: str | None = Field(default=None, description="Label query that finds the replicas' pods.")
    url: str | None = Field(default=None, description="Where REST is reached: from outside, or within the cluster.")
    grpc: str | None = Field(default=None, description="Where gRPC is reached within the cluster, as host:port.")
    observed_generation: int = Field(default=0, description="The generation of the spec that this status is about.")

    def dump(self) -> dict[str, Any]:
        """The manifest form: always the phase, and whatever is not as it is by default."""
        return {"phase": self.phase.value, **super().dump()}


class ModelServer(Resource):
    """A model server: wanted (`spec`) and observed (`status`)."""

    api_version: Literal["shoal.dev/v1"] = Field(default=SHOAL_API, description="shoal.dev/v1.")
    kind: Literal["ModelServer"] = Field(default="ModelServer", description="ModelServer.")
    spec: ModelServerSpec = Field(description="What is served, by what, and how it is reached.")
    status: ServerStatus = Field(default_factory=ServerStatus, description="What was last known of the server.")
