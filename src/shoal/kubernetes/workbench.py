"""A workbench as plain objects: JupyterLab as a Deployment, who it is to the cluster, and how it is reached.

The token lies in a Secret, from which the pod mounts it as a file: no spec has it, and nothing that a notebook starts
inherits it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

from shoal import __version__
from shoal.kubernetes.claims import claims, pod_volumes
from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.install.rights import OF_WORKBENCHES
from shoal.kubernetes.labels import WORKBENCH, metadata, namespace, object_name, owner_labels
from shoal.kubernetes.web_app import PORT_NAME, Volumes, deployment, ingress, pod_template, prefix, service
from shoal.lab import TOKEN_BYTES, TOKEN_FILE, lab_options
from shoal.resources import Workbench
from shoal.resources.workbench import DEFAULT_FOLDER, WORKBENCH_CONTAINER

IMAGE = f"shoal/workbench:{__version__}"
PORT = 8888

TOKEN_KEY = "token"
TOKEN_FOLDER = "/run/secrets/shoal.dev/workbench"
"""Where the Secret is mounted."""

RBAC = "rbac.authorization.k8s.io"


def render_workbench(bench: Workbench) -> Iterator[Object]:
    """Everything that a workbench is, with a token that is made here: another one each time."""
    secret = object_name(bench, "token")
    yield token_secret(bench, secret)
    yield from workbench_objects(bench, secret)


def secret_name(name: str, uid: str) -> str:
    """The Secret of a workbench that an operator looks after: another one of the same name has another token."""
    return f"{name}-token-{uid[:8]}"


def token_secret(bench: Workbench, name: str) -> Object:
    """A Secret with a new token."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(bench, name),
        "type": "Opaque",
        "stringData": {TOKEN_KEY: secrets.token_hex(TOKEN_BYTES)},
    }


def workbench_objects(bench: Workbench, secret: str) -> Iterator[Object]:
    """Claims, account, Deployment, Service, and an Ingress where it is asked for. `secret` has the token."""
    yield from claims(bench)
    yield from _account(bench)
    labels, selector = owner_labels(bench), {WORKBENCH: bench.name}
    added = _volumes(bench, secret)
    template = pod_template(bench, selector, _container(bench, added), added)
    template["spec"].setdefault("serviceAccountName", bench.name)
    made = deployment(bench, bench.name, labels, selector, template)
    # One at a time: two would write to the same home, and a claim may go to one node only.
    made["spec"] |= {"replicas": 0 if bench.spec.stopped else 1, "strategy": {"type": "Recreate"}}
    yield made
    yield service(bench, bench.name, labels, selector)
    if (wanted := ingress(bench)) is not None:
        yield wanted


def _account(bench: Workbench) -> Iterator[Object]:
    """What code in the workbench is to the cluster."""
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(bench, bench.name)}
    yield {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": metadata(bench, bench.name),
        "rules": [each.rule() for each in OF_WORKBENCHES],
    }
    yield {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata(bench, bench.name),
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": bench.name},
        "subjects": [{"kind": "ServiceAccount", "name": bench.name, "namespace": namespace(bench)}],
    }


def _container(bench: Workbench, added: Volumes) -> Object:
    spec, path_prefix = bench.spec, prefix(bench)
    environment = {
        "HOME": spec.home,
        TOKEN_FILE: f"{TOKEN_FOLDER}/{TOKEN_KEY}",
        "SHOAL_ON": "kubernetes",
    }
    options = lab_options(spec.home, path_prefix, spec.idle_timeout_seconds)
    return {
        "name": WORKBENCH_CONTAINER,
        "image": spec.image or IMAGE,
        "command": ["jupyter", "lab", "--no-browser", "--ip=*", f"--port={PORT}", *options],
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        "ports": [{"name": PORT_NAME, "containerPort": PORT}],
        "volumeMounts": added.mounts,
        "readinessProbe": {"httpGet": {"path": f"{path_prefix}/api", "port": PORT_NAME}},
    }


def _volumes(bench: Workbench, secret: str) -> Volumes:
    volumes, mounts = pod_volumes(bench)
    source: dict[str, Any] = {"secretName": secret, "items": [{"key": TOKEN_KEY, "path": TOKEN_KEY}]}
    volumes.append({"name": "shoal-token", "secret": {**source, "defaultMode": 0o440}})
    mounts.append({"name": "shoal-token", "mountPath": TOKEN_FOLDER, "readOnly": True})
    if bench.spec.home == DEFAULT_FOLDER and not any(each["mountPath"] == DEFAULT_FOLDER for each in mounts):
        volumes.append({"name": "shoal-work", "emptyDir": {}})
        mounts.append({"name": "shoal-work", "mountPath": DEFAULT_FOLDER})
    return Volumes(volumes, mounts)
