"""The device plugin as the chart installs it: a DaemonSet's pod, with its own rights, beside a real kubelet."""

from __future__ import annotations

import pytest

from tests.cluster.busybox import BUSYBOX
from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.kubelet import NODE
from tests.cluster.pods import container, pod

pytestmark = pytest.mark.timeout(900)


def test_its_gpus_are_labelled_and_given_out(installed: Kubectl, namespace: Kubectl) -> None:
    wanted = {"model": "A100", "memory": "16384", "count": "2", "driver": "software"}
    labels = {f"shoal.dev/gpu-{name}": value for name, value in wanted.items()}
    node = installed.wait_for(f"node/{NODE}", lambda node: labels.items() <= node["metadata"]["labels"].items(), 60)
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == NODE
    installed.wait_for(f"node/{NODE}", lambda node: node["status"]["allocatable"].get("nvidia.com/gpu") == "2", 60)
    main = container(
        image=BUSYBOX,
        imagePullPolicy="Never",
        command=["sh", "-c", "echo $SHOAL_GPUS"],
        resources={"limits": {"nvidia.com/gpu": 2}},
    )
    namespace.apply(pod("both", [main]))
    namespace.wait_for("pod/both", lambda each: each["status"].get("phase") in ("Succeeded", "Failed"), 60)
    assert sorted(namespace("logs", "both").strip().split(",")) == ["software-0", "software-1"]
