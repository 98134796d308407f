"""`storage` as claims: for an NFS export a volume and a claim bound to it, for a class (Ceph's, say) a claim."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.labels import job_labels, metadata, namespace, object_name
from shoal.resources import StorageClaim, TFJob

DEFAULT_SIZE = "10Gi"


def claims(job: TFJob) -> Iterator[Object]:
    """The objects to make; none for a claim that exists."""
    for storage in job.spec.storage or []:
        if storage.nfs:
            yield _nfs_volume(job, storage)
        if not storage.existing_claim:
            yield _claim(job, storage)


def claim_name(job: TFJob, storage: StorageClaim) -> str:
    return storage.existing_claim or object_name(job, storage.name)


def volume_name(job: TFJob, storage: StorageClaim) -> str:
    """PersistentVolumes have no namespace, so the name carries it."""
    return f"{namespace(job)}-{object_name(job, storage.name)}"


def pod_volumes(job: TFJob) -> tuple[list[Object], list[Object]]:
    """(volumes, volumeMounts) that every replica gets."""
    volumes, mounts = [], []
    for storage in job.spec.storage or []:
        source: Object = {"claimName": claim_name(job, storage)}
        mount: Object = {"name": storage.name, "mountPath": storage.mount_path}
        if storage.read_only:
            source["readOnly"] = mount["readOnly"] = True
        volumes.append({"name": storage.name, "persistentVolumeClaim": source})
        mounts.append(mount)
    return volumes, mounts


def _nfs_volume(job: TFJob, storage: StorageClaim) -> Object:
    assert storage.nfs is not None
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": volume_name(job, storage), "labels": job_labels(job)},
        "spec": {
            "capacity": {"storage": storage.size or DEFAULT_SIZE},
            "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "claimRef": {"namespace": namespace(job), "name": claim_name(job, storage)},
            "nfs": {"server": storage.nfs.server, "path": storage.nfs.path},
        },
    }


def _claim(job: TFJob, storage: StorageClaim) -> Object:
    spec: Object = {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": storage.size or DEFAULT_SIZE}},
    }
    if storage.nfs:
        spec |= {"storageClassName": "", "volumeName": volume_name(job, storage)}
    elif storage.storage_class_name is not None:
        spec["storageClassName"] = storage.storage_class_name
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(job, claim_name(job, storage)),
        "spec": spec,
    }
