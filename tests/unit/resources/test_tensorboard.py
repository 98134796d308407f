"""TensorBoards: what is read, what is refused and in which words, and what the API server's schema takes."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
import yaml

from shoal.resources import ManifestError, dump, load, parse_board
from shoal.resources.tensorboard_crd import tensorboard_crd

from .json_schema import plain
from .manifests import changed, faults_of, told

SCHEMA = jsonschema.Draft202012Validator(plain(tensorboard_crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))

EVERYTHING: dict[str, Any] = yaml.safe_load("""
apiVersion: shoal.dev/v1
kind: TensorBoard
metadata: {name: curves, namespace: team}
spec:
  logDirs: {base: /train/base/logs, wide: /train/wide/logs, elsewhere: 'gs://bucket/logs', scratch: /scratch/logs}
  storage:
  - {name: train, mountPath: /train, existingClaim: train}
  ingress: {host: boards.example.com, path: /curves, className: nginx, tls: {secretName: cert}, annotations: {a/b: c}}
  image: example/tensorboard:1
  resources: {requests: {cpu: 100m}, limits: {memory: 1Gi}}
  template:
    metadata: {labels: {team: a}}
    spec:
      nodeSelector: {disk: ssd}
      volumes: [{name: scratch, emptyDir: {}}]
      containers:
      - {name: tensorboard, args: ['--reload_interval=5'], volumeMounts: [{name: scratch, mountPath: /scratch}]}
      - {name: beside, image: example/beside}
""")
SMALL: dict[str, Any] = {
    "apiVersion": "shoal.dev/v1",
    "kind": "TensorBoard",
    "metadata": {"name": "curves"},
    "spec": {
        "logDirs": {"base": "/train/logs"},
        "storage": [{"name": "train", "mountPath": "/train", "existingClaim": "train"}],
    },
}


@pytest.mark.parametrize("written", [EVERYTHING, SMALL], ids=["everything", "small"])
def test_what_is_written_is_kept(tmp_path, written):
    assert parse_board(written).dump() == written
    SCHEMA.validate(written)
    (tmp_path / "board.yaml").write_text(dump(parse_board(written)))
    (document,) = load(tmp_path / "board.yaml")
    assert document.board is not None
    assert document.board.dump() == written
    assert (document.job, document.server) == (None, None)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("metadata.name", "My_Board", ['metadata.name: "My_Board" cannot be a host name; use lower-case letters, digits and dashes, and begin with a letter, as in my-board']),
        ("spec.logDirs", {}, ["spec.logDirs: empty; where to read event files, by the name that each run is shown under: an absolute path on storage, or a URI such as gs://bucket/logs"]),
        ("spec.logDirs", {"a,b": "/train"}, ['spec.logDirs[a,b]: "a,b" cannot name a run; TensorBoard takes names without , and :, not beginning with /']),
        ("spec.logDirs", {"a:b": "/train"}, ['spec.logDirs[a:b]: "a:b" cannot name a run; TensorBoard takes names without , and :, not beginning with /']),
        ("spec.logDirs", {"/a": "/train"}, ['spec.logDirs[/a]: "/a" cannot name a run; TensorBoard takes names without , and :, not beginning with /']),
        ("spec.logDirs", {"a": "/train/x,y"}, ['spec.logDirs.a: "/train/x,y" has a comma; TensorBoard would take it for two folders']),
        ("spec.logDirs", {"a": "logs"}, ['spec.logDirs.a: "logs" is not absolute; begin it with /, as the container sees it']),
        ("spec.logDirs", {"a": "/trained/logs"}, ["spec.logDirs.a: nothing is mounted at /trained/logs; mounted are /train"]),
        ("spec.storage", [], ["spec.logDirs.base: nothing is mounted at /train/logs; add spec.storage with the claim that the job writes to"]),
        ("spec.storage.0", {"name": "train", "mountPath": "/train", "size": "1Gi"}, ["spec.storage[0].size: a claim that is made anew holds nothing to show; name an existingClaim, or nfs"]),
        ("spec.storage.0", {"name": "train", "mountPath": "/train"}, ["spec.storage[0]: no source; give one of existingClaim, nfs, or size (to make a claim)"]),
        ("spec.ingress", {"path": "curves"}, ['spec.ingress.path: "curves" does not match ^(/|(/[A-Za-z0-9._~-]+)+)$; everything at and below this path goes to the application, which is told of it']),
        ("spec.ingress", {"path": "/a/"}, ['spec.ingress.path: "/a/" does not match ^(/|(/[A-Za-z0-9._~-]+)+)$; everything at and below this path goes to the application, which is told of it']),
        ("spec.resources", {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, ["spec.resources.requests.cpu: 2 is more than the limit, 1; raise the limit"]),
        ("spec.template", {"spec": {"containers": [{"name": "tensorboard", "image": "x"}]}}, ["spec.template.spec.containers[0].image: TensorBoard has its own; write spec.image"]),
        ("spec.logdirs", {}, ["spec.logdirs: unknown field; did you mean logDirs?"]),
        ("apiVersion", "kubeflow.org/v1", ['apiVersion: no TensorBoard in "kubeflow.org/v1"; write shoal.dev/v1']),
    ],
)  # fmt: skip
def test_what_is_refused_and_in_which_words(tmp_path, path, value, expected):
    assert told(faults_of(tmp_path, changed(SMALL, path, value))) == expected


def test_an_image_of_ones_own_may_hold_the_logs():
    written = changed(changed(SMALL, "spec.storage", []), "spec.image", "example/with-logs:1")
    assert parse_board(written).spec.image == "example/with-logs:1"


def test_another_kind_is_no_tensorboard():
    with pytest.raises(ManifestError, match="expected TensorBoard, found ConfigMap"):
        parse_board({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
