"""What a TensorBoard is on Kubernetes."""

from __future__ import annotations

from typing import Any

from shoal.kubernetes.tensorboard import render_board
from shoal.kubernetes.web_app import url
from shoal.resources import parse_board
from tests.unit.resources.manifests import changed
from tests.unit.resources.test_tensorboard import EVERYTHING, SMALL


def of_kind(written: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in render_board(parse_board(written))}


def pod(objects: dict[str, dict[str, Any]]) -> dict[str, Any]:
    spec: dict[str, Any] = objects["Deployment"]["spec"]["template"]["spec"]
    return spec


def test_the_smallest_is_a_deployment_and_a_service():
    objects = of_kind(SMALL)
    assert list(objects) == ["Deployment", "Service"]
    (container,) = pod(objects)["containers"]
    assert container["command"] == ["tensorboard", "--logdir_spec=base:/train/logs", "--bind_all", "--port=6006"]
    assert container["image"] == "tensorflow/tensorflow:2.21.0"
    assert container["readinessProbe"]["httpGet"]["path"] == "/"
    assert objects["Service"]["spec"]["ports"] == [{"name": "http", "port": 80, "targetPort": "http"}]
    assert objects["Service"]["spec"]["selector"] == {"shoal.dev/tensorboard": "curves"}
    assert objects["Deployment"]["spec"]["template"]["metadata"]["labels"] == {"shoal.dev/tensorboard": "curves"}


def test_logs_are_mounted_read_only():
    (container,) = pod(of_kind(SMALL))["containers"]
    assert container["volumeMounts"] == [{"name": "train", "mountPath": "/train", "readOnly": True}]


def test_it_passes_the_restricted_level_and_has_no_token_of_the_cluster():
    spec = pod(of_kind(SMALL))
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert spec["automountServiceAccountToken"] is False


def test_it_is_told_of_the_path_that_the_ingress_gives_it():
    objects = of_kind(EVERYTHING)
    container = pod(objects)["containers"][0]
    assert "--path_prefix=/curves" in container["command"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/curves/"
    ingress = objects["Ingress"]
    (rule,) = ingress["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert (rule["host"], path["path"], path["pathType"]) == ("boards.example.com", "/curves", "Prefix")
    assert ingress["spec"]["tls"] == [{"hosts": ["boards.example.com"], "secretName": "cert"}]
    assert ingress["metadata"]["annotations"] == {"a/b": "c"}
    assert url(parse_board(EVERYTHING)) == "https://boards.example.com/curves/"


def test_by_default_the_path_is_its_namespace_and_name():
    board = changed(SMALL, "spec.ingress", {})
    objects = of_kind(board)
    assert objects["Ingress"]["spec"]["rules"][0]["http"]["paths"][0]["path"] == "/default/curves"
    assert "--path_prefix=/default/curves" in pod(objects)["containers"][0]["command"]
    assert url(parse_board(board)) == "http://curves.default.svc/default/curves/"
    assert url(parse_board(SMALL)) == "http://curves.default.svc/"
    root = of_kind(changed(SMALL, "spec.ingress", {"path": "/"}))
    assert root["Ingress"]["spec"]["rules"][0]["http"]["paths"][0]["path"] == "/"
    assert not any("path_prefix" in each for each in pod(root)["containers"][0]["command"])


def test_the_template_adds_what_the_pod_needs_beside():
    spec = pod(of_kind(EVERYTHING))
    own, beside = spec["containers"]
    assert (own["name"], own["image"], beside["name"]) == ("tensorboard", "example/tensorboard:1", "beside")
    assert own["args"] == ["--reload_interval=5"]
    assert own["resources"] == {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}}
    assert [mount["mountPath"] for mount in own["volumeMounts"]] == ["/train", "/scratch"]
    assert [volume["name"] for volume in spec["volumes"]] == ["train", "scratch"]
    assert spec["nodeSelector"] == {"disk": "ssd"}
    labels = of_kind(EVERYTHING)["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert labels == {"team": "a", "shoal.dev/tensorboard": "curves"}


def test_an_nfs_export_gets_a_volume_and_a_claim():
    storage = [{"name": "nas", "mountPath": "/train", "nfs": {"server": "nas.example", "path": "/logs"}}]
    objects = of_kind(changed(SMALL, "spec.storage", storage))
    assert list(objects) == ["PersistentVolume", "PersistentVolumeClaim", "Deployment", "Service"]
    assert objects["PersistentVolume"]["metadata"]["labels"]["shoal.dev/tensorboard"] == "curves"
    assert pod(objects)["volumes"] == [{"name": "nas", "persistentVolumeClaim": {"claimName": "curves-nas"}}]
