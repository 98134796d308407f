"""The smallest image with a shell, of 2 MB: a static busybox, which needs no other file.

Debian's `wget` of busybox crashes when it is given a time-out (-T); leave that to the test.
"""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.cache import scratch_file
from tests.cluster.images import REGISTRY, Image, add, layers_folder

BUSYBOX = f"{REGISTRY}/busybox:1"
PAUSE = f"{REGISTRY}/pause:1"
PROGRAM = Path("/usr/bin/busybox")
FOLDERS = {"bin": 0o755, "etc": 0o755, "proc": 0o755, "root": 0o700, "tmp": 0o1777, "var": 0o755, "var/run": 0o755}
USERS = b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n"


def busybox(name: str = BUSYBOX, command: Sequence[str] = ("sh",)) -> Image:
    """An image of busybox and nothing else."""
    folder = layers_folder()
    layer = folder / f"busybox-{PROGRAM.stat().st_ctime_ns}.layer.tar"
    if not layer.exists():
        making = scratch_file(folder)
        _write_layer(making)
        making.rename(layer)
    return Image(name, [layer], command)


def pause() -> Image:
    """What holds a pod's namespaces while its containers come and go."""
    return busybox(PAUSE, ("sleep", "2147483647"))


def _write_layer(made: Path) -> None:
    with tarfile.open(made, mode="w") as layer:
        for folder, mode in FOLDERS.items():
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            layer.addfile(entry)
        add(layer, "etc/passwd", USERS)
        add(layer, "etc/group", b"root:x:0:\nnogroup:x:65534:\n")
        add(layer, "bin/busybox", PROGRAM.read_bytes(), 0o755)
        applets = subprocess.run([PROGRAM, "--list"], capture_output=True, text=True, check=True).stdout.split()
        for applet in applets:
            if applet != "busybox":
                link = tarfile.TarInfo(f"bin/{applet}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                layer.addfile(link)
