"""How a model server is reached: a Service, and from outside an Ingress or a route of the Gateway API.

REST names the model in its path, so a host can be shared by servers of different models with no path rewritten. Paths
match by whole segments, and `/v1/models/NAME:predict` is another segment than `/v1/models/NAME`: hence the list.
"""

from __future__ import annotations

from collections.abc import Iterator

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.ingress import ingress_object, outside_url
from shoal.kubernetes.labels import metadata, namespace
from shoal.kubernetes.serving.pods import selector
from shoal.resources import ModelServer
from shoal.resources.model_server import Ingress

METHODS = ("predict", "classify", "regress")
NGINX = "nginx.ingress.kubernetes.io"


def service(server: ModelServer) -> Object:
    """`SERVER`: gRPC and REST within the cluster."""
    ports = server.spec.service_ports
    listed: list[Object] = [
        {"name": "grpc", "port": ports.grpc, "targetPort": "grpc"},
        {"name": "rest", "port": ports.rest, "targetPort": "rest"},
    ]
    if ports.legacy_grpc is not None:
        listed.append({"name": "legacy-grpc", "port": ports.legacy_grpc, "targetPort": "grpc"})
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(server, server.name),
        "spec": {"selector": selector(server), "ports": listed},
    }


def url(server: ModelServer) -> str:
    """Where REST is reached, before `/v1`: from outside where the spec names a host, else within the cluster."""
    ingress, gateway = server.spec.ingress, server.spec.gateway
    if ingress and ingress.host:
        return outside_url(ingress, ingress.path or "")
    if gateway and gateway.host:
        return f"http://{gateway.host}{(gateway.path or '').rstrip('/')}"
    return f"http://{_host(server)}:{server.spec.service_ports.rest}"


def grpc(server: ModelServer) -> str:
    """Where gRPC is reached within the cluster."""
    return f"{_host(server)}:{server.spec.service_ports.grpc}"


def ingress(server: ModelServer) -> Object | None:
    """None where the spec asks for none."""
    wanted = server.spec.ingress
    if wanted is None:
        return None
    backend = {"service": {"name": server.name, "port": {"name": "rest"}}}
    paths: list[Object]
    if wanted.path is None:
        paths = [{"path": path, "pathType": kind, "backend": backend} for kind, path in _model_paths(server)]
    elif wanted.path == "/":
        paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    else:
        below = f"{wanted.path.rstrip('/')}(/|$)(.*)"
        paths = [{"path": below, "pathType": "ImplementationSpecific", "backend": backend}]
    return ingress_object(server, wanted, paths, _annotations(wanted))


def http_route(server: ModelServer) -> Object | None:
    """None where the spec names no Gateway."""
    wanted = server.spec.gateway
    if wanted is None:
        return None
    port = server.spec.service_ports.rest
    backends = [
        {"name": name, "port": port, "weight": weight} for name, weight in (wanted.weights or {server.name: 1}).items()
    ]
    rules: list[Object]
    if wanted.path is None:
        by_model = ([_match(kind, path) for kind, path in _paths_of(model.name)] for model in server.spec.models)
        rules = [{"matches": matches, "backendRefs": backends} for matches in by_model]
    else:
        rules = [{"matches": [_match("Prefix", wanted.path)], "backendRefs": backends}]
        if wanted.path != "/":
            replaced = {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}
            rules[0]["filters"] = [{"type": "URLRewrite", "urlRewrite": {"path": replaced}}]
    parent = {"name": wanted.name, "namespace": wanted.namespace, "sectionName": wanted.section_name}
    spec: Object = {"parentRefs": [{key: value for key, value in parent.items() if value}], "rules": rules}
    if wanted.host:
        spec["hostnames"] = [wanted.host]
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": metadata(server, server.name),
        "spec": spec,
    }


def _annotations(ingress: Ingress) -> dict[str, str]:
    annotations: dict[str, str] = {}
    if ingress.path not in (None, "/"):
        annotations |= {f"{NGINX}/use-regex": "true", f"{NGINX}/rewrite-target": "/$2"}
    if ingress.canary_weight is not None:
        annotations |= {f"{NGINX}/canary": "true", f"{NGINX}/canary-weight": str(ingress.canary_weight)}
    return annotations


def _model_paths(server: ModelServer) -> Iterator[tuple[str, str]]:
    for model in server.spec.models:
        yield from _paths_of(model.name)


def _paths_of(model: str) -> Iterator[tuple[str, str]]:
    """(type of match, path) of everything that REST has of a model."""
    yield "Prefix", f"/v1/models/{model}"
    for method in METHODS:
        yield "Exact", f"/v1/models/{model}:{method}"


def _match(kind: str, path: str) -> Object:
    return {"path": {"type": "PathPrefix" if kind == "Prefix" else kind, "value": path}}


def _host(server: ModelServer) -> str:
    return f"{server.name}.{namespace(server)}.svc"
