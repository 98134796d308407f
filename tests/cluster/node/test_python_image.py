"""Images with Python, as jobs of users need them."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.pods import container, pod
from tests.cluster.python_image import python_image

ENDED = ("Succeeded", "Failed")


def test_python_runs_a_module_from_a_tree(node_cluster: NodeCluster, namespace: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "greeting.py").write_text("import ssl, sys; print('hello from', sys.version_info[:2])\n")
    image = python_image("greeting", trees={"app": tmp_path})
    node_cluster.load(image)
    main = container(image=image.name, imagePullPolicy="Never", command=["python", "/app/greeting.py"])
    namespace.apply(pod("greets", [main]))
    found = namespace.wait_for("pod/greets", lambda each: each["status"].get("phase") in ENDED, timeout=60)
    assert namespace("logs", "greets") == "hello from (3, 11)\n"
    assert found["status"]["phase"] == "Succeeded"


def test_tensorflow_computes_in_a_pod(node_cluster: NodeCluster, namespace: Kubectl) -> None:
    image = python_image("tensorflow", ["tensorflow-cpu>=2.21,<2.22"])
    node_cluster.load(image)
    script = "import tensorflow as tf; print('sum', int(tf.reduce_sum(tf.range(10))))"
    namespace.apply(
        pod("sums", [container(image=image.name, imagePullPolicy="Never", command=["python", "-c", script])])
    )
    found = namespace.wait_for("pod/sums", lambda each: each["status"].get("phase") in ENDED, timeout=120)
    assert "sum 45" in namespace("logs", "sums")
    assert found["status"]["phase"] == "Succeeded"
