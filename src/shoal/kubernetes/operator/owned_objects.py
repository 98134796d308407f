"""What a job needs beside its pods: ConfigMap, claims, pod group, Services, TensorBoard.

Each is applied when it is missing, or differs from what the job wants now; a digest in an annotation tells. Claims
hold checkpoints and stay as long as the job; Services, ConfigMap and pod group go when no replica needs them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from shoal.kubernetes.claims import claims
from shoal.kubernetes.cluster_config import Object, config_map
from shoal.kubernetes.gang import pod_group
from shoal.kubernetes.labels import Owner, namespace
from shoal.kubernetes.operator.replica_pods import owner_reference
from shoal.kubernetes.services import service
from shoal.kubernetes.tensorboard import tensorboard
from shoal.resources import Role, TFJob
from shoal.training import is_distributed, replica_ids

DIGEST = "shoal.dev/applied"
"""Annotation: digest of what was applied."""

JOB = "shoal.dev/job"
"""Annotation of what a job (or server) cannot own: `namespace/name/uid` of it."""


def before_pods(job: TFJob) -> Iterator[Object]:
    """What must be there before a pod can start."""
    for single in (config_map(job), *claims(job), pod_group(job)):
        if single is not None:
            yield single


def beside_pods(job: TFJob) -> Iterator[Object]:
    """What pods can wait for: Services of the cluster's members, and the job's TensorBoard."""
    if is_distributed(job):
        yield from (service(job, id) for id in replica_ids(job) if id.role is not Role.EVALUATOR)
    yield from tensorboard(job)


def adopt(owner: Owner, uid: str, rendered: Object) -> Object:
    """The rendered object as the owner's own. A PersistentVolume has no namespace, so nobody in one can own it."""
    annotations = rendered["metadata"].setdefault("annotations", {})
    if "namespace" in rendered["metadata"]:
        rendered["metadata"]["ownerReferences"] = [owner_reference(owner, uid)]
    else:
        annotations[JOB] = f"{namespace(owner)}/{owner.name}/{uid}"
    annotations[DIGEST] = digest(rendered)
    return rendered


def digest(rendered: Object) -> str:
    text = json.dumps(rendered, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
