"""The same job as `shoal.dev/v1` or as Kubeflow's `kubeflow.org/v1`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from shoal.resources.errors import Fault, ManifestError
from shoal.resources.place import Path, format_path
from shoal.resources.shoal_only import shoal_only_fields
from shoal.resources.tfjob import CONTAINER_NAME, KUBEFLOW_API, TFJob


def convert(job: TFJob, api_version: Literal["shoal.dev/v1", "kubeflow.org/v1"], *, lossy: bool = False) -> TFJob:
    """A copy of `job` as `api_version`.

    All that Kubeflow knows has the same meaning in both. On the way to Kubeflow, fields that have no place there, and
    containers that do not bear the name it wants, raise ManifestError with the path of each; with `lossy` the fields
    are left out and the containers renamed.
    """
    manifest = {**job.dump(), "apiVersion": api_version}
    if api_version == KUBEFLOW_API:
        fields, names = list(shoal_only_fields(manifest)), list(_misnamed_containers(job))
        if (fields or names) and not lossy:
            raise ManifestError(_obstacles(fields, names))
        for *around, last in fields:
            del _at(manifest, around)[last]
        for *around, last in names:
            _at(manifest, around)[last] = CONTAINER_NAME
    return TFJob.model_validate(manifest)


def _misnamed_containers(job: TFJob) -> Iterator[Path]:
    """Where the name stands of each container that trains and is not called `tensorflow`."""
    for kind, spec in job.spec.tf_replica_specs.items():
        if spec.container["name"] != CONTAINER_NAME:
            yield ("spec", "tfReplicaSpecs", kind.value, "template", "spec", "containers", 0, "name")


def _obstacles(fields: list[Path], names: list[Path]) -> Iterator[Fault]:
    for path in fields:
        problem = f"{KUBEFLOW_API} has no such field"
        yield Fault("", None, None, format_path(path), problem, "convert with --lossy to leave it out")
    for path in names:
        problem = f"{KUBEFLOW_API} wants this container to be named {CONTAINER_NAME}"
        yield Fault("", None, None, format_path(path), problem, "rename it, or convert with --lossy")


def _at(value: Any, path: list[str | int]) -> Any:
    for part in path:
        value = value[part]
    return value
