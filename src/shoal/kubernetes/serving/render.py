"""A ModelServer as the plain Kubernetes objects that run it, in the order in which they are needed."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.kubernetes.claims import claims
from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.gpu_names import GPU_NAMES, GPUNames
from shoal.kubernetes.serving.config import config_map
from shoal.kubernetes.serving.replicas import autoscaler, deployment, disruption_budget
from shoal.kubernetes.serving.routes import http_route, ingress, service
from shoal.resources import ModelServer


def render_server(server: ModelServer, gpus: GPUNames = GPU_NAMES) -> Iterator[Object]:
    """ConfigMap, claims, Deployment, Service, disruption budget; autoscaler, Ingress and HTTPRoute where asked for."""
    yield config_map(server)
    yield from claims(server)
    yield deployment(server, gpus)
    yield service(server)
    yield disruption_budget(server)
    for wanted in (autoscaler(server), ingress(server), http_route(server)):
        if wanted is not None:
            yield wanted
