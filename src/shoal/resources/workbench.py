"""Workbench: JupyterLab in the cluster, with its data mounted and with the right to create TFJobs beside it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from shoal.resources.base import Model, NonEmpty, Resource
from shoal.resources.tfjob import SHOAL_API, AbsolutePath, StorageClaim
from shoal.resources.web_app import AppStatus, PathIngress

WORKBENCH_CONTAINER = "jupyterlab"
"""The container of `template` that is JupyterLab's; others run beside it."""

DEFAULT_FOLDER = "/work"
"""Where JupyterLab works when no storage is there that it could write to. It goes with the pod."""

SHORTEST_IDLE_SECONDS = 60
"""JupyterLab looks once a minute whether it is idle."""


class WorkbenchSpec(Model):
    """What JupyterLab has at hand, how it is reached, and when it stops."""

    image: NonEmpty | None = Field(
        default=None,
        description="An image with the command jupyter, and shoal in its Python. Default: Shoal's.",
    )
    storage: Annotated[list[StorageClaim], Field(max_length=64)] | None = Field(
        default=None,
        description="Folders for work and for training data: existing claims, NFS exports, or claims to make, which go "
        "with the workbench.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    folder: AbsolutePath | None = Field(
        default=None,
        description="Where JupyterLab opens, and its home. Default: the first storage that can be written to; where "
        "there is none, a folder that goes with the pod.",
    )
    ingress: PathIngress | None = Field(default=None, description="From outside the cluster, through an Ingress.")
    idle_timeout_seconds: Annotated[int, Field(ge=SHORTEST_IDLE_SECONDS)] | None = Field(
        default=None,
        description="Seconds without activity after which kernels end and the workbench is stopped. Default: never.",
    )
    stopped: bool | None = Field(
        default=None,
        description="While true no replica runs; storage is kept. The operator sets it when JupyterLab ends by itself.",
    )
    resources: dict[str, Any] | None = Field(default=None, description="Requests and limits of the container.")
    template: dict[str, Any] | None = Field(
        default=None,
        description="Whatever else the pod needs. A container named jupyterlab is merged with JupyterLab's own (its "
        "args are added), others run beside it.",
    )

    @property
    def home(self) -> str:
        """Where JupyterLab opens, and what it takes for its home."""
        writable = (each.mount_path for each in self.storage or [] if not each.read_only)
        return self.folder or next(writable, DEFAULT_FOLDER)


class Workbench(Resource):
    """A workbench: wanted (`spec`) and observed (`status`)."""

    api_version: Literal["shoal.dev/v1"] = Field(default=SHOAL_API, description="shoal.dev/v1.")
    kind: Literal["Workbench"] = Field(default="Workbench", description="Workbench.")
    spec: WorkbenchSpec = Field(
        default_factory=WorkbenchSpec, description="What JupyterLab has, how it is reached, and when it stops."
    )
    status: AppStatus = Field(default_factory=AppStatus, description="What was last known of it.")
