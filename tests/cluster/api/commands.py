"""The command line as somebody uses it who works in one namespace of a test cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import yaml

COMMAND = [sys.executable, "-c", "from shoal.cli import main; main()"]


class Result(NamedTuple):
    code: int
    out: str
    err: str


class Shoal:
    """The command line of somebody who works in one namespace; without any, in those of the contexts."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self.environment = {**os.environ, "SHOAL_ON": "kubernetes", "KUBECONFIG": str(kubeconfig)}
        self.namespace = namespace

    def begin(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, *words, *(["-n", self.namespace] if self.namespace else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def __call__(self, *words: str, stdin: str = "") -> Result:
        process = self.begin(*words)
        out, err = process.communicate(stdin, timeout=90)
        assert "Traceback" not in err, err
        return Result(process.returncode, out, err)

    def run(self, *documents: dict[str, Any], options: tuple[str, ...] = ()) -> Result:
        return self("run", "-", "--no-lint", *options, stdin=yaml.safe_dump_all(documents))
