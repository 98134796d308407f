"""Kubeconfig files: who a program is, and where its API server listens."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml

from tests.cluster.certificates import Certificate


def write_kubeconfig(path: Path, server: str, authority: Path, user: Certificate) -> Path:
    """A kubeconfig that carries its certificates, so that it can be copied into a pod or to another folder."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "shoal", "cluster": {"server": server, "certificate-authority-data": _encoded(authority)}},
        ],
        "users": [
            {
                "name": "shoal",
                "user": {"client-certificate-data": _encoded(user.cert), "client-key-data": _encoded(user.key)},
            }
        ],
        "contexts": [{"name": "shoal", "context": {"cluster": "shoal", "user": "shoal"}}],
        "current-context": "shoal",
    }
    path.touch(0o600)
    path.write_text(yaml.safe_dump(content))
    return path


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
