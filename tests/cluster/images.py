"""Container images made without a registry and without a builder: folder trees packed as an OCI archive.

What is made is kept in the cache under the hash of its content.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.cache import cache_folder

REGISTRY = "shoal.test"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Image:
    """An image: layers, of which the later ones cover the earlier, and what it runs."""

    name: str
    layers: Sequence[Path]
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""

    def archive(self) -> Path:
        """The image as an OCI archive that `ctr images import` reads; made when the cache has none."""
        configuration = self._configuration()
        names = [sha256(each) for each in self.layers]
        content = hashlib.sha256(json.dumps([self.name, configuration, names]).encode()).hexdigest()
        made = cache_folder() / "images" / f"{content[:16]}.tar"
        if not made.exists():
            made.parent.mkdir(exist_ok=True)
            making = Path(tempfile.mkstemp(dir=made.parent)[1])
            with tarfile.open(making, mode="w") as archive:
                self._write(archive, configuration, names)
            making.replace(made)
        return made

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
        for path, digest in zip(self.layers, digests, strict=True):
            archive.add(path, f"blobs/sha256/{digest}")
            media = "application/vnd.oci.image.layer.v1.tar"
            layers.append({"mediaType": media, "digest": f"sha256:{digest}", "size": path.stat().st_size})
        root = {"type": "layers", "diff_ids": [each["digest"] for each in layers]}
        config = _blob(archive, {**configuration, "rootfs": root}, "application/vnd.oci.image.config.v1+json")
        manifest = {"schemaVersion": 2, "config": config, "layers": layers}
        described = _blob(archive, manifest, "application/vnd.oci.image.manifest.v1+json")
        described["annotations"] = {"io.containerd.image.name": self.name}
        add(archive, "index.json", json.dumps({"schemaVersion": 2, "manifests": [described]}).encode())
        add(archive, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')


def layer_of(tree: Path, prefix: str = "", leave_out: Sequence[str] = ()) -> Path:
    """A folder tree as a layer, placed under `prefix` in the image, without the names in `leave_out`.

    Owners become root and times are dropped, so that the same files make the same layer.
    """
    made = cache_folder() / "images"
    made.mkdir(exist_ok=True)

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if Path(entry.name).name in leave_out:
            return None
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    with tempfile.NamedTemporaryFile(dir=made, delete=False) as file, tarfile.open(fileobj=file, mode="w") as layer:
        for each in sorted(tree.iterdir()):
            layer.add(each, f"{prefix}/{each.name}".lstrip("/"), filter=plain)
    path = made / f"{sha256(Path(file.name))[:16]}.layer.tar"
    Path(file.name).replace(path)
    return path


def sha256(path: Path) -> str:
    """The hash of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
