"""Helm, built from the Go module in `helm/`, which pins it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.errors import ClusterError
from tests.cluster.go_module import GoModule

MODULE = GoModule(Path(__file__).parent / "helm", "Helm", "helm.sh/helm/v3")
CHART = Path(__file__).parents[2] / "charts" / "shoal"


@dataclass(frozen=True)
class Helm:
    """Helm with a home of its own in `home`, so that the user's plugins and repositories are left alone."""

    program: Path
    home: Path

    def try_(self, *words: str | Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command and look at its exit code oneself."""
        own = {f"HELM_{kind}_HOME": str(self.home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
        command = [str(self.program), *map(str, words)]
        return subprocess.run(
            command, input=stdin, env={**os.environ, **own}, capture_output=True, text=True, timeout=120, check=False
        )

    def __call__(self, *words: str | Path, stdin: str | None = None) -> str:
        """Run a command and return what it prints. Raises ClusterError when it fails."""
        done = self.try_(*words, stdin=stdin)
        if done.returncode != 0:
            raise ClusterError(f"helm {' '.join(map(str, words))} failed with {done.returncode}: {done.stderr}")
        return done.stdout

    def template(self, values: dict[str, Any], namespace: str, release: str = "shoal") -> Iterator[dict[str, Any]]:
        """The objects that the chart makes of `values`, without CRDs."""
        text = self("template", release, CHART, f"--namespace={namespace}", "--values=-", stdin=yaml.safe_dump(values))
        return (each for each in yaml.safe_load_all(text) if each)


def helm_program() -> Path:
    """The program. Builds it when the cache has none, which takes minutes."""
    kubernetes = MODULE.version("k8s.io/client-go").split(".")[1]
    stamps = {"internal/version.version": MODULE.version()}
    # What Helm takes for the cluster's version when it sees none; as built by itself, it would be 1.20.
    for package in ("pkg/lint/rules", "pkg/chartutil"):
        stamps |= {f"{package}.k8sVersionMajor": "1", f"{package}.k8sVersionMinor": kubernetes}
    flags = " ".join(f"-X helm.sh/helm/v3/{name}={value}" for name, value in stamps.items())
    return MODULE.build(["helm.sh/helm/v3/cmd/helm"], flags) / "helm"
