"""Workbenches: what is read, what is refused and in which words, and what the API server's schema takes."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
import yaml

from shoal.resources import dump, load, parse_workbench
from shoal.resources.workbench_crd import workbench_crd

from .json_schema import plain
from .manifests import changed, faults_of, told

SCHEMA = jsonschema.Draft202012Validator(plain(workbench_crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))

EVERYTHING: dict[str, Any] = yaml.safe_load("""
apiVersion: shoal.dev/v1
kind: Workbench
metadata: {name: desk, namespace: team}
spec:
  image: example/lab:1
  storage:
  - {name: data, mountPath: /data, existingClaim: train, readOnly: true}
  - {name: work, mountPath: /home/me, size: 10Gi}
  folder: /home/me/notebooks
  ingress: {host: lab.example.com, path: /desk, className: nginx, tls: {secretName: cert}}
  idleTimeoutSeconds: 3600
  stopped: false
  resources: {requests: {cpu: '1'}, limits: {memory: 4Gi}}
  template:
    metadata: {labels: {team: a}}
    spec:
      nodeSelector: {disk: ssd}
      serviceAccountName: other
      containers:
      - {name: jupyterlab, args: ['--debug'], env: [{name: A, value: b}]}
      - {name: beside, image: example/beside}
""")
SMALL: dict[str, Any] = {
    "apiVersion": "shoal.dev/v1",
    "kind": "Workbench",
    "metadata": {"name": "desk"},
    "spec": {"storage": [{"name": "work", "mountPath": "/home/me", "existingClaim": "work"}]},
}
DATA = {"name": "data", "mountPath": "/data", "existingClaim": "data", "readOnly": True}


@pytest.mark.parametrize("written", [EVERYTHING, SMALL], ids=["everything", "small"])
def test_what_is_written_is_kept(tmp_path, written):
    assert parse_workbench(written).dump() == written
    SCHEMA.validate(written)
    (tmp_path / "desk.yaml").write_text(dump(parse_workbench(written)))
    (document,) = load(tmp_path / "desk.yaml")
    assert document.workbench is not None
    assert document.workbench.dump() == written
    assert (document.job, document.server, document.board) == (None, None, None)


@pytest.mark.parametrize(
    ("path", "value", "home"),
    [
        ("spec", {}, "/work"),
        ("spec.storage", [DATA], "/work"),
        ("spec.storage", [DATA, *SMALL["spec"]["storage"]], "/home/me"),
        ("spec.folder", "/home/me/a", "/home/me/a"),
    ],
)
def test_its_home_is_the_first_storage_that_can_be_written_to(path, value, home):
    assert parse_workbench(changed(SMALL, path, value)).spec.home == home


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("metadata.name", "My_Desk", ['metadata.name: "My_Desk" cannot be a host name; use lower-case letters, digits and dashes, and begin with a letter, as in my-desk']),
        ("spec.folder", "notebooks", ['spec.folder: "notebooks" does not match ^/; where JupyterLab opens, and its home']),
        ("spec.folder", "/elsewhere", ["spec.folder: nothing is mounted at /elsewhere; mounted are /home/me"]),
        ("spec", {"folder": "/elsewhere"}, ["spec.folder: nothing is mounted at /elsewhere; add spec.storage with a claim"]),
        ("spec", {"folder": "/data/me", "storage": [DATA]}, ["spec.folder: /data/me is on data, which is read-only; JupyterLab writes to it"]),
        ("spec.idleTimeoutSeconds", 59, ["spec.idleTimeoutSeconds: 59 is too small: at least 60; seconds without activity after which kernels end and the workbench is stopped"]),
        ("spec.storage.0", {"name": "work", "mountPath": "/home/me"}, ["spec.storage[0]: no source; give one of existingClaim, nfs, or size (to make a claim)"]),
        ("spec.resources", {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, ["spec.resources.requests.cpu: 2 is more than the limit, 1; raise the limit"]),
        ("spec.template", {"spec": {"containers": [{"name": "jupyterlab", "image": "x"}]}}, ["spec.template.spec.containers[0].image: JupyterLab has its own; write spec.image"]),
        ("spec.token", "secret", ["spec.token: unknown field; known here: image, storage, folder, ingress, idleTimeoutSeconds, stopped, resources, template"]),
        ("apiVersion", "kubeflow.org/v1", ['apiVersion: no Workbench in "kubeflow.org/v1"; write shoal.dev/v1']),
    ],
)  # fmt: skip
def test_what_is_refused_and_in_which_words(tmp_path, path, value, expected):
    assert told(faults_of(tmp_path, changed(SMALL, path, value))) == expected


def test_an_image_of_ones_own_may_have_the_folder():
    written = changed(changed(SMALL, "spec.folder", "/home/jovyan"), "spec.image", "example/lab:1")
    assert parse_workbench(written).spec.home == "/home/jovyan"
