"""Where a model lies: under which mount, and on which claim."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

URI = re.compile(r"[a-z][a-z0-9+.-]*://.")
"""Such as s3://bucket/model, which TensorFlow Serving reads without a mount."""


class MountedClaim(NamedTuple):
    """A PersistentVolumeClaim as a container sees it."""

    claim: str
    mount_path: str


def holds(mount_path: str, path: str) -> bool:
    """Whether the path lies under the mount."""
    return f"{path}/".startswith(f"{mount_path.rstrip('/')}/")


def mounted_claim(pod: Mapping[str, Any], container: Mapping[str, Any], path: str) -> MountedClaim | None:
    """The claim on which the container sees the path, by the pod's own volumes. A part of a claim is none: a server
    would have to mount the same part."""
    volumes = {volume.get("name"): volume for volume in pod.get("volumes") or []}
    for mount in container.get("volumeMounts") or []:
        claim = (volumes.get(mount.get("name"), {}).get("persistentVolumeClaim") or {}).get("claimName")
        if claim and holds(mount.get("mountPath", ""), path) and not {"subPath", "subPathExpr"} & mount.keys():
            return MountedClaim(claim, mount["mountPath"])
    return None
