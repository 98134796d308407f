"""An Ingress, from what a spec says of host, class, certificate and annotations, and from the paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.labels import Owner, metadata
from shoal.resources import PathIngress
from shoal.resources.model_server import Ingress


def ingress_object(
    owner: Owner, wanted: Ingress | PathIngress, paths: Sequence[Object], annotations: Mapping[str, str]
) -> Object:
    """`annotations` are those that the paths need; the user's are added to them."""
    rule: Object = {"http": {"paths": list(paths)}}
    spec: Object = {"rules": [{"host": wanted.host, **rule} if wanted.host else rule]}
    if wanted.class_name:
        spec["ingressClassName"] = wanted.class_name
    if wanted.tls:
        hosts = {"hosts": [wanted.host]} if wanted.host else {}
        spec["tls"] = [{**hosts, "secretName": wanted.tls.secret_name}]
    about = metadata(owner, owner.name)
    if every := {**annotations, **(wanted.annotations or {})}:
        about["annotations"] = every
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": about, "spec": spec}


def outside_url(wanted: Ingress | PathIngress, path: str) -> str:
    """The address that an Ingress with a host has, up to and including `path`."""
    return f"{'https' if wanted.tls else 'http'}://{wanted.host}{path.rstrip('/')}"
