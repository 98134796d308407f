"""The examples, run as a user would."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.integration.harness import Job, Shoal

ROOT = Path(__file__).parents[3]
MNIST = ROOT / "examples" / "mnist"

GOOD_ENOUGH = 0.9
"""Accuracy on held-out digits that every example must reach."""


@dataclass
class Example:
    """A manifest of `examples/mnist`, with other arguments for the script if a test wants more or fewer steps."""

    name: str
    arguments: tuple[str, ...] = ()
    policy: dict[str, Any] | None = None
    restart: str | None = None

    def manifest(self, folder: Path) -> Path:
        """Where the manifest lies: the example's own, or a changed copy beside copies of the scripts."""
        source = MNIST / f"{self.name}.yaml"
        if not (self.arguments or self.policy or self.restart):
            return source
        document = yaml.safe_load(source.read_text())
        for replica in document["spec"]["tfReplicaSpecs"].values():
            container = replica["template"]["spec"]["containers"][0]
            # One template may stand for all roles: YAML's aliases are one object here.
            container["command"] = [*container["command"][:4], *self.arguments]
            replica["restartPolicy"] = self.restart or replica["restartPolicy"]
        document["spec"]["runPolicy"] |= self.policy or {}
        for script in MNIST.glob("*.py"):
            (folder / script.name).write_text(script.read_text())
        path = folder / source.name
        path.write_text(yaml.safe_dump(document))
        return path

    def start(self, shoal: Shoal, folder: Path, *words: str) -> Job:
        return shoal.detach(self.manifest(folder), *words)


def accuracy(job: Job) -> float:
    return job.status["progress"]["metrics"]["accuracy"]


def signature(model: Path) -> dict[str, Any]:
    """What the exported model's `serving_default` takes and gives, as a fresh process finds it."""
    code = """
import json, sys, numpy as np, tensorflow as tf
model = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
out = model(images=tf.constant(np.zeros([2, 784], np.float32)))
print(json.dumps({name: [value.dtype.name, value.shape.as_list()] for name, value in out.items()}))
"""
    told = subprocess.run(
        [sys.executable, "-c", code, str(model)], capture_output=True, text=True, timeout=120, check=False
    )
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout.splitlines()[-1])
