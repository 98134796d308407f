"""One TFJob of a cluster as a run (`shoal.runs.Run`)."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from typing import Literal

from shoal.history import by_step, measurements
from shoal.kubernetes.client.connection import NO_KUBECTL, Connection
from shoal.kubernetes.client.events import events_of
from shoal.kubernetes.client.job_pods import JobPods
from shoal.kubernetes.client.logs import PROGRESS, PodLogs
from shoal.kubernetes.client.snapshots import alive, look, pods_of, replicas, typed
from shoal.kubernetes.labels import object_name
from shoal.kubernetes.operator.api import APIError, NotFoundError, Object
from shoal.kubernetes.operator.kinds import JOBS
from shoal.kubernetes.operator.views import Job
from shoal.kubernetes.web_app import SERVICE_PORT
from shoal.resources import ManifestError, ReplicaType, TFJob
from shoal.runs import Board, Description, Lines, LogChoice, Look, Measurement, Place, RunError

HISTORY_LINES = 20_000
"""So many lines are read from the end of a log for the history of a job."""

LOG_SECONDS = 5.0
"""How long a log may be silent before it is taken for read."""

REMOVED = "Removed"
"""The phase of a job that was deleted while it was watched."""


class ClusterRun:
    """A job by its uid: another one of the same name is not this run."""

    def __init__(self, connection: Connection, job: Job, options: str) -> None:
        self._connection = connection
        self._client = connection.client
        self._options = options
        self._known = job
        self._stored_as = JOBS[job.api_version]

    @property
    def kind(self) -> Literal["TFJob"]:
        return "TFJob"

    @property
    def name(self) -> str:
        return self._known.metadata.name

    @property
    def place(self) -> Place:
        return Place("Namespace", self._known.metadata.namespace, self._connection.context or "")

    @property
    def alive(self) -> bool:
        return alive(self._latest())

    def look(self) -> Look:
        return self._connection.run(self._look())

    def outcome(self) -> str | None:
        return look(self._latest(), ()).outcome

    def describe(self) -> Description:
        seen = self.look()
        events = self._connection.run(events_of(self._client, self._known, time.time()))
        try:
            return Description(seen, typed(self._known), events=events)
        except ManifestError as fault:
            return Description(seen, None, str(fault), events)

    def job(self) -> TFJob:
        return typed(self._connection.run(self._current()))

    def suspend(self, suspended: bool) -> None:
        self._patch({"runPolicy": {"suspend": suspended or None}})

    def scale(self, workers: int) -> None:
        specs = self._known.spec["tfReplicaSpecs"]
        key = next(key for key in specs if ReplicaType.parse(key) is ReplicaType.WORKER)
        self._patch({"tfReplicaSpecs": {key: {"replicas": workers}}})

    def remove(self) -> None:
        about = self._known.metadata
        try:
            self._connection.run(self._client.delete(self._stored_as, about.namespace, about.name, uid=about.uid))
        except RunError as fault:
            if not isinstance(fault.__cause__, NotFoundError):
                raise

    def replicas_with_logs(self) -> list[str]:
        pods = self._connection.run(pods_of(self._client, self._known))
        if found := [str(id) for id, _, _ in replicas(self._known, pods)]:
            return found
        try:
            roles = typed(self._known).replicas.items()
        except ManifestError:
            return []
        return [f"{role.value}-{index}" for role, spec in roles for index in range(spec.count)]

    def log_lines(self, choice: LogChoice) -> Iterator[Lines]:
        return self._connection.iterate(PodLogs(self._client, JobPods(self._client, self._known), choice).lines())

    def history(self) -> list[Measurement]:
        return self._connection.run(self._history())

    def tensorboard(self, port: int) -> Board:
        """The TensorBoard that the job asks for, through kubectl: a tunnel is a protocol of its own, and kubectl's is
        the one that every cluster is tested with."""
        job = self.job()
        board = job.spec.tensor_board
        if board is None:
            raise RunError(f"{self.name} asks for no TensorBoard", "name what to show in spec.tensorBoard.logDirs")
        if shutil.which("kubectl") is None:
            raise RunError(*NO_KUBECTL)
        command = ["kubectl", "--namespace", self._known.metadata.namespace]
        if self._connection.context:
            command += ["--context", self._connection.context]
        command += ["port-forward", "--address", "127.0.0.1", f"service/{object_name(job, 'tensorboard')}"]
        return Board([*command, f"{port}:{SERVICE_PORT}"], list(board.log_dirs))

    def left_behind(self, look: Look) -> Iterator[str]:
        if look.phase != REMOVED:
            yield f"logs: shoal logs {self.name}{self._options}"

    async def current(self) -> Job | None:
        """The job as it is stored; None once it is gone."""
        about = self._known.metadata
        try:
            job = await self._client.get(self._stored_as, about.namespace, about.name)
        except NotFoundError:
            return None
        if job.metadata.uid != about.uid:
            return None
        self._known = job
        return job

    async def _current(self) -> Job:
        job = await self.current()
        if job is None:
            raise RunError(f"run {self.name!r} is gone", "it was removed, or its time to live was over")
        return job

    def _latest(self) -> Job:
        return self._connection.latest(self._current(), self._known)

    async def _look(self) -> Look:
        job = await self._current()
        return look(job, await pods_of(self._client, job))

    async def _history(self) -> list[Measurement]:
        """From the progress lines in the leader's log, which is there as long as its pod."""
        job = await self._current()
        progress = look(job, ()).snapshot.status.progress
        told: list[bytes] = []
        for each in await JobPods(self._client, job).writers():
            if progress is None or each.replica != progress.replica:
                continue
            about, params = each.pod.metadata, {"container": each.container, "tailLines": str(HISTORY_LINES)}
            try:
                async for lines in self._client.log_stream(about.namespace, about.name, params, LOG_SECONDS):
                    told += (line.removeprefix(PROGRESS) for line in lines if line.startswith(PROGRESS))
            except APIError as fault:
                if fault.code not in (400, 404):  # it has not started, or is gone
                    raise
        return by_step(measurements(told))

    def _patch(self, spec: Object) -> None:
        about = self._known.metadata
        patched = self._client.patch(self._stored_as, about.namespace, about.name, {"spec": spec})
        self._known = self._connection.run(patched)
