"""TensorBoard: the curves of several runs, read from folders that are mounted read-only."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from shoal.resources.base import Model, NonEmpty, Resource
from shoal.resources.tfjob import SHOAL_API, StorageClaim
from shoal.resources.web_app import AppStatus, PathIngress

BOARD_CONTAINER = "tensorboard"
"""The container of `template` that is TensorBoard's; others run beside it."""


def names_a_run(name: str) -> bool:
    """Whether TensorBoard, which is told NAME:PATH,NAME:PATH and knows no quotes, takes the name."""
    return bool(name) and not name.startswith("/") and "," not in name and ":" not in name


class BoardSpec(Model):
    """What is shown, and how it is reached."""

    log_dirs: Annotated[dict[str, NonEmpty], Field(min_length=1, max_length=256)] = Field(
        description="Where to read event files, by the name that each run is shown under: an absolute path on storage, "
        "or a URI such as gs://bucket/logs."
    )
    storage: Annotated[list[StorageClaim], Field(max_length=64)] | None = Field(
        default=None,
        description="Folders with event files: existing claims or NFS exports. They are mounted read-only.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    ingress: PathIngress | None = Field(default=None, description="From outside the cluster, through an Ingress.")
    image: NonEmpty | None = Field(
        default=None, description="An image with the command tensorboard. Default: tensorflow/tensorflow."
    )
    resources: dict[str, Any] | None = Field(default=None, description="Requests and limits of the container.")
    template: dict[str, Any] | None = Field(
        default=None,
        description="Whatever else the pod needs. A container named tensorboard is merged with TensorBoard's own (its "
        "args are added), others run beside it.",
    )


class TensorBoard(Resource):
    """A TensorBoard: wanted (`spec`) and observed (`status`)."""

    api_version: Literal["shoal.dev/v1"] = Field(default=SHOAL_API, description="shoal.dev/v1.")
    kind: Literal["TensorBoard"] = Field(default="TensorBoard", description="TensorBoard.")
    spec: BoardSpec = Field(description="What is shown, and how it is reached.")
    status: AppStatus = Field(default_factory=AppStatus, description="What was last known of it.")
