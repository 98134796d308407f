"""What TensorBoards and workbenches share: one replica of a web application, a Service, and a path of an Ingress.

The program is told under which path it is reached, so no ingress controller has to rewrite one.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from shoal.resources.base import Model, NonEmpty
from shoal.resources.model_server import Host, IngressTLS, ServerCondition

RoutePath = Annotated[str, Field(pattern=r"^(/|(/[A-Za-z0-9._~-]+)+)$", max_length=200)]


class PathIngress(Model):
    """The application from outside the cluster, through an Ingress."""

    host: Host | None = Field(default=None, description="Host name. Default: any.")
    path: RoutePath | None = Field(
        default=None,
        description="Everything at and below this path goes to the application, which is told of it. Default: "
        "/NAMESPACE/NAME, so that many share a host.",
    )
    class_name: NonEmpty | None = Field(default=None, description="IngressClass. Default: the cluster's.")
    tls: IngressTLS | None = Field(default=None, description="HTTPS.")
    annotations: dict[str, str] | None = Field(default=None, description="Annotations of the Ingress.")


class AppPhase(StrEnum):
    """Where an application stands, in one word."""

    PENDING = "Pending"
    UPDATING = "Updating"
    READY = "Ready"
    STOPPED = "Stopped"
    FAILED = "Failed"


class AppStatus(Model):
    """What was last known of an application."""

    phase: AppPhase = Field(default=AppPhase.PENDING, description="Where it stands, in one word.")
    message: str = Field(default="", description="What it waits for, or what is wrong.")
    conditions: list[ServerCondition] = Field(
        default_factory=list,
        description="Ready: it answers, and is as the spec says.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    ready_replicas: int = Field(default=0, description="1 while it answers.")
    url: str | None = Field(default=None, description="Where it is reached: from outside, or within the cluster.")
    observed_generation: int = Field(default=0, description="The generation of the spec that this status is about.")

    def dump(self) -> dict[str, Any]:
        """The manifest form: always the phase, and whatever is not as it is by default."""
        return {"phase": self.phase.value, **super().dump()}
