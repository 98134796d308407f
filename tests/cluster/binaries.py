"""The programs of Kubernetes, built once from the Go module in `tools/` and kept in the cache.

No registry offers a ready kube-apiserver, but every Go module proxy has its source. What is built is kept under the
hash of all it is built from, so that a change of versions builds anew and a second checkout builds nothing.
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
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.cache import cache_folder, locked
from tests.cluster.errors import ClusterError
from tests.cluster.programs import tool

TOOLS = Path(__file__).parent / "tools"
FLAGS = ("-mod=readonly", "-buildvcs=false", "-trimpath")
PROGRAMS = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
)


@dataclass(frozen=True)
class Binaries:
    """A folder of programs: those of Kubernetes, etcd and coredns."""

    folder: Path

    def __getitem__(self, program: str) -> str:
        return str(self.folder / program)


def binaries() -> Binaries:
    """Every program a cluster needs. Builds them when the cache has none, which takes minutes."""
    go = shutil.which("go")
    if go is None:
        raise ClusterError(
            "the programs of Kubernetes are built from source, and there is no `go` on the PATH",
            "install Go 1.24 or newer from https://go.dev/dl/",
        )
    ready = cache_folder() / _hash(go)
    if not ready.exists():
        with locked(cache_folder() / "build.lock"):
            if not ready.exists():
                _build(go, ready)
    return Binaries(ready)


def kubernetes_version() -> str:
    """The version of Kubernetes that the module asks for, as in v1.34.4."""
    found = re.search(r"^\s*k8s\.io/kubernetes (v\S+)$", (TOOLS / "go.mod").read_text(), re.MULTILINE)
    if not found:
        raise ClusterError(f"{TOOLS / 'go.mod'} does not name k8s.io/kubernetes")
    return found.group(1)


def _build(go: str, ready: Path) -> None:
    print("building Kubernetes from source, which takes some minutes once …", file=sys.stderr)
    begin = time.monotonic()
    version = kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".", 2)
    stamp = "k8s.io/component-base/version.git"
    flags = f"-s -w -X {stamp}Version={version} -X {stamp}Major={major} -X {stamp}Minor={minor}"
    building = Path(tempfile.mkdtemp(prefix="building-", dir=ready.parent))
    try:
        # One call for all: packages that the programs share are compiled once. It ends with whoever waits for it.
        together = [tool("setpriv", "util-linux"), "--pdeathsig", "TERM", "--"]
        command = [*together, go, "build", *FLAGS, "-ldflags", flags]
        built = subprocess.run(
            [*command, "-o", f"{building}/", "./kubernetes", "./coredns"],
            cwd=TOOLS,
            env={**os.environ, "CGO_ENABLED": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if built.returncode != 0:
            raise ClusterError(
                f"`go build` failed in {TOOLS}:\n{built.stdout[-4000:]}",
                "the modules come from the proxy that `go env GOPROXY` names: can this machine reach it?",
            )
        for program in PROGRAMS:
            (building / program).symlink_to("kubernetes")
        building.chmod(0o755)
        building.rename(ready)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    print(f"built Kubernetes {version} in {(time.monotonic() - begin) / 60:.1f} minutes", file=sys.stderr)


def _hash(go: str) -> str:
    """What the programs are built from: sources, versions, compiler."""
    compiler = subprocess.run([go, "version"], cwd=TOOLS, capture_output=True, text=True, check=True).stdout
    total = hashlib.sha256(f"{FLAGS} {compiler}".encode())
    for path in sorted(TOOLS.rglob("*")):
        if path.is_file():
            total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]
