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
        # A mount path counts where it stands for itself: not inside a longer path, nor as the start of another name.
        self._pattern = re.compile(rf"(?<![\w./-])({'|'.join(map(re.escape, longest_first))})(?![\w.-])")

    def translate(self, text: str) -> str:
        """`text` with every mount path in it replaced by its folder."""
        return self._pattern.sub(lambda found: str(self.folders[found[1]]), text) if self.folders else text


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
        folders[mount["mountPath"]] = _made(folder / mount["subPath"]) if mount.get("subPath") else folder
    return Mounts(folders)


def values_of(kind: str, name: str, others: Iterable[Other]) -> dict[str, str] | None:
    """The values of the manifest's ConfigMap or Secret of that name; None where it has none."""
    found = next((other.value for other in others if other.kind == kind and other.name == name), None)
    if found is None:
        return None
    if kind == "ConfigMap":
        return dict(found.get("data") or {})
    encoded = found.get("data") or {}
    decoded = {key: base64.b64decode(value).decode(errors="replace") for key, value in encoded.items()}
    return {**decoded, **(found.get("stringData") or {})}


def _folder(volume: Mapping[str, Any], id: ReplicaId, root: Path, others: list[Other]) -> Path:
    name = volume["name"]
    kind = next((key for key in volume if key != "name"), "emptyDir")
    source = volume.get(kind) or {}
    if kind in NOT_HERE:
        raise LaunchError(f"{id}: the volume {name!r} is of kind {kind}, which only Kubernetes can fill")
    if kind == "persistentVolumeClaim":
        return _made(root / source["claimName"])
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
            file = folder / paths[key]
            _made(file.parent)
            file.unlink(missing_ok=True)
            file.touch(mode=0o600)
            file.write_text(value)
    return folder


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
