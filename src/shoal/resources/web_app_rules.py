"""What web applications and model servers must fulfil beyond their schema: rules on names, mounts and templates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shoal.resources.model_place import holds
from shoal.resources.place import Finding, Path
from shoal.resources.pod_rules import check_pod
from shoal.resources.rules import LONGEST_NAME, Written, as_label


class WrittenApp(Written):
    """A checked manifest of a kind whose pods are one container of Shoal's and a template of the user's."""

    @property
    def pod(self) -> Mapping[str, Any]:
        pod: Mapping[str, Any] = self.spec.get("template", {}).get("spec", {})
        return pod

    def mounts(self, container: str) -> list[str]:
        """Where something is mounted in the container of that name."""
        containers = [each for each in self.pod.get("containers", []) if each.get("name") == container]
        mounts = [mount.get("mountPath", "") for each in containers for mount in each.get("volumeMounts", [])]
        mounts += [claim.get("mountPath", "") for claim in self.spec.get("storage", [])]
        return [mount for mount in mounts if mount]


def check_service_name(app: Written, what: str) -> Iterator[Finding]:
    """The Service has the name, so it is a host name's first label (RFC 1035)."""
    path = ("metadata", "name")
    if app.name is None:
        yield Finding(path, "missing", f"name the {what}")
    elif not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", app.name):
        yield Finding(path, f'"{app.name}" cannot be a host name', as_label(app.name))
    elif len(app.name) > LONGEST_NAME:
        yield Finding(path, "too long for a host name", f"shorten it to {LONGEST_NAME} characters")


def check_mounted(folder: str, path: Path, mounts: Sequence[str], otherwise: str) -> Iterator[Finding]:
    """The images that Shoal knows hold no data of the user's, so an absolute path must be on something mounted."""
    if folder.startswith("/") and not any(holds(mount, folder) for mount in mounts):
        hint = f"mounted are {', '.join(mounts)}" if mounts else otherwise
        yield Finding(path, f"nothing is mounted at {folder}", hint)


def check_own_container(app: WrittenApp, own_name: str, whose: str) -> Iterator[Finding]:
    """The container of Shoal's needs no image of its own, and no container need be written."""
    shared = [claim["name"] for claim in app.spec.get("storage", []) if "name" in claim]
    written = app.pod.get("containers", [])
    own = {"name": own_name, "image": "-"}
    containers = [{**own, **each} if each.get("name") == own_name else each for each in written]
    path = ("spec", "template", "spec")
    yield from check_pod({**app.pod, "containers": containers or [own]}, path, shared)
    for index, each in enumerate(written):
        if each.get("name") == own_name:
            for field in [field for field in ("image", "resources", "ports") if field in each]:
                yield Finding((*path, "containers", index, field), f"{whose} has its own", f"write spec.{field}")
    alone = {**own, "resources": app.spec.get("resources", {})}
    for finding in check_pod({"containers": [alone]}, (), ()):
        yield finding._replace(path=("spec", *finding.path[2:]))
