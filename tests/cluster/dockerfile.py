"""The image of the Dockerfile at the root, built by buildah on a base that comes from no registry."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.cluster.images import REGISTRY, Image
from tests.cluster.programs import run_to_end, tool

CONTEXT = Path(__file__).parents[2]
MINUTES = 10


@dataclass(frozen=True)
class ArchivedImage:
    """An image that somebody else has built, in a file as `docker save` writes it."""

    name: str
    archive: Path

    def write(self, stream: IO[bytes]) -> None:
        with self.archive.open("rb") as file:
            shutil.copyfileobj(file, stream)


@contextmanager
def built_by_dockerfile(name: str, base: Image) -> Iterator[ArchivedImage]:
    """Build the Dockerfile on `base`, which needs Python and pip. Packages come from the index that pip knows.

    Raises ClusterError where buildah is missing or the build fails.
    """
    buildah = tool("buildah", "buildah")
    complete = f"{REGISTRY}/{name}:1"
    with tempfile.TemporaryDirectory(prefix="shoal-image-") as folder:
        # Storage of its own: the images of the machine's user are left alone. Neither needs the kernel's overlay nor
        # namespaces, which a container that runs tests may not have.
        storage = [f"--root={folder}/storage", f"--runroot={folder}/run", "--storage-driver=vfs"]
        with (Path(folder) / "base.tar").open("wb") as stream:
            base.write(stream)
        run_to_end([buildah, *storage, "pull", f"oci-archive:{folder}/base.tar"])
        options = ["--isolation=chroot", "--network=host", "--pull-never", f"--build-arg=BASE={base.name}"]
        # The machine's own authorities, which pip on the machine trusts, too.
        options.append("--volume=/etc/ssl/certs:/etc/ssl/certs:ro")
        run_to_end([buildah, *storage, "build", *options, f"--tag={complete}", str(CONTEXT)], timeout=MINUTES * 60)
        archive = Path(folder) / "image.tar"
        run_to_end([buildah, *storage, "push", complete, f"docker-archive:{archive}:{complete}"], timeout=120)
        yield ArchivedImage(complete, archive)
