"""The real `kubectl` against a test cluster."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.errors import ClusterError
from tests.cluster.waiting import wait_until


@dataclass(frozen=True)
class Kubectl:
    """kubectl as one user in one namespace; where that is empty, in none by force: objects say where they belong."""

    program: str
    kubeconfig: Path
    namespace: str = "default"

    def within(self, namespace: str) -> Kubectl:
        """The same user in another namespace."""
        return replace(self, namespace=namespace)

    def try_(self, *words: str, stdin: str | None = None, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a command and look at its exit code oneself."""
        within = [f"--namespace={self.namespace}"] if self.namespace else []
        command = [self.program, f"--kubeconfig={self.kubeconfig}", *within, *words]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=timeout, check=False)

    def __call__(self, *words: str, stdin: str | None = None, timeout: float = 60) -> str:
        """Run a command and return what it prints. Raises ClusterError when it fails."""
        done = self.try_(*words, stdin=stdin, timeout=timeout)
        if done.returncode != 0:
            raise ClusterError(f"kubectl {' '.join(words)} failed with {done.returncode}: {done.stderr or done.stdout}")
        return done.stdout

    def json(self, *words: str) -> Any:
        """The answer of `get` as data."""
        return json.loads(self(*words, "-o", "json"))

    def exists(self, what: str) -> bool:
        """Whether an object, named as in pod/worker-0, is there."""
        return self.try_("get", what, "-o", "name").returncode == 0

    def apply(self, *objects: dict[str, Any]) -> None:
        """Apply objects by server-side apply."""
        self("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(objects))

    def wait_for(self, what: str, condition: Callable[[Any], object], timeout: float = 30) -> Any:
        """Read an object until it is there and `condition` holds of it; return it."""
        seen: list[Any] = [None]

        def holds() -> bool:
            done = self.try_("get", what, "-o", "json")
            seen[0] = json.loads(done.stdout) if done.returncode == 0 else None
            return seen[0] is not None and bool(condition(seen[0]))

        wait_until(holds, timeout, lambda: f"the awaited state of {what}; its status: {(seen[0] or {}).get('status')}")
        return seen[0]
