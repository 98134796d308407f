"""The device plugin's DaemonSet, and what it may do: label its own node, and nothing else.

RBAC knows no "own node", so a policy of admission says it: the API server puts the node of a pod into the token of its
service account.
"""

from __future__ import annotations

from typing import Any

from shoal.kubernetes.gpu_names import KUBELET_PLUGINS, LABEL_PREFIX
from shoal.kubernetes.install.naming import Release
from shoal.kubernetes.install.values import Values

Object = dict[str, Any]

NODE_CLAIM = "authentication.kubernetes.io/node-name"


def daemon_set(values: Values, release: Release) -> Object:
    """As `charts/shoal/templates/device-plugin.yaml` has it."""
    selector = release.device_plugin_selector
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": device_plugin_metadata(release),
        "spec": {
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": {**release.labels, **selector}}, "spec": _pod(values, release)},
        },
    }


def device_plugin_metadata(release: Release, cluster: bool = False) -> Object:
    name = release.device_plugin
    about = release.cluster_metadata(name) if cluster else release.metadata(name)
    return {**about, "labels": {**release.labels, **release.device_plugin_selector}}


def _pod(values: Values, release: Release) -> Object:
    plugin = values.device_plugin
    pod: Object = {
        "serviceAccountName": release.device_plugin,
        "automountServiceAccountToken": plugin.label_node,
        "priorityClassName": "system-node-critical",
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(values, release)],
        "volumes": [{"name": "plugins", "hostPath": {"path": plugin.kubelet_folder, "type": "Directory"}}],
    }
    chosen = {
        "runtimeClassName": plugin.runtime_class_name,
        "imagePullSecrets": values.image_pull_secrets,
        "nodeSelector": plugin.node_selector,
        "tolerations": plugin.tolerations,
    }
    return {**pod, **{field: value for field, value in chosen.items() if value}}


def _container(values: Values, release: Release) -> Object:
    plugin = values.device_plugin
    label = ["--label-node", f"--gpu-model-label={values.operator.gpu_model_label}"] if plugin.label_node else []
    environment = {
        "RESOURCE_NAME": plugin.resource_name,
        "SOCKET_NAME": plugin.socket_name,
        "REG_EXP_SFC": plugin.device_pattern,
    }
    if plugin.runtime_class_name:
        environment |= {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "utility"}
    field = {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}
    return {
        "name": "device-plugin",
        "image": values.image.reference(release.version),
        "imagePullPolicy": values.image.pull_policy.value,
        "command": ["shoal", "gpu", "plugin"],
        **({"args": args} if (args := [*label, *plugin.args]) else {}),
        "env": [
            {"name": "NODE_NAME", "valueFrom": field},
            *({"name": name, "value": text} for name, text in environment.items()),
        ],
        "resources": plugin.resources.model_dump(),
        # The kubelet's folder is root's. Apart from that it is a container like others.
        "securityContext": {
            "runAsUser": 0,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "plugins", "mountPath": KUBELET_PLUGINS}],
    }


def own_node_policy(values: Values, release: Release) -> list[Object]:
    """Keeps the service account's right to patch nodes to the labels of its own one."""
    account = f"system:serviceaccount:{release.namespace}:{release.device_plugin}"
    label, extra = values.operator.gpu_model_label, "request.userInfo.extra"
    free = f"(name == '{label}' || name.startsWith('{LABEL_PREFIX}'))"
    new, old = "object.metadata.labels", "oldObject.metadata.labels"
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": device_plugin_metadata(release, cluster=True),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes"]}
                ]
            },
            "matchConditions": [{"name": "device-plugin", "expression": f"request.userInfo.username == '{account}'"}],
            "validations": [
                {
                    "expression": f"'{NODE_CLAIM}' in {extra} && {extra}['{NODE_CLAIM}'] == [object.metadata.name]",
                    "message": "a device plugin labels its own node only",
                },
                {
                    "expression": (
                        f"object.spec == oldObject.spec && "
                        f"{new}.all(name, {free} || (name in {old} && {old}[name] == {new}[name])) && "
                        f"{old}.all(name, {free} || name in {new})"
                    ),
                    "message": "a device plugin writes labels of GPUs only",
                },
            ],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": device_plugin_metadata(release, cluster=True),
        "spec": {"policyName": release.device_plugin, "validationActions": ["Deny"]},
    }
    return [policy, binding]
