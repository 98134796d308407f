"""The device plugin beside a real kubelet: a pod that asks as Bitfusion's users do gets what it needs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.busybox import BUSYBOX
from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.node_level.kubelet import NODE
from tests.cluster.pods import container, pod
from tests.cluster.programs import Program

RESOURCE = "bitfusion.io/gpu"
COMMAND = [sys.executable, "-c", "from shoal.cli import main; main()", "gpu", "plugin"]
# As Bitfusion's DaemonSet sets them.
SETTINGS = {"RESOURCE_NAME": RESOURCE, "SOCKET_NAME": "bitfusiongpu", "REG_EXP_SFC": ".*"}


class Plugin:
    """`shoal gpu plugin` in the node's mount namespace, where the kubelet's folder has its usual name."""

    def __init__(self, cluster: NodeCluster, *options: str) -> None:
        self._cluster = cluster
        self._options = options
        self._began = 0
        self.log = cluster.folder / "plugin.log"
        self.program = self.start()

    def start(self) -> Program:
        self._began = self.log.stat().st_size if self.log.exists() else 0
        within = self._cluster.namespaces.enter
        self.program = Program("plugin", [*COMMAND, *self._options], self.log, within=within, environment=SETTINGS)
        return self.program

    def said(self) -> list[dict[str, Any]]:
        with self.log.open("rb") as log:
            log.seek(self._began)
            return [json.loads(line) for line in log.read().rpartition(b"\n")[0].splitlines()]


@pytest.fixture(scope="module")
def library(node_cluster: NodeCluster) -> Path:
    folder = node_cluster.folder / "client-library"
    folder.mkdir()
    (folder / "libcuda.so.1").write_text("the client library\n")
    return folder


@pytest.fixture
def plugin(node_cluster: NodeCluster, library: Path) -> Iterator[Plugin]:
    options = ("--pool-shares", "2", "--client-library", str(library), "--broker", "https://broker.test:7000")
    running = Plugin(node_cluster, *options)
    usable(node_cluster.kubectl, 2)
    yield running
    running.program.stop()
    usable(node_cluster.kubectl, 0)


def usable(kubectl: Kubectl, count: int) -> None:
    """Wait until the scheduler may give out so many."""
    kubectl.wait_for(f"node/{NODE}", lambda node: node["status"]["allocatable"].get(RESOURCE, "0") == str(count), 60)


def asking(name: str, script: str, folder: Path, count: int = 1) -> dict[str, Any]:
    """A pod in the form that Bitfusion's users write: privileged, on the node's network, its settings from a folder of
    the node."""
    main = container(
        image=BUSYBOX,
        imagePullPolicy="Never",
        command=["sh", "-c", script],
        resources={"limits": {RESOURCE: count}},
        securityContext={"privileged": True},
        volumeMounts=[{"name": "config", "mountPath": "/etc/bitfusion"}],
    )
    volume = {"name": "config", "hostPath": {"path": str(folder), "type": "Directory"}}
    return pod(name, [main], hostNetwork=True, volumes=[volume], terminationGracePeriodSeconds=1)


def ends(namespace: Kubectl, name: str) -> str:
    """What the pod wrote, once it has succeeded."""
    over = ("Succeeded", "Failed")
    found = namespace.wait_for(f"pod/{name}", lambda each: each["status"].get("phase") in over, 60)
    assert found["status"]["phase"] == "Succeeded", found["status"]
    return namespace("logs", name)


def test_bitfusions_pod_form_starts_and_gets_its_environment(
    plugin: Plugin, namespace: Kubectl, tmp_path: Path
) -> None:
    assert f"{RESOURCE}:" in namespace("describe", "node", NODE).replace(" ", "")
    (tmp_path / "client.yaml").write_text("settings\n")
    script = "env | grep -e SHOAL_ -e LD_LIB | sort; cat $LD_LIBRARY_PATH/libcuda.so.1 /etc/bitfusion/client.yaml"
    namespace.apply(asking("trains", f"{script}; touch $LD_LIBRARY_PATH/x 2>/dev/null || echo read-only", tmp_path, 2))
    assert ends(namespace, "trains").splitlines() == [
        "LD_LIBRARY_PATH=/opt/shoal/client",
        "SHOAL_BROKER=https://broker.test:7000",
        "SHOAL_GPU_COUNT=2",
        "the client library",
        "settings",
        "read-only",
    ]


def test_a_pod_waits_where_all_are_taken(plugin: Plugin, namespace: Kubectl, tmp_path: Path) -> None:
    namespace.apply(asking("holds", "exec sleep 600", tmp_path, 2))
    namespace.wait_for("pod/holds", lambda each: each["status"].get("phase") == "Running")
    namespace.apply(asking("waits", "true", tmp_path))

    def insufficient(each: dict[str, Any]) -> bool:
        return any(f"Insufficient {RESOURCE}" in told.get("message", "") for told in each["status"]["conditions"])

    namespace.wait_for("pod/waits", lambda each: each["status"].get("conditions") and insufficient(each))
    namespace("delete", "pod/holds", "--wait=false")
    ends(namespace, "waits")


def test_a_kubelet_that_starts_again_gets_the_plugin_back(
    plugin: Plugin, namespace: Kubectl, node_cluster: NodeCluster, tmp_path: Path
) -> None:
    node_cluster.restart_kubelet()
    plugin.program.wait_until(lambda: [line["event"] for line in plugin.said()].count("registered") == 2, 60)
    usable(namespace, 2)
    namespace.apply(asking("after", "echo $SHOAL_GPU_COUNT", tmp_path))
    assert ends(namespace, "after") == "1\n"


def test_a_plugin_that_is_killed_offers_nothing_until_it_is_back(
    plugin: Plugin, namespace: Kubectl, node_cluster: NodeCluster, tmp_path: Path
) -> None:
    plugin.program.kill()
    usable(namespace, 0)
    plugin.start()
    usable(namespace, 2)
    namespace.apply(asking("after", "echo $SHOAL_GPU_COUNT", tmp_path))
    assert ends(namespace, "after") == "1\n"


def test_software_gpus_are_offered_labelled_and_taken_out_of_use(
    namespace: Kubectl, node_cluster: NodeCluster, tmp_path: Path
) -> None:
    out = tmp_path / "out-of-use"
    gpus = ("--software-gpus", "3", "--gpu-model", "A100", "--unhealthy-file", str(out), "--check-seconds", "0.2")
    label = ("--label-node", "--node", NODE, "--kubeconfig", str(node_cluster.kubeconfig))
    wanted = {"model": "A100", "memory": "16384", "count": "3", "driver": "software"}
    labels = {f"shoal.dev/gpu-{name}": value for name, value in wanted.items()}
    plugin = Plugin(node_cluster, *gpus, *label)
    try:
        usable(namespace, 3)
        namespace.wait_for(f"node/{NODE}", lambda node: labels.items() <= node["metadata"]["labels"].items())
        out.write_text("software-1\n")
        usable(namespace, 2)
        out.unlink()
        usable(namespace, 3)
        namespace.apply(asking("two", "echo $SHOAL_GPUS $SHOAL_GPU_MODEL", tmp_path, 2))
        gpus_given, model = ends(namespace, "two").split()
        assert len(set(gpus_given.split(","))) == 2
        assert model == "A100"
    finally:
        plugin.program.stop()
        namespace("label", "node", NODE, *(f"{name}-" for name in labels))
        usable(namespace, 0)
