"""The operator's Deployment. Its pods pass the *restricted* Pod Security level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoal.kubernetes.install.naming import Release
from shoal.kubernetes.install.values import Values
from shoal.kubernetes.install.webhook import TLS_FOLDER, arguments

Object = dict[str, Any]


def deployment(values: Values, release: Release) -> Object:
    """As `charts/shoal/templates/deployment.yaml` has it."""
    # The user's labels first: what the selector selects by must not be covered.
    about: Object = {"labels": {**values.pod_labels, **release.labels}}
    if values.pod_annotations:
        about["annotations"] = values.pod_annotations
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": release.metadata(release.fullname),
        "spec": {
            "replicas": values.replicas,
            "selector": {"matchLabels": release.selector},
            "template": {"metadata": about, "spec": _pod(values, release)},
        },
    }


def _pod(values: Values, release: Release) -> Object:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": release.selector},
    }
    pod: Object = {
        "serviceAccountName": release.service_account,
        "automountServiceAccountToken": True,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(values, release)],
        "topologySpreadConstraints": [spread],
    }
    if volumes := list(_volumes(values)):
        pod["volumes"] = volumes
    chosen = {
        "imagePullSecrets": values.image_pull_secrets,
        "priorityClassName": values.priority_class_name,
        "nodeSelector": values.node_selector,
        "tolerations": values.tolerations,
        "affinity": values.affinity,
    }
    return {**pod, **{field: value for field, value in chosen.items() if value}}


def _container(values: Values, release: Release) -> Object:
    return {
        "name": "operator",
        "image": values.image.reference(release.version),
        "imagePullPolicy": values.image.pull_policy.value,
        "command": ["shoal", "operator"],
        "args": [*_arguments(values), *arguments(values, release), *_pool(values)],
        "env": [_field("POD_NAME", "metadata.name"), _field("POD_NAMESPACE", "metadata.namespace")],
        "ports": _ports(values),
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "metrics"}, "periodSeconds": 10, "timeoutSeconds": 5},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "metrics"}, "periodSeconds": 5, "timeoutSeconds": 5},
        "resources": values.resources.model_dump(),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        **({"volumeMounts": mounts} if (mounts := _mounts(values)) else {}),
    }


def _mounts(values: Values) -> list[Object]:
    return [_MOUNT] * bool(_given_secret(values)) + [_POOL_MOUNT] * bool(values.gpu.pool.broker)


def _volumes(values: Values) -> Iterator[Object]:
    if secret := _given_secret(values):
        yield {"name": "webhook-tls", "secret": {"secretName": secret, "defaultMode": 420}}
    if values.gpu.pool.broker:
        secret = values.gpu.pool.existing_secret
        yield {"name": "gpu-pool", "secret": {"secretName": secret, "defaultMode": 420}}


def _pool(values: Values) -> list[str]:
    pool = values.gpu.pool
    if not pool.broker:
        return []
    files = [f"--pool-token-file={POOL_FOLDER}/token", f"--pool-ca={POOL_FOLDER}/ca.crt"]
    return [f"--pool-broker={pool.broker}", *files, *(f"--pool-resource={name}" for name in pool.resources)]


POOL_FOLDER = "/etc/shoal/gpu-pool"
_POOL_MOUNT = {"name": "gpu-pool", "mountPath": POOL_FOLDER, "readOnly": True}
_MOUNT = {"name": "webhook-tls", "mountPath": TLS_FOLDER, "readOnly": True}


def _given_secret(values: Values) -> str:
    return values.webhook.certificate.existing_secret if values.webhook.enabled else ""


def _ports(values: Values) -> list[Object]:
    ports: list[Object] = [{"name": "metrics", "containerPort": values.metrics.port, "protocol": "TCP"}]
    if values.webhook.enabled:
        ports.append({"name": "webhook", "containerPort": values.webhook.port, "protocol": "TCP"})
    return ports


def _arguments(values: Values) -> list[str]:
    operator = values.operator
    arguments = [
        "--leader-elect",
        f"--workers={operator.workers}",
        f"--metrics-port={values.metrics.port}",
        f"--gpu-resource={operator.gpu_resource}",
        f"--gpu-model-label={operator.gpu_model_label}",
        f"--log-level={operator.log_level.value}",
    ]
    return [*arguments, f"--namespace={operator.watch_namespace}"] if operator.watch_namespace else arguments


def _field(name: str, path: str) -> Object:
    # The API server adds the version; written here, so that what was applied and what is stored are the same.
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}
