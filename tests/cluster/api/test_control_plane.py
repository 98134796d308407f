"""The API level itself: it starts, several may run at once, and it leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.cluster.api_level import CHECKOUT, ApiCluster
from tests.cluster.binaries import Binaries, kubernetes_version
from tests.cluster.errors import ClusterError
from tests.cluster.kubectl import Kubectl
from tests.cluster.pods import container, fake_pod, pod
from tests.cluster.waiting import wait_until

HOLD = """
import sys
from tests.cluster.api_level import ApiCluster
from tests.cluster.binaries import binaries
with ApiCluster(binaries(), nodes=1) as cluster:
    print(cluster.folder, flush=True)
    sys.stdin.read()  # until whoever started it is gone
"""


def test_reports_ready_and_its_version(api_cluster: ApiCluster) -> None:
    assert api_cluster.kubectl("get", "--raw", "/readyz") == "ok"
    assert f"Server Version: {kubernetes_version()}" in api_cluster.kubectl("version")


def test_nodes_are_ready_and_offer_what_was_asked_for(api_cluster: ApiCluster) -> None:
    nodes = api_cluster.kubectl.json("get", "nodes")["items"]
    assert [each["metadata"]["name"] for each in nodes] == ["node-0", "node-1", "node-2"]
    assert {each["status"]["allocatable"]["nvidia.com/gpu"] for each in nodes} == {"8"}


def test_pod_security_is_enforced(api_cluster: ApiCluster, namespace: Kubectl) -> None:
    namespace("label", "namespace", namespace.namespace, "pod-security.kubernetes.io/enforce=restricted")
    with pytest.raises(ClusterError, match="violates PodSecurity"):
        namespace.apply(fake_pod("plain"))


def test_a_pod_too_large_stays_pending(namespace: Kubectl) -> None:
    greedy = container(resources={"limits": {"nvidia.com/gpu": "9"}})
    namespace.apply(pod("greedy", [greedy]))
    found = namespace.wait_for("pod/greedy", lambda each: each["status"].get("conditions"))
    assert "Insufficient nvidia.com/gpu" in found["status"]["conditions"][0]["message"]


def test_survives_a_crash_of_the_api_server(kubernetes: Binaries) -> None:
    with ApiCluster(kubernetes, nodes=1) as cluster:
        cluster.kubectl.apply(fake_pod("before"))
        cluster.kubectl.wait_for("pod/before", lambda each: each["status"]["phase"] == "Running")
        cluster.control_plane.restart_api_server()
        cluster.kubectl.apply(fake_pod("after", exit="0@0s"))
        cluster.kubectl.wait_for("pod/after", lambda each: each["status"]["phase"] == "Succeeded", timeout=60)


def test_nothing_is_left_when_its_owner_is_killed(kubernetes: Binaries) -> None:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert owner.stdout is not None
    folder = owner.stdout.readline().strip()
    assert len(running_with(folder)) == 5
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    wait_until(lambda: not running_with(folder), 10, "the end of all its programs")
    # What the killed one could not remove, the next one does.
    with ApiCluster(kubernetes, nodes=1):
        assert not Path(folder).exists()


def test_nothing_is_left_after_stop(kubernetes: Binaries) -> None:
    with ApiCluster(kubernetes, nodes=1) as cluster:
        folder = cluster.folder
        assert len(running_with(str(folder))) == 5
        begin = time.monotonic()
    assert time.monotonic() - begin < 5
    assert running_with(str(folder)) == []
    assert not folder.exists()


def running_with(text: str) -> list[str]:
    """Command lines of processes that name `text`."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        words = process.info["cmdline"] or []
        if process.info["pid"] != os.getpid() and any(text in word for word in words):
            found.append(" ".join(words))
    return found
