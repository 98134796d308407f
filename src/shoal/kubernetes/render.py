"""A TFJob as the plain Kubernetes objects that run it, in the order in which they are needed."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.kubernetes.claims import claims
from shoal.kubernetes.cluster_config import Object, config_map
from shoal.kubernetes.gang import pod_group
from shoal.kubernetes.gpu_names import GPU_NAMES, GPUNames
from shoal.kubernetes.services import service
from shoal.kubernetes.tensorboard import tensorboard
from shoal.kubernetes.workloads import Workload, workload
from shoal.resources import Role, TFJob
from shoal.training import is_distributed, replica_ids


def render(job: TFJob, kind: Workload = Workload.PODS, gpus: GPUNames = GPU_NAMES) -> Iterator[Object]:
    """ConfigMap, claims, pod group, Services, replicas, TensorBoard."""
    for single in (config_map(job), *claims(job), pod_group(job)):
        if single is not None:
            yield single
    ids = replica_ids(job)
    if is_distributed(job):
        yield from (service(job, id) for id in ids if id.role is not Role.EVALUATOR)
    yield from (workload(job, id, kind, gpus) for id in ids)
    yield from tensorboard(job)
