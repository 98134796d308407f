"""A tenant: a team's namespace, and what it may take there. It is no custom resource: whoever grants it says it by
`shoal tenant create`, and Kubernetes' own objects keep it.
"""

# ruff: noqa: RUF012  pydantic copies a default for each model

from __future__ import annotations

import re
from ipaddress import ip_network
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field

from shoal.resources.base import Model, NonEmpty
from shoal.resources.quantity import Quantity, parse_quantity

RESERVED = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
"""Namespaces that belong to the cluster."""

_NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_USER = re.compile(r"[^\s:,]+(:[^\s:,]+)*")


def _positive(value: int | str) -> int | str:
    if parse_quantity(value) <= 0:
        raise ValueError(f"{value} is not above 0")
    return value


def _free(name: str) -> str:
    if name in RESERVED:
        raise ValueError(f"the namespace {name} belongs to the cluster")
    return name


def _subject(name: str) -> str:
    if not _USER.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a user or a group")
    if name.startswith("system:"):
        raise ValueError(f"{name!r} is one of the cluster's own, which is more than a team")
    return name


def _network(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError as fault:
        raise ValueError(f"{fault}; a network is written as in 10.1.0.0/16") from fault


Amount = Annotated[Quantity, AfterValidator(_positive)]
NamespaceName = Annotated[str, Field(pattern=f"^{_NAME}$", max_length=63)]
Subject = Annotated[str, AfterValidator(_subject)]
Network = Annotated[str, AfterValidator(_network)]


class NFSExport(Model):
    """A folder of an NFS server."""

    server: NonEmpty
    path: Annotated[str, Field(pattern="^/")]

    @classmethod
    def read(cls, text: str) -> NFSExport:
        """`nfs.example.com:/team-a`. Raises ValueError where it is none."""
        server, colon, path = text.partition(":/")
        if not server or not colon or ".." in PurePosixPath(path).parts:
            raise ValueError(f"{text!r} is no export; write SERVER:/PATH")
        return cls(server=server, path=f"/{path}".rstrip("/") or "/")


class Tenant(Model):
    """What a team is granted. None is no limit, but GPUs are granted only where they are named."""

    name: Annotated[NamespaceName, AfterValidator(_free)]
    cpu: Amount
    """Cores that its pods may request together."""
    memory: Amount
    """Memory that its pods may request together."""
    gpus: Annotated[int, Field(ge=0)] = 0
    """Of each resource by which pods ask for GPUs, and of the pool."""
    gpu_memory: Amount | None = None
    """Of the pool's GPUs."""
    max_priority: Annotated[int, Field(ge=0, le=100)] = 0
    """Of its requests to the pool."""
    pods: Annotated[int, Field(ge=1)] | None = None
    storage: Amount | None = None
    """That its claims may request together."""
    members: list[Subject] = []
    groups: list[Subject] = []
    nfs: list[NFSExport] = []
    """Exports that jobs and servers may name; of others nothing is mounted."""
    egress: list[Network] = []
    """Networks beyond the namespace that its pods may reach."""
    ingress_from: list[NamespaceName] = ["ingress-nginx"]
    """Namespaces whose pods may reach its model servers."""
    operator_namespace: NamespaceName = "shoal-system"
