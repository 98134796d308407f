"""What a pod must fulfil that the schema of PodTemplateSpec cannot say, and that users get wrong.

Kubernetes checks far more, but only when the first pod is created; these are the mistakes worth finding before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shoal.resources.place import Finding, Path
from shoal.resources.quantity import parse_quantity
from shoal.resources.suggestion import nearest


def check_pod(pod: Mapping[str, Any], path: Path, shared: Sequence[str]) -> Iterator[Finding]:
    """Findings in a PodSpec at `path`. `shared` names the volumes that the job's `storage` adds."""
    if not pod.get("containers"):
        yield Finding((*path, "containers"), "no container", "add one that trains: a name, an image and a command")
    volumes = [volume.get("name", "") for volume in pod.get("volumes", [])]
    for index, name in enumerate(volumes):
        if name in shared:
            yield Finding(
                (*path, "volumes", index, "name"), f'"{name}" is the name of a spec.storage too', "rename one"
            )
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(pod.get(kind, [])):
            place = (*path, kind, index)
            if not container.get("image"):
                yield Finding((*place, "image"), "missing", "name the image that the container runs")
            yield from _check_mounts(container, place, [*volumes, *shared])
            yield from _check_resources(container.get("resources", {}), (*place, "resources"))


def _check_mounts(container: Mapping[str, Any], path: Path, volumes: Sequence[str]) -> Iterator[Finding]:
    for index, mount in enumerate(container.get("volumeMounts", [])):
        name = mount.get("name")
        if name is not None and name not in volumes:
            meant = nearest(name, volumes)
            hint = f"did you mean {meant}?" if meant else "add it to the template's spec.volumes"
            yield Finding((*path, "volumeMounts", index, "name"), f'no volume is named "{name}"', hint)


def _check_resources(resources: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    """A request is no larger than its limit. Devices come whole, and their requests are their limits
    (https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/)."""
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            number = parse_quantity(amount)
            if number < 0:
                yield Finding((*path, kind, name), f"{amount} is less than nothing")
            elif _is_device(name) and number % 1:
                yield Finding((*path, kind, name), f"{amount} is not a whole number of devices", "devices come whole")
    for name, amount in requests.items():
        limit = limits.get(name)
        if limit is None:
            if _is_device(name):
                yield Finding((*path, "requests", name), "requested without a limit", "write it under limits")
        elif _is_device(name) and parse_quantity(amount) != parse_quantity(limit):
            yield Finding((*path, "requests", name), f"{amount} differs from the limit, {limit}", "make them equal")
        elif parse_quantity(amount) > parse_quantity(limit):
            yield Finding((*path, "requests", name), f"{amount} is more than the limit, {limit}", "raise the limit")


def _is_device(name: str) -> bool:
    """An extended resource: `nvidia.com/gpu`."""
    return "/" in name and not name.startswith("kubernetes.io/")
