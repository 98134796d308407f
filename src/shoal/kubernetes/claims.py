"""`storage` as claims: for an NFS export a volume and a claim bound to it, for a class (Ceph's, say) a claim."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.labels import Owner, metadata, namespace, object_name, owner_labels
from shoal.resources import StorageClaim

DEFAULT_SIZE = "10Gi"


def claims(owner: Owner) -> Iterator[Object]:
    """The objects to make; none for a claim that exists."""
    for storage in owner.spec.storage or []:
        if storage.nfs:
            yield _nfs_volume(owner, storage)
        if not storage.existing_claim:
            yield _claim(owner, storage)


def claim_name(owner: Owner, storage: StorageClaim) -> str:
    return storage.existing_claim or object_name(owner, storage.name)


def volume_name(owner: Owner, storage: StorageClaim) -> str:
    """PersistentVolumes have no namespace, so the name carries it."""
    return f"{namespace(owner)}-{object_name(owner, storage.name)}"


def pod_volumes(owner: Owner) -> tuple[list[Object], list[Object]]:
    """(volumes, volumeMounts) that every replica gets."""
    volumes, mounts = [], []
    for storage in owner.spec.storage or []:
        source: Object = {"claimName": claim_name(owner, storage)}
        mount: Object = {"name": storage.name, "mountPath": storage.mount_path}
        if storage.read_only:
            source["readOnly"] = mount["readOnly"] = True
        volumes.append({"name": storage.name, "persistentVolumeClaim": source})
        mounts.append(mount)
    return volumes, mounts


def _nfs_volume(owner: Owner, storage: StorageClaim) -> Object:
    assert storage.nfs is not None
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": volume_name(owner, storage), "labels": owner_labels(owner)},
        "spec": {
            "capacity": {"storage": storage.size or DEFAULT_SIZE},
            "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "claimRef": {"namespace": namespace(owner), "name": claim_name(owner, storage)},
            "nfs": {"server": storage.nfs.server, "path": storage.nfs.path},
        },
    }


def _claim(owner: Owner, storage: StorageClaim) -> Object:
    spec: Object = {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": storage.size or DEFAULT_SIZE}},
    }
    if storage.nfs:
        spec |= {"storageClassName": "", "volumeName": volume_name(owner, storage)}
    elif storage.storage_class_name is not None:
        spec["storageClassName"] = storage.storage_class_name
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(owner, claim_name(owner, storage)),
        "spec": spec,
    }
