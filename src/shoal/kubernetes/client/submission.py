"""The documents of a manifest as objects of a cluster: what stands beside a job is there before it begins."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.kubernetes.client.delivery import Delivery
from shoal.kubernetes.operator.api import Object
from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.kinds import JOBS, Kind
from shoal.kubernetes.operator.views import Job, Owned
from shoal.resources import Document, Known, Other, TFJob, parse
from shoal.runs import RunError

BEFORE_JOBS_CAN_BE_TRIED = ("Namespace", "CustomResourceDefinition")
"""Where a manifest brings one of these along, the server cannot say beforehand whether it would take the job."""


class Submission:
    """What is to be written for some documents. Nothing is, until `send`, but for code that goes to a claim."""

    def __init__(
        self,
        documents: Sequence[Document],
        namespace: str | None,
        default_namespace: str,
        delivery: Delivery | None = None,
    ) -> None:
        """`namespace` is the one that the user named, for all documents. Raises RunError for one that names another,
        and for a job that `delivery` cannot bring its code to."""
        self._wanted = namespace
        self._default = default_namespace
        self._delivery = delivery
        self.jobs = [self._job(document.job) for document in documents if document.job]
        self.others = [_written(document.resource) for document in documents if document.job is None]
        self._placed: list[tuple[Kind[Owned], Object]] = []

    async def prepare(self, client: Client, replaced: Sequence[str]) -> None:
        """Find out whether the server would take all of it. `replaced` are jobs that are still there, and will not
        be."""
        known: dict[str, list[Kind[Owned]]] = {}
        for each in self.others:
            api = str(each["apiVersion"])
            if api not in known:
                known[api] = await client.kinds(api)
            kind = next((kind for kind in known[api] if kind.name == each["kind"]), None)
            if kind is None:
                raise RunError(f"the cluster has no kind {each['kind']} of {api}", "is its CRD installed?")
            self._placed.append((kind, self._place(each, kind)))
        tried = not any(each["kind"] in BEFORE_JOBS_CAN_BE_TRIED for each in self.others)
        for job in self.jobs:
            if tried and job["metadata"]["name"] not in replaced:
                await client.create(JOBS[job["apiVersion"]], job, dry_run=True)
        if self._delivery and (tried or not self._delivery.fits):
            await self._delivery.prepare(client, self.jobs[0]["metadata"]["namespace"], parse(self.jobs[0]))

    async def send(self, client: Client) -> list[Job]:
        """Apply the other objects, then create the jobs, each with its code."""
        for kind, each in self._placed:
            await client.apply(kind, each)
        return [await self._create(client, job) for job in self.jobs]

    async def _create(self, client: Client, job: Object) -> Job:
        created = await client.create(JOBS[job["apiVersion"]], job)
        if self._delivery:
            await self._delivery.send(client, created)
        return created

    def _job(self, job: TFJob) -> Object:
        if self._delivery:
            job.spec.code = self._delivery.spec()
        manifest = job.dump()
        manifest.pop("status", None)
        return self._within(manifest)

    def _place(self, manifest: Object, kind: Kind[Owned]) -> Object:
        metadata = manifest.get("metadata")
        if not isinstance(metadata, dict) or not metadata.get("name"):
            raise RunError(f"a {kind.name} without metadata.name", "give it one, so that it can be applied again")
        return self._within(manifest) if kind.namespaced else manifest

    def _within(self, manifest: Object) -> Object:
        metadata = manifest["metadata"]
        named = metadata.get("namespace")
        if named and self._wanted and named != self._wanted:
            raise RunError(
                f"{manifest['kind']} {metadata['name']} is of the namespace {named}, not of {self._wanted}",
                "leave --namespace out, or the one in the manifest",
            )
        return {**manifest, "metadata": {**metadata, "namespace": named or self._wanted or self._default}}


def _written(resource: Known | Other) -> Object:
    return resource.value if isinstance(resource, Other) else resource.dump()
