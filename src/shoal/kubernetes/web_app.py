"""A web application of one replica, as TensorBoards and workbenches are: Deployment, Service, an Ingress by path."""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.ingress import ingress_object, outside_url
from shoal.kubernetes.labels import Owner, metadata, namespace
from shoal.kubernetes.security import restrict
from shoal.resources import PathIngress, TensorBoard, Workbench

SERVICE_PORT = 80
PORT_NAME = "http"

AppOwner = TensorBoard | Workbench


class Volumes(NamedTuple):
    """Volumes of a pod, and where its first container mounts them."""

    volumes: list[Object]
    mounts: list[Object]


def pod_template(app: AppOwner, labels: dict[str, str], own: Object, added: Volumes) -> Object:
    """The user's template with the application's own container in it, first, whatever place it is written at."""
    template = deepcopy(app.spec.template or {})
    spec: Object = template.get("spec") or {}
    containers = spec.pop("containers", None) or []
    written: Object = next((each for each in containers if each["name"] == own["name"]), {})
    container: Object = {**own, **written, "args": [*own.get("args", []), *(written.get("args") or [])]}
    if variables := [*own.get("env", []), *(written.get("env") or [])]:
        container["env"] = variables
    container["volumeMounts"] = [*added.mounts, *(written.get("volumeMounts") or [])]
    if app.spec.resources:
        container["resources"] = deepcopy(app.spec.resources)
    spec["containers"] = [container, *(each for each in containers if each is not written)]
    spec["volumes"] = [*added.volumes, *(spec.get("volumes") or [])]
    restrict(spec)
    about: Object = template.get("metadata") or {}
    return {"metadata": {**about, "labels": {**(about.get("labels") or {}), **labels}}, "spec": spec}


def deployment(owner: Owner, name: str, labels: dict[str, str], selector: dict[str, str], template: Object) -> Object:
    """One replica of `template`, whose pods `selector` finds."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(owner, name, labels),
        "spec": {"replicas": 1, "selector": {"matchLabels": selector}, "template": template},
    }


def service(owner: Owner, name: str, labels: dict[str, str], selector: dict[str, str]) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(owner, name, labels),
        "spec": {
            "selector": selector,
            "ports": [{"name": "http", "port": SERVICE_PORT, "targetPort": PORT_NAME}],
        },
    }


def ingress(app: AppOwner) -> Object | None:
    """None where the spec asks for none."""
    wanted = app.spec.ingress
    if wanted is None:
        return None
    backend = {"service": {"name": app.name, "port": {"name": "http"}}}
    return ingress_object(app, wanted, [{"path": prefix(app) or "/", "pathType": "Prefix", "backend": backend}], {})


def prefix(app: AppOwner) -> str:
    """The path below which the application has everything, as `/team/curves`; empty for the root."""
    return _path(app, app.spec.ingress) if app.spec.ingress else ""


def url(app: AppOwner) -> str:
    """Where it is reached: from outside where the spec names a host, else within the cluster."""
    wanted = app.spec.ingress
    if wanted and wanted.host:
        return f"{outside_url(wanted, prefix(app))}/"
    return f"http://{app.name}.{namespace(app)}.svc{prefix(app)}/"


def _path(app: AppOwner, wanted: PathIngress) -> str:
    return f"/{namespace(app)}/{app.name}" if wanted.path is None else wanted.path.rstrip("/")
