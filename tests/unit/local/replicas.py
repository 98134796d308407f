"""A replica's container and what surrounds it, as short as a test wants them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.local.volumes import Mounts, mounts_of
from shoal.resources import Other, Role, TFJob, parse
from shoal.training import ReplicaId
from tests.unit.resources.manifests import manifest

WORKER = ReplicaId(Role.WORKER, 0)


def job_of(container: dict[str, Any], volumes: list[dict[str, Any]] | None = None, **spec: Any) -> TFJob:
    """A job of one worker with this container."""
    value = manifest(**spec)
    template = value["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["metadata"] = {"labels": {"team": "vision"}, "annotations": {"example.com/run": "7"}}
    template["spec"] = {"containers": [{"name": "tensorflow", "image": "example/train", **container}]}
    if volumes is not None:
        template["spec"]["volumes"] = volumes
    return parse(value)


def mounted(
    root: Path,
    *volumes_and_mounts: tuple[dict[str, Any], dict[str, Any]],
    others: list[Other] | None = None,
    id: ReplicaId = WORKER,
    **spec: Any,
) -> Mounts:
    """The mounts of a container: (volume without its name, mount without its name) each."""
    volumes = [{"name": f"v{number}", **volume} for number, (volume, _) in enumerate(volumes_and_mounts)]
    mounts = [{"name": f"v{number}", **mount} for number, (_, mount) in enumerate(volumes_and_mounts)]
    job = job_of({"volumeMounts": mounts} if mounts else {}, volumes, **spec)
    replica = job.replicas[Role.WORKER]
    return mounts_of(job, replica, replica.container, id, root, others or [])


def config_map(name: str, data: Any) -> Other:
    return Other({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


def secret(name: str, **values: Any) -> Other:
    return Other({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **values})
