"""The ModelServer that a job's `serve` asks for.

It is not owned by the job: a job is removed when its time to live is over, and what it has made goes on being used. A
label says where it came from.
"""

from __future__ import annotations

from shoal.kubernetes.claims import claim_name
from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.labels import JOB_NAME, namespace
from shoal.resources import SHOAL_API, StorageClaim, TFJob
from shoal.resources.model_place import URI, holds, mounted_claim
from shoal.training.duties import leader

SERVED = "-served"
"""Ends the names of claims that the server makes: the job has its own."""


def model_server(job: TFJob) -> Object:
    """The server of a job that has `serve`, with nothing in it but what the job says."""
    serve = job.spec.serve
    assert serve is not None
    spec = serve.dump()
    model = {"name": spec.pop("modelName", job.name), "basePath": spec.pop("basePath")}
    if storage := _storage(job, serve.base_path):
        spec["storage"] = [storage.dump()]
    about = {"name": job.name, "namespace": namespace(job), "labels": {JOB_NAME: job.name}}
    return {"apiVersion": SHOAL_API, "kind": "ModelServer", "metadata": about, "spec": {"models": [model], **spec}}


def _storage(job: TFJob, base_path: str) -> StorageClaim | None:
    """The storage on which the leader sees the path. An export is claimed anew, so that it stays when the job's claim
    goes."""
    if URI.match(base_path):
        return None
    for storage in job.spec.storage or []:
        place = storage.mount_path
        if holds(place, base_path):
            if storage.nfs:
                return StorageClaim(name=f"{storage.name}{SERVED}", mount_path=place, nfs=storage.nfs)
            return StorageClaim(name=storage.name, mount_path=place, existing_claim=claim_name(job, storage))
    role = job.replicas[leader(job).role]
    found = mounted_claim(role.template["spec"], role.container, base_path)
    return StorageClaim(name="model", mount_path=found.mount_path, existing_claim=found.claim) if found else None
