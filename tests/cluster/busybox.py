"""The smallest image with a shell, of 3 MB: Debian's busybox and the C library that it is linked to.

Not the static one: it crashes as soon as it is to look up a name.
"""

from __future__ import annotations

import os
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.cache import cache_folder, locked
from tests.cluster.errors import ClusterError
from tests.cluster.images import REGISTRY, Image, add

BUSYBOX = f"{REGISTRY}/busybox:1"
PAUSE = f"{REGISTRY}/pause:1"
FOLDERS = {"bin": 0o755, "etc": 0o755, "proc": 0o755, "root": 0o700, "tmp": 0o1777, "var": 0o755, "var/run": 0o755}
USERS = b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n"


def busybox(name: str = BUSYBOX, command: Sequence[str] = ("sh",)) -> Image:
    """An image of busybox and nothing else."""
    images = cache_folder() / "images"
    layer = images / "busybox.layer.tar"
    if not layer.exists():
        with locked(images / "busybox.lock"), tempfile.TemporaryDirectory(dir=images) as folder:
            made = Path(folder) / "layer.tar"
            _write_layer(made, _downloaded(Path(folder)))
            made.rename(layer)
    return Image(name, [layer], command)


def pause() -> Image:
    """What holds a pod's namespaces while its containers come and go."""
    return busybox(PAUSE, ("sleep", "2147483647"))


def _downloaded(folder: Path) -> Path:
    """The program out of Debian's package, which is not installed: busybox-static would have to go."""
    download = ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", "busybox"]
    done = subprocess.run(download, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(f"{' '.join(download)} failed: {done.stderr}", "apt-get update, on a machine with Debian 12")
    package = next(folder.glob("busybox_*.deb"))
    subprocess.run(["dpkg", "--extract", str(package), str(folder / "unpacked")], check=True)
    return next(path for path in (folder / "unpacked").rglob("busybox") if os.access(path, os.X_OK) and path.is_file())


def _write_layer(made: Path, program: Path) -> None:
    with tarfile.open(made, mode="w") as layer:
        for folder, mode in FOLDERS.items():
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            layer.addfile(entry)
        add(layer, "etc/passwd", USERS)
        add(layer, "etc/group", b"root:x:0:\nnogroup:x:65534:\n")
        add(layer, "bin/busybox", program.read_bytes(), 0o755)
        libraries = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout.split()
        for path in (Path(word) for word in libraries if word.startswith("/")):
            add(layer, str(path).lstrip("/"), path.read_bytes(), 0o755)
        for applet in subprocess.run(
            [str(program), "--list"], capture_output=True, text=True, check=True
        ).stdout.split():
            if applet != "busybox":
                link = tarfile.TarInfo(f"bin/{applet}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                layer.addfile(link)
