"""PersistentVolumes that operators made for jobs, servers and the like which are gone.

A volume belongs to no namespace, so nobody in one can own it, and the garbage collector leaves it. All volumes are
compared with all jobs and servers: that needs no memory of what was deleted while nobody watched.
"""

from __future__ import annotations

import structlog

from shoal.kubernetes.labels import OPERATOR, OPERATOR_NAME
from shoal.kubernetes.operator.api import API, APIError, NotFoundError, UnreachableError
from shoal.kubernetes.operator.caches import Caches
from shoal.kubernetes.operator.kinds import VOLUMES
from shoal.kubernetes.operator.owned_objects import JOB

log = structlog.get_logger(__name__)


async def delete_left_volumes(api: API, caches: Caches, namespace: str | None) -> None:
    """Delete the volumes of owners that are not there any more; of `namespace` alone where one is given."""
    try:
        volumes, _ = await api.list(VOLUMES, None, f"{OPERATOR_NAME}={OPERATOR}")
        # Read after the volumes: the owner of each volume that was listed has been in the cache before.
        owners = {job.metadata.uid for job in caches.all_jobs()}
        owners |= {each.metadata.uid for store in caches.deployed.values() for each in store.all()}
        for volume in volumes:
            place, _, rest = volume.metadata.annotations.get(JOB, "").partition("/")
            uid = rest.rpartition("/")[2]
            if not uid or uid in owners or (namespace is not None and place != namespace):
                continue
            try:
                await api.delete(VOLUMES, None, volume.metadata.name, uid=volume.metadata.uid)
            except NotFoundError:
                continue
    except (APIError, UnreachableError) as fault:
        # An operator of one namespace may have no rights on volumes, and then makes none either.
        log.info("cannot look for volumes that were left", fault=str(fault))
