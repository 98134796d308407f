"""The model server that a run's `serve` asks for: one process beside the supervisor, until it is told to end."""

from __future__ import annotations

import os
import sys

from shoal.local.plan import Plan
from shoal.local.ports import HOST, choose, is_free
from shoal.local.process import Launch, Launcher, Process
from shoal.local.runs import Run
from shoal.resources import TFJob

NAME = "model-server"
USUAL_PORTS = [8500, 8501]
"""Of gRPC and REST, where nobody else has them."""

GRACE_SECONDS = 10.0
SHOAL = "from shoal.cli import main; main()"


class ModelProcess:
    """Starts one; `ended` tells whether it has come to its end since."""

    def __init__(self, run: Run, job: TFJob, plan: Plan) -> None:
        assert job.spec.serve is not None
        self.name = job.spec.serve.model_name or job.name
        self.log = run.log(NAME, 0)
        self.ended = False
        self._base_path = plan.local_path(job, job.spec.serve.base_path)
        self._folder = run.folder
        self._ports = USUAL_PORTS if all(map(is_free, USUAL_PORTS)) else choose(2)
        self.stopping = False
        self._process: Process | None = None

    @property
    def told(self) -> str:
        """Where it is reached, for people."""
        grpc, rest = self._ports
        return f"serving http://{HOST}:{rest}/v1/models/{self.name} (gRPC: {HOST}:{grpc})"

    async def run(self, launcher: Launcher) -> int:
        """From its start to its end; answers the exit code. Raises LaunchError where it cannot be started."""
        try:
            self._process = await launcher.start(self._launch())
            if self.stopping:
                await self.stop()
            return await self._process.wait()
        finally:
            self.ended = True

    async def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Let requests under way be answered, for `grace` seconds at most, and end it."""
        self.stopping = True
        if self._process is not None:
            await self._process.stop(grace)

    def _launch(self) -> Launch:
        grpc, rest = self._ports
        options = [f"--name={self.name}", f"--host={HOST}", f"--port={grpc}", f"--rest-port={rest}"]
        argv = (sys.executable, "-c", SHOAL, "serve", str(self._base_path), *options)
        return Launch(NAME, argv, dict(os.environ), self._folder, self.log)
