"""The programs of Kubernetes, built from the Go module in `tools/`.

No registry offers a ready kube-apiserver, but every Go module proxy has its source.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.cluster.go_module import GoModule

TOOLS = Path(__file__).parent / "tools"
MODULE = GoModule(TOOLS, "Kubernetes", "k8s.io/kubernetes")
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
    version = kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".", 2)
    stamp = "k8s.io/component-base/version.git"
    flags = f"-X {stamp}Version={version} -X {stamp}Major={major} -X {stamp}Minor={minor}"
    return Binaries(MODULE.build(["./kubernetes", "./coredns"], flags, _link_programs))


def kubernetes_version() -> str:
    """The version of Kubernetes that the module asks for, as in v1.34.4."""
    return MODULE.version()


def _link_programs(folder: Path) -> None:
    for program in PROGRAMS:
        (folder / program).symlink_to("kubernetes")
