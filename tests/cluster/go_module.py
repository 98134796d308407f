"""Programs built once from a Go module of ours and kept in the cache.

What is built is kept under the hash of all it is built from, so that a change of versions builds anew and a second
checkout builds nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.cluster.cache import cache_folder, locked
from tests.cluster.errors import ClusterError
from tests.cluster.programs import tool

FLAGS = ("-mod=readonly", "-buildvcs=false", "-trimpath")


class GoModule:
    """The module in `folder`, for the sake of which all is done: `subject`, from the module at `path`."""

    def __init__(self, folder: Path, subject: str, path: str) -> None:
        self.folder = folder
        self._subject = subject
        self._path = path

    def version(self, path: str = "") -> str:
        """The version that go.mod asks for, as in v1.34.4: of the subject, or of another module at `path`."""
        path = path or self._path
        file = self.folder / "go.mod"
        found = re.search(rf"^\s*{re.escape(path)} (v\S+)( // indirect)?$", file.read_text(), re.MULTILINE)
        if not found:
            raise ClusterError(f"{file} does not name {path}")
        return found.group(1)

    def build(
        self, packages: Sequence[str], linker_flags: str = "", then: Callable[[Path], None] = lambda folder: None
    ) -> Path:
        """The folder with the programs. Builds them when the cache has none, which takes minutes.

        `linker_flags` may say nothing but what go.mod says, since the hash has that alone. `then` completes the folder
        after a build, before others see it.
        """
        go = shutil.which("go")
        if go is None:
            raise ClusterError(
                f"{self._subject} is built from source, and there is no `go` on the PATH",
                "install Go 1.24 or newer from https://go.dev/dl/",
            )
        ready = cache_folder() / self._hash(go)
        if not ready.exists():
            with locked(cache_folder() / "build.lock"):
                if not ready.exists():
                    self._build(
                        [go, "build", *FLAGS, "-ldflags", f"-s -w {linker_flags}".strip()], packages, then, ready
                    )
        return ready

    def _build(self, go: Sequence[str], packages: Sequence[str], then: Callable[[Path], None], ready: Path) -> None:
        print(f"building {self._subject} from source, which takes some minutes once …", file=sys.stderr)
        begin = time.monotonic()
        building = Path(tempfile.mkdtemp(prefix="building-", dir=ready.parent))
        try:
            # One call for all: packages that the programs share are compiled once. It ends with whoever waits for it.
            together = [tool("setpriv", "util-linux"), "--pdeathsig", "TERM", "--"]
            built = subprocess.run(
                [*together, *go, "-o", f"{building}/", *packages],
                cwd=self.folder,
                env={**os.environ, "CGO_ENABLED": "0"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            if built.returncode != 0:
                raise ClusterError(
                    f"`go build` failed in {self.folder}:\n{built.stdout[-4000:]}",
                    "the modules come from the proxy that `go env GOPROXY` names: can this machine reach it?",
                )
            then(building)
            building.chmod(0o755)
            building.rename(ready)
        finally:
            shutil.rmtree(building, ignore_errors=True)
        minutes = (time.monotonic() - begin) / 60
        print(f"built {self._subject} {self.version()} in {minutes:.1f} minutes", file=sys.stderr)

    def _hash(self, go: str) -> str:
        """What the programs are built from: sources, versions, compiler."""
        command = [go, "version"]
        compiler = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True).stdout
        total = hashlib.sha256(f"{FLAGS} {compiler}".encode())
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                total.update(path.name.encode() + b"\0" + path.read_bytes())
        return total.hexdigest()[:16]
