"""The webhook's Service, and the configurations by which the API server knows of it.

The operator writes `caBundle` into the configurations later: applying these objects again leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoal.kubernetes.install.naming import Release
from shoal.kubernetes.install.values import Values
from shoal.resources.tfjob import KUBEFLOW_API, SHOAL_API

Object = dict[str, Any]

TLS_FOLDER = "/etc/shoal/webhook"
"""Where a certificate that is given is mounted."""


def host(release: Release) -> str:
    """The name by which the API server calls the webhook."""
    return f"{release.webhook}.{release.namespace}.svc"


def arguments(values: Values, release: Release) -> list[str]:
    """Options of `shoal operator`."""
    if not values.webhook.enabled:
        return []
    port = f"--webhook-port={values.webhook.port}"
    if values.webhook.certificate.existing_secret:
        return [port, f"--webhook-tls={TLS_FOLDER}"]
    return [port, f"--webhook-host={host(release)}", f"--webhook-configuration={release.fullname}"]


def webhook_objects(values: Values, release: Release) -> Iterator[Object]:
    """As `charts/shoal/templates/webhook.yaml` has them."""
    yield _service(release)
    yield _configuration("Validating", "validate", values, release)
    yield _configuration("Mutating", "default", values, release)


def _service(release: Release) -> Object:
    port = {"name": "webhook", "port": 443, "targetPort": "webhook", "protocol": "TCP"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": release.metadata(release.webhook),
        "spec": {"selector": release.selector, "ports": [port]},
    }


def _configuration(kind: str, verb: str, values: Values, release: Release) -> Object:
    chosen = values.webhook
    about = release.cluster_metadata(release.fullname)
    if chosen.annotations:
        about["annotations"] = chosen.annotations
    service = {"name": release.webhook, "namespace": release.namespace, "path": f"/{verb}", "port": 443}
    client: Object = {"service": service}
    if chosen.certificate.ca_bundle:
        client["caBundle"] = chosen.certificate.ca_bundle
    common = {
        "admissionReviewVersions": ["v1"],
        "clientConfig": client,
        "failurePolicy": chosen.failure_policy.value,
        "matchPolicy": "Equivalent",
        "namespaceSelector": _namespaces(values),
        "sideEffects": "None",
        "timeoutSeconds": chosen.timeout_seconds,
    }
    jobs = [_rule(api, "tfjobs") for api in (SHOAL_API, KUBEFLOW_API)]
    webhooks = [{"name": f"{verb}.tfjobs.shoal.dev", "rules": jobs, **common}]
    if kind == "Validating":  # nothing of the others is written for their users
        for plural in ("modelservers", "tensorboards", "workbenches"):
            webhooks.append({"name": f"{verb}.{plural}.shoal.dev", "rules": [_rule(SHOAL_API, plural)], **common})
    elif values.gpu.pool.broker:
        webhooks.append(_gate(values, {**common, "clientConfig": {**client, "service": {**service, "path": "/gpu"}}}))
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": about,
        "webhooks": webhooks,
    }


def _gate(values: Values, common: Object) -> Object:
    """Of pods that ask for GPUs of the pool, and of no other: so a pod of the operator's own never waits for it, and
    none that asks slips through while no operator answers."""
    named = ", ".join(f"'{name}'" for name in values.gpu.pool.resources)
    limits = "has(c.resources) && has(c.resources.limits)"
    asks = f"object.spec.containers.exists(c, {limits} && [{named}].exists(name, name in c.resources.limits))"
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    return {
        "name": "gpu.pods.shoal.dev",
        **common,
        "failurePolicy": "Fail",
        "matchConditions": [{"name": "asks-for-gpus", "expression": asks}],
        "rules": [{**pods, "scope": "Namespaced"}],
    }


def _rule(api_version: str, plural: str) -> Object:
    group, version = api_version.split("/")
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": ["CREATE", "UPDATE"],
        "resources": [plural],
        "scope": "Namespaced",
    }


def _namespaces(values: Values) -> Object:
    watched = values.operator.watch_namespace
    own = {"matchLabels": {"kubernetes.io/metadata.name": watched}} if watched else {}
    return values.webhook.namespace_selector or own
