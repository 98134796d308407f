"""Container images made without a registry and without a builder: folder trees packed as an OCI archive.

Layers are kept in the cache, those of trees under the hash of their content.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from tests.cluster.cache import cache_folder, scratch_file

REGISTRY = "shoal.test"
KEPT_UNUSED = 14 * 24 * 3600.0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Loadable(Protocol):
    """What a node can load."""

    @property
    def name(self) -> str:
        """By which pods name it."""

    def write(self, stream: IO[bytes]) -> None:
        """Write an archive as `ctr images import` reads it."""


@dataclass(frozen=True)
class Image:
    """An image: layers, of which the later ones cover the earlier, and what it runs."""

    name: str
    layers: Sequence[Path]
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""

    def write(self, stream: IO[bytes]) -> None:
        """Write the image as an OCI archive, as `ctr images import` reads it."""
        with tarfile.open(fileobj=stream, mode="w|") as archive:
            self._write(archive, self._configuration(), [digest(each) for each in self.layers])

    def _configuration(self) -> dict[str, Any]:
        environment = {"PATH": PATH, **self.environment}
        config = {
            "Env": [f"{name}={value}" for name, value in environment.items()],
            "Cmd": list(self.command),
            "User": self.user,
        }
        return {"architecture": "amd64", "os": "linux", "config": config}

    def _write(self, archive: tarfile.TarFile, configuration: dict[str, Any], digests: Sequence[str]) -> None:
        layers = []
        for path, name in zip(self.layers, digests, strict=True):
            archive.add(path, f"blobs/sha256/{name}")
            media = "application/vnd.oci.image.layer.v1.tar"
            layers.append({"mediaType": media, "digest": f"sha256:{name}", "size": path.stat().st_size})
        root = {"type": "layers", "diff_ids": [each["digest"] for each in layers]}
        config = _blob(archive, {**configuration, "rootfs": root}, "application/vnd.oci.image.config.v1+json")
        manifest = {"schemaVersion": 2, "config": config, "layers": layers}
        described = _blob(archive, manifest, "application/vnd.oci.image.manifest.v1+json")
        described["annotations"] = {"io.containerd.image.name": self.name}
        add(archive, "index.json", json.dumps({"schemaVersion": 2, "manifests": [described]}).encode())
        add(archive, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')


def layers_folder() -> Path:
    """Where layers are kept."""
    folder = cache_folder() / "images"
    folder.mkdir(exist_ok=True)
    return folder


def layer_of(tree: Path, prefix: str = "", leave_out: Sequence[str] = ()) -> Path:
    """A folder tree as a layer, placed under `prefix` in the image, without the names in `leave_out`.

    Owners become root and times are dropped, so that the same files make the same layer.
    """
    folder = layers_folder()
    _forget_unused(folder)

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if Path(entry.name).name in leave_out:
            return None
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    making = scratch_file(folder)
    with tarfile.open(making, mode="w") as layer:
        for each in sorted(tree.iterdir()):
            layer.add(each, f"{prefix}/{each.name}".lstrip("/"), filter=plain)
    return making.replace(folder / f"{_sha256(making)[:16]}.layer.tar")


def digest(layer: Path) -> str:
    """The hash of a layer's content. It is kept beside the layer, which may have a gigabyte and never changes."""
    kept = layer.with_name(f"{layer.name}.sha256")
    if not kept.exists():
        making = scratch_file(layer.parent)
        making.write_text(_sha256(layer))
        making.rename(kept)
    # What is in use is not forgotten.
    layer.touch()
    return kept.read_text()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _forget_unused(folder: Path) -> None:
    """Remove layers that no test has used for long: each change of a tree makes a new one."""
    for layer in folder.glob("*.layer.tar"):
        with suppress(FileNotFoundError):
            if time.time() - layer.stat().st_mtime > KEPT_UNUSED:
                layer.with_name(f"{layer.name}.sha256").unlink(missing_ok=True)
                layer.unlink()


def _blob(archive: tarfile.TarFile, content: dict[str, Any], media: str) -> dict[str, Any]:
    data = json.dumps(content).encode()
    digest = hashlib.sha256(data).hexdigest()
    add(archive, f"blobs/sha256/{digest}", data)
    return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(data)}


def add(archive: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    """Put a file of these bytes into an archive."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))
