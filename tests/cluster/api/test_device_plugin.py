"""What the device plugin of an installation may do to nodes, by the real API server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from shoal.kubernetes.install import Values, namespace_object, operator_objects
from shoal.kubernetes.node_labels import NODES
from shoal.kubernetes.operator.api import APIError
from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.kubeconfig import configuration
from tests.cluster.api_level import ApiCluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until

WHERE = "device-plugins"


@pytest.fixture
def pod(api_cluster: ApiCluster) -> Iterator[tuple[str, str]]:
    """A pod of the DaemonSet, and its node."""
    values = Values.model_validate({"replicas": 0, "webhook": {"enabled": False}, "devicePlugin": {"enabled": True}})
    objects = [namespace_object(WHERE, values), *operator_objects(values, WHERE, "shoal-plugins")]
    api_cluster.kubectl.within("").apply(*objects)
    kubectl = api_cluster.kubectl.within(WHERE)
    chosen = "app.kubernetes.io/component=device-plugin"

    def pods() -> list[dict[str, dict[str, str]]]:
        found = kubectl.json("get", "pods", "-l", chosen)["items"]
        return [each for each in found if each["spec"].get("nodeName") and each["status"].get("phase") == "Running"]

    wait_until(pods, 60, "a pod of the DaemonSet")
    yield pods()[0]["metadata"]["name"], pods()[0]["spec"]["nodeName"]
    kubectl.within("")("delete", "--wait=false", "-f", "-", stdin=yaml.safe_dump_all(reversed(objects)))


def plugin(cluster: ApiCluster, *binding: str) -> Kubectl:
    """kubectl with a token of the plugin's service account."""
    content = yaml.safe_load(cluster.kubeconfig.read_text())
    token = cluster.kubectl.within(WHERE)("create", "token", "shoal-plugins-operator-gpu", *binding).strip()
    content["users"][0]["user"] = {"token": token}
    path: Path = cluster.folder / f"device-plugin{len(binding)}.kubeconfig"
    path.touch(0o600)
    path.write_text(yaml.safe_dump(content))
    return Kubectl(cluster.kubectl.program, path)


def refused(who: Kubectl, node: str, patch: dict[str, Any]) -> str:
    """What the API server says to a patch by the plugin's own client; empty where it takes it."""

    async def ask() -> str:
        client = Client(configuration([str(who.kubeconfig)], None))
        try:
            await client.patch(NODES, None, node, patch)
        except APIError as fault:
            return str(fault)
        finally:
            await client.close()
        return ""

    return asyncio.run(ask())


def test_a_plugin_labels_its_own_node_and_nothing_else(api_cluster: ApiCluster, pod: tuple[str, str]) -> None:
    name, own = pod
    others = [each["metadata"]["name"] for each in api_cluster.kubectl.json("get", "nodes")["items"]]
    other = next((each for each in others if each != own), None)
    bound = plugin(api_cluster, "--bound-object-kind=Pod", f"--bound-object-name={name}")
    unbound = plugin(api_cluster)

    label = {"metadata": {"labels": {"shoal.dev/gpu-model": "A100"}}}
    taint = {"spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]}}
    # A policy takes a moment to be in force; until then the API server lets pass what it forbids.
    wait_until(lambda: refused(bound, own, taint), 30, "the policy in force")
    api_cluster.kubectl("patch", f"node/{own}", "--type=merge", "-p", '{"spec":{"taints":null}}')
    assert refused(bound, own, label) == ""
    assert refused(bound, own, {"metadata": {"labels": {"shoal.dev/gpu-model": None}}}) == ""
    only_labels = "a device plugin writes labels of GPUs only"
    assert only_labels in refused(bound, own, taint)
    assert only_labels in refused(bound, own, {"metadata": {"labels": {"team": "mine"}}})
    assert only_labels in refused(bound, own, {"metadata": {"labels": {"kubernetes.io/hostname": None}}})
    assert other, "this takes two nodes"
    assert "a device plugin labels its own node only" in refused(bound, other, label)
    assert "a device plugin labels its own node only" in refused(unbound, own, label)
    for forbidden in (("get", "nodes"), ("get", "pods"), ("delete", f"node/{own}")):
        assert "Forbidden" in bound.try_(*forbidden).stderr
