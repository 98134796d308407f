"""Unmodified programs in containers of a node without a GPU compute on GPUs of the pool: device plugin, gate, broker,
agent, wire and software GPU are the real ones."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api.pools import Pool
from tests.cluster.images import Image
from tests.cluster.kubectl import Kubectl
from tests.cluster.node.pooled import GPUS, pooled
from tests.cluster.node.test_device_plugin import RESOURCE
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.pods import container, pod
from tests.cluster.python_image import python_image
from tests.cluster.waiting import wait_until
from tests.integration.cuda.servers import HERE, ROOT, build

NUMBA = ("numba-cuda>=0.30,<0.31", "nvidia-cuda-nvrtc>=13,<14", "nvidia-cuda-runtime>=13,<14", "nvidia-nvvm>=13,<14")
PODS = 10


@pytest.fixture(scope="module")
def image(node_cluster: NodeCluster, tmp_path_factory: pytest.TempPathFactory) -> Image:
    """numba-cuda, and a program in C on the driver API; neither has a `libcuda.so.1`."""
    folder = tmp_path_factory.mktemp("programs")
    subprocess.run(["make", "-s", "-C", str(ROOT / "native")], check=True)
    build("saxpy", folder)
    shutil.copy(HERE / "programs" / "numba_kernels.py", folder)
    made = python_image("pooled-programs", NUMBA, {"programs": folder})
    node_cluster.load(made)
    return made


@pytest.fixture
def pool(node_cluster: NodeCluster, tmp_path: Path) -> Iterator[Pool]:
    with pooled(node_cluster, tmp_path) as (made, _):
        yield made


def running(name: str, image: Image, *command: str) -> dict[str, Any]:
    limits = {"limits": {RESOURCE: 1}}
    return pod(name, [container(image=image.name, imagePullPolicy="Never", command=command, resources=limits)])


def ended(namespace: Kubectl) -> dict[str, str]:
    """Phases of pods that have ended, by their names."""
    pods = {each["metadata"]["name"]: each["status"]["phase"] for each in namespace.json("get", "pods")["items"]}
    return {name: phase for name, phase in pods.items() if phase in ("Succeeded", "Failed")}


def test_programs_in_pods_compute_on_the_pool(image: Image, pool: Pool, namespace: Kubectl) -> None:
    namespace.apply(
        running("numba", image, "python3", "-W", "ignore", "/programs/numba_kernels.py"),
        *(running(f"saxpy-{number}", image, "/programs/saxpy") for number in range(PODS - 1)),
    )
    most = 0

    def all_ended() -> bool:
        nonlocal most
        most = max(most, len(pool.leases()) - pool.states().count("queued"))
        return len(ended(namespace)) == PODS

    wait_until(all_ended, 240, "the end of all pods")
    assert set(ended(namespace).values()) == {"Succeeded"}, namespace.try_("logs", "numba").stdout
    assert namespace("logs", "numba").splitlines() == ["thread 0", "thread 1", "thread 2", "700"]
    for number in range(PODS - 1):
        assert namespace("logs", f"saxpy-{number}").splitlines()[-1] == "done"
    assert 1 <= most <= GPUS
    wait_until(lambda: pool.leases() == [], 30, "nothing that is held")
