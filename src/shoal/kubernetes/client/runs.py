"""The TFJobs of one namespace as runs, and its ModelServers (`shoal.runs.Runs`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from shoal.kubernetes.client.connection import NO_TFJOBS, Connection
from shoal.kubernetes.client.delivery import Delivery
from shoal.kubernetes.client.run import ClusterRun
from shoal.kubernetes.client.server import ClusterServer
from shoal.kubernetes.client.server import look as look_at_server
from shoal.kubernetes.client.snapshots import OPERATOR_PODS, look, owner_uid
from shoal.kubernetes.client.submission import Submission
from shoal.kubernetes.client.watching import Watching
from shoal.kubernetes.clusters.room import Room
from shoal.kubernetes.clusters.seen import see
from shoal.kubernetes.operator.api import APIError, NotFoundError
from shoal.kubernetes.operator.kinds import JOBS, PODS, SERVERS
from shoal.kubernetes.operator.views import Job, Pod, Server
from shoal.resources import Document
from shoal.resources.suggestion import nearest
from shoal.runs import Followed, Listed, ListedServer, MissingError, Run, RunError, Show

GONE_SECONDS = 30.0
"""How long a job that is replaced may take to be gone."""


class ClusterRuns:
    """Implements `shoal.runs.Runs`. A run goes on while an operator looks after it, whoever watches."""

    look_seconds = 0.5

    def __init__(
        self, context: str | None, namespace: str | None, options: str, delivery: Delivery | None = None
    ) -> None:
        """`options` are what a command line names the cluster with; `delivery` is the code of jobs that are created.
        Raises RunError where there is no such cluster."""
        self._connection = Connection(context)
        self._client = self._connection.client
        self._wanted = namespace
        self._namespace = namespace or self._connection.namespace
        self._named = options
        self._delivery = delivery

    @property
    def options(self) -> str:
        default = self._namespace == self._connection.namespace
        return self._named + ("" if default else f" -n {self._namespace}")

    @property
    def after_interruption(self) -> str:
        watch, wait, stop = (f"`shoal {words} NAME{self.options}`" for words in ("logs -f", "wait", "stop"))
        return f"it goes on in the cluster\nhint: watch it with {watch}, wait for it with {wait}, stop it with {stop}"

    def find(self, name: str) -> ClusterRun:
        found = self._connection.run(self._find(name))
        if found:
            return ClusterRun(self._connection, found[0], self.options)
        known = [run.name for run, _ in self.all()]
        listed = f"known runs: {', '.join(known[:5])}" if known else f"start one: shoal run FILE{self.options}"
        raise self._missing("run", name, known, listed)

    def find_server(self, name: str) -> ClusterServer:
        found = self._connection.run(self._servers())
        known = [server.metadata.name for server in found]
        if name in known:
            return ClusterServer(self._connection, found[known.index(name)])
        listed = f"known model servers: {', '.join(known[:5])}" if known else "kubectl apply makes one"
        raise self._missing("model server", name, known, listed)

    def servers(self) -> list[ListedServer]:
        found = self._connection.run(self._servers())
        return [ListedServer(ClusterServer(self._connection, each), look_at_server(each)) for each in found]

    def all(self, replicas: bool = False) -> list[Listed]:
        return self._connection.run(self._all(replicas))

    def create(self, documents: Sequence[Document], source: str, replace: bool) -> list[Run]:
        submission = Submission(documents, self._wanted, self._connection.namespace, self._delivery)
        namespaces = {job["metadata"]["namespace"] for job in submission.jobs}
        if len(namespaces) > 1:
            raise RunError("the jobs are of several namespaces", "run them from files of their own")
        self._namespace = namespaces.pop()
        earlier = [run for job in submission.jobs if (run := self._existing(job["metadata"]["name"], replace))]
        self._connection.run(submission.prepare(self._client, [run.name for run in earlier]))
        for run in earlier:
            run.remove()
            self._connection.run(_until_gone(run))
        created = self._connection.run(submission.send(self._client))
        return [ClusterRun(self._connection, job, self.options) for job in created]

    def room(self, namespace: str | None) -> Room:
        """What is free for pods of the namespace; by default of the one where runs are."""
        return self._connection.run(see(self._client, namespace or self._namespace))

    def abandon(self) -> None:
        """Do not wait any more for what was asked, not even at the command's end."""
        self._connection.abandoned = True

    def leave(self, run: Run) -> None:
        """Nothing to do: it is the operator's."""

    def follow(self, runs: Sequence[Run], show: Show) -> Followed:
        watched = [run for run in runs if isinstance(run, ClusterRun)]
        watching = Watching(self._client, watched, show)
        try:
            self._connection.run(watching.until_ended())
        except KeyboardInterrupt:
            return Followed(watching.looks(), interrupted=True)
        return Followed(watching.looks(), interrupted=False)

    def _existing(self, name: str, replace: bool) -> ClusterRun | None:
        """The job that has the name. It is not touched unless the user said so."""
        found = self._connection.run(self._find(name))
        if not found:
            return None
        run = ClusterRun(self._connection, found[0], self.options)
        seen = run.look()
        if seen.alive:
            raise RunError(
                f"a run named {name!r} is running",
                f"stop it with `shoal stop {name}{self.options}`, or use --name for another",
            )
        if not replace:
            raise RunError(
                f"a run named {name!r} exists ({seen.phase.lower()})",
                "start over with --replace, or use --name for another",
            )
        return run

    def _missing(self, what: str, name: str, known: Sequence[str], listed: str) -> MissingError:
        meant = nearest(name, known)
        told = f"there is no {what} named {name!r} in the namespace {self._namespace!r}"
        return MissingError(told, f"did you mean {meant}?" if meant else listed, known)

    async def _servers(self) -> list[Server]:
        """The latest first; none where the cluster has no such kind."""
        try:
            found, _ = await self._client.list(SERVERS, self._namespace)
        except NotFoundError:
            return []
        for server in found:
            server.api_version = SERVERS.api_version  # items of a list do not say it
        return sorted(found, key=_newest, reverse=True)

    async def _find(self, name: str = "") -> list[Job]:
        """Jobs of both API groups, by name or all. A cluster may have the one CRD, or the user rights to one, alone."""
        found: list[Job] = []
        refused: list[APIError] = []
        for kind in JOBS.values():
            try:
                jobs, _ = await self._client.list(kind, self._namespace, fields=f"metadata.name={name}" if name else "")
            except APIError as fault:
                refused.append(fault)
            else:
                for job in jobs:
                    job.api_version = kind.api_version  # items of a list do not say it
                found += jobs
        forbidden = [fault for fault in refused if not isinstance(fault, NotFoundError)]
        if forbidden and (len(refused) == len(JOBS) or (name and not found)):
            raise forbidden[0]
        if len(refused) == len(JOBS):
            raise RunError(*NO_TFJOBS)
        return found

    async def _all(self, replicas: bool) -> list[Listed]:
        jobs = await self._find()
        pods: dict[str, list[Pod]] = {}
        if replicas:
            for pod in (await self._client.list(PODS, self._namespace, OPERATOR_PODS))[0]:
                pods.setdefault(owner_uid(pod), []).append(pod)
        jobs.sort(key=_newest, reverse=True)
        return [
            Listed(ClusterRun(self._connection, job, self.options), look(job, pods.get(job.metadata.uid, ())))
            for job in jobs
        ]


def _newest(object: Job | Server) -> tuple[str, str]:
    return str(object.metadata.creation_timestamp), object.metadata.name


async def _until_gone(run: ClusterRun) -> None:
    try:
        async with asyncio.timeout(GONE_SECONDS):
            while await run.current() is not None:
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise RunError(f"{run.name} is not gone after {GONE_SECONDS:g} s", "who holds a finalizer on it?") from None
