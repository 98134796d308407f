"""The operator's webhook beside a test cluster: told to the API server by its URL, and asked by tests themselves."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
from pathlib import Path
from typing import Any

import yaml

from shoal.kubernetes.install import Values, operator_objects
from tests.cluster.api.operators import OperatorProcess, give_rights
from tests.cluster.api.tfjobs import role, tfjob
from tests.cluster.api_level import ApiCluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.cluster import NodeCluster

NAME = "shoal-operator"
CONFIGURATIONS = tuple(f"{what}webhookconfigurations/{NAME}" for what in ("validating", "mutating"))
SECRET = "secrets/shoal-operator-webhook"

QUICK = """
from datetime import timedelta
from shoal import certificates
from shoal.kubernetes.webhook import webhook
webhook.CHECK_SECONDS, webhook.DRAIN_SECONDS = 0.3, 0.0
"""
"""Looks after its certificates often, and ends at once. What it does is the same."""

SHORT_LIVES = f"""{QUICK}
certificates.LIVES = certificates.Lives(timedelta(seconds=30), timedelta(seconds=10), timedelta(seconds=2))
"""


class WebhookOperator:
    """An operator whose webhook listens on a port of the address where `cluster` reaches this machine."""

    def __init__(
        self,
        cluster: ApiCluster | NodeCluster,
        name: str,
        *options: str,
        before: str = QUICK,
        certificates: Path | None = None,
        values: Values | None = None,
    ) -> None:
        """With `certificates`, those of a folder; otherwise it makes its own."""
        self.address = cluster.host_address
        self.port = free_port(self.address)
        own = [f"--webhook-host={self.address}", f"--webhook-configuration={NAME}"]
        words = [f"--webhook-port={self.port}", *([f"--webhook-tls={certificates}"] if certificates else own)]
        self.process = OperatorProcess(
            cluster, name, *words, *options, kubeconfig=give_rights(cluster, values), before=before
        )
        self._cluster = cluster

    def wait_until_ready(self) -> WebhookOperator:
        """Until its readiness probe says so."""
        self.process.program.wait_until(self._is_ready, 30)
        return self

    def _is_ready(self) -> bool:
        try:
            return self.process.get("/readyz") == "ok\n"
        except (OSError, StopIteration):
            return False

    def ask(self, path: str, body: bytes, bundle: bytes, **headers: str) -> tuple[int, str]:
        """Ask it over a connection of its own, trusting `bundle` alone."""
        trust = ssl.create_default_context(cadata=bundle.decode())
        connection = http.client.HTTPSConnection(self.address, self.port, timeout=10, context=trust)
        try:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


def register(
    cluster: ApiCluster | NodeCluster,
    at: WebhookOperator | None,
    failure_policy: str = "Fail",
    values: Values | None = None,
) -> None:
    """The installation's webhook configurations. The machine on which the operator runs is reached by no Service of
    the cluster, so the URL is written in its place."""
    for each in operator_objects(values or Values(), "default"):
        if each["kind"].endswith("WebhookConfiguration"):
            for webhook in each["webhooks"]:
                webhook["failurePolicy"] = failure_policy
                if at is not None:
                    path = webhook["clientConfig"]["service"]["path"]
                    webhook["clientConfig"] = {"url": f"https://{at.address}:{at.port}{path}"}
            cluster.kubectl.within("")("apply", "-f", "-", stdin=json.dumps(each))


def unregister(cluster: ApiCluster | NodeCluster) -> None:
    cluster.kubectl("delete", "--ignore-not-found", *CONFIGURATIONS)
    cluster.kubectl("delete", "--ignore-not-found", SECRET)


def bundles(kubectl: Kubectl) -> list[bytes]:
    """Whom the API server trusts, by each webhook."""
    found = [kubectl.json("get", each) for each in CONFIGURATIONS]
    webhooks = [webhook for each in found for webhook in each["webhooks"]]
    return [base64.b64decode(webhook["clientConfig"].get("caBundle", "")) for webhook in webhooks]


def apply(namespace: Kubectl, job: dict[str, Any], *words: str) -> str:
    """As a user applies a manifest. Answers what kubectl says, well or ill."""
    done = namespace.try_("apply", "-f", "-", *words, stdin=yaml.safe_dump(job))
    return done.stdout + done.stderr


def mounting(job: dict[str, Any]) -> dict[str, Any]:
    """A job whose worker mounts a volume that is not there: valid by the CRD, and a pod that Kubernetes refuses."""
    pod = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    pod["volumes"] = [{"name": "data", "emptyDir": {}}]
    pod["containers"][0]["volumeMounts"] = [{"name": "dta", "mountPath": "/data"}]
    return job


def dry_run(namespace: Kubectl) -> str:
    return apply(namespace, tfjob("tried", Worker=role()), "--dry-run=server")


def review(job: dict[str, Any]) -> bytes:
    request = {"uid": "u", "operation": "CREATE", "object": job}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


def free_port(address: str) -> int:
    with socket.socket() as tried:
        tried.bind((address, 0))
        return int(tried.getsockname()[1])
