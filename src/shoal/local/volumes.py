"""A pod's volumes as folders, and the paths in its command as paths into them.

    claims (and `storage`), NFS, Ceph …     one folder under the run, shared by all replicas that mount it
    emptyDir                                a folder for each replica
    hostPath                                that path of this machine
    configMap, secret                       files with the values of the manifest's own ConfigMap or Secret

Nothing is mounted: where a command, an argument or an environment value names a mount path (`/shared`,
`--dir=/shared/x`, `a:/shared`), it is given the folder's path instead.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shoal.local.process import LaunchError
from shoal.resources import Other, ReplicaSpec, TFJob
from shoal.training import ReplicaId

PER_REPLICA = ("emptyDir", "ephemeral")
NOT_HERE = ("downwardAPI", "projected")


class Mounts:
    """Mount paths of one replica, and the folders that stand for them."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self.folders = {path.rstrip("/"): folder for path, folder in folders.items() if path.rstrip("/")}
        longest_first = sorted(self.folders, key=len, reverse=True)
        # What is translated already stays: a mount path may well be a folder above the runs themselves.
        done = sorted(map(str, self.folders.values()), key=len, reverse=True)
        # A mount path counts where it stands for itself: not inside a longer path, nor as the start of another name.
        self._pattern = re.compile(rf"(?<![\w./-])({'|'.join(map(re.escape, [*done, *longest_first]))})(?![\w.-])")

    def translate(self, text: str) -> str:
        """`text` with every mount path in it replaced by its folder. To translate twice is to translate once."""
        return (
            self._pattern.sub(lambda found: str(self.folders.get(found[1], found[1])), text) if self.folders else text
        )


def mounts_of(
    job: TFJob, spec: ReplicaSpec, container: Mapping[str, Any], id: ReplicaId, root: Path, others: Iterable[Other]
) -> Mounts:
    """The mounts of a replica's container. Folders are made under `root` as needed.

    Raises LaunchError where a volume has no counterpart on this machine.
    """
    others = list(others)
    volumes = {volume["name"]: volume for volume in spec.template["spec"].get("volumes") or []}
    folders = {claim.mount_path: _made(root / (claim.existing_claim or claim.name)) for claim in job.spec.storage or []}
    for mount in container.get("volumeMounts") or []:
        volume = volumes.get(mount["name"])
        if volume is None:
            raise LaunchError(
                f"{id}: volumeMounts names the volume {mount['name']!r}, and the pod has none of that name",
                f"add it under spec.volumes of the {id.role.value}'s template",
            )
        folder = _folder(volume, id, root, others)
        if part := mount.get("subPath"):
            # A file, where it is one of a ConfigMap's; a folder that may have to be made in any other volume.
            inside = folder / _relative(part, f"{id}: subPath of the volume {mount['name']!r}")
            folder = inside if inside.is_file() else _made(inside)
        folders[mount["mountPath"]] = folder
    return Mounts(folders)


def values_of(kind: str, name: str, others: Iterable[Other]) -> dict[str, str] | None:
    """The values of the manifest's ConfigMap or Secret of that name; None where it has none."""
    found = next((other.value for other in others if other.kind == kind and other.name == name), None)
    if found is None:
        return None
    data = _texts(found.get("data"), f"{kind} {name!r}: data")
    if kind == "ConfigMap":
        return data
    decoded = {key: _decoded(value, f"{kind} {name!r}: data.{key}") for key, value in data.items()}
    return {**decoded, **_texts(found.get("stringData"), f"{kind} {name!r}: stringData")}


def _texts(values: object, where: str) -> dict[str, str]:
    """A mapping of text to text. Other documents than jobs are not checked when they are loaded."""
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise LaunchError(f"{where} is not a mapping", "write each value as KEY: VALUE")
    for key, value in values.items():
        if not isinstance(value, str):
            raise LaunchError(f"{where}.{key} is not text", f"put it in quotes: {json.dumps(str(value))}")
    return dict(values)


def _decoded(value: str, where: str) -> str:
    try:
        return base64.b64decode("".join(value.split()), validate=True).decode(errors="replace")
    except ValueError:
        raise LaunchError(f"{where} is not base64", "write plain text under stringData instead of data") from None


def _folder(volume: Mapping[str, Any], id: ReplicaId, root: Path, others: list[Other]) -> Path:
    name = volume["name"]
    kind = next((key for key in volume if key != "name"), "emptyDir")
    source = volume.get(kind) or {}
    if kind in NOT_HERE:
        raise LaunchError(f"{id}: the volume {name!r} is of kind {kind}, which only Kubernetes can fill")
    if kind == "persistentVolumeClaim":
        return _made(root / _relative(source["claimName"], f"{id}: claimName of the volume {name!r}"))
    if kind in ("configMap", "secret"):
        return _written(volume, kind, id, root, others)
    if kind == "hostPath":
        return _host_folder(source, name, id)
    return _made(root / name / str(id)) if kind in PER_REPLICA else _made(root / name)


def _host_folder(source: Mapping[str, Any], name: str, id: ReplicaId) -> Path:
    path = Path(source["path"])
    if source.get("type") == "DirectoryOrCreate":
        return _made(path)
    if not path.exists():
        raise LaunchError(f"{id}: the volume {name!r} is {path} of this machine, and there is no such path")
    return path


def _written(volume: Mapping[str, Any], kind: str, id: ReplicaId, root: Path, others: list[Other]) -> Path:
    """A ConfigMap or Secret as a folder with a file per key, readable by the user alone."""
    source = volume[kind]
    named = source.get("name") or source.get("secretName")
    values = values_of("ConfigMap" if kind == "configMap" else "Secret", named, others)
    if values is None and not source.get("optional"):
        raise LaunchError(
            f"{id}: the volume {volume['name']!r} is the {kind} {named!r}, which is not in the manifest",
            "add it to the file as a document of its own",
        )
    paths = {item["key"]: item["path"] for item in source.get("items") or []} or {key: key for key in values or {}}
    folder = _made(root / f"{kind}-{named}")
    for key, value in (values or {}).items():
        if key in paths:
            file = folder / _relative(paths[key], f"{id}: items of the volume {volume['name']!r}")
            _made(file.parent)
            file.unlink(missing_ok=True)
            file.touch(mode=0o600)
            file.write_text(value)
    return folder


def _relative(path: str, where: str) -> str:
    """A path that stays within the folder that it is joined to, as Kubernetes demands of it."""
    if path.startswith("/") or ".." in Path(path).parts:
        raise LaunchError(f"{where}: {path!r} leads out of it", "write a path within it, without ..")
    return path


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise LaunchError(f"the folder {folder} cannot be made: {fault.strerror}") from fault
    return folder
