"""`shoal render`, `lint`, `convert`: work on manifests that needs no run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from shoal.resources import dump, load, parse
from shoal.resources.yaml_text import write_yaml
from tests.unit.resources.manifests import changed, manifest
from tests.unit.resources.test_tensorboard import SMALL as BOARD
from tests.unit.resources.test_workbench import SMALL as BENCH

EXAMPLES = Path(__file__).parents[3] / "examples/compat"
GOOD = manifest(roles=("Chief", "Worker"), strategy="AllReduce")
CONTAINER = "spec.tfReplicaSpecs.Worker.template.spec.containers.0"


@pytest.fixture
def written(tmp_path):
    """Write documents to a file, and answer its path."""

    def write(*documents: object) -> Path:
        file = tmp_path / "job.yaml"
        file.write_text("---\n".join(write_yaml(d) for d in documents))
        return file

    return write


REFUSALS = {
    "a file that is not there": (None, "no such file; check the path; - reads standard input"),
    "an empty file": (b"", "empty; a manifest has apiVersion, kind, metadata and spec"),
    "broken YAML": (b"a: [1\nb: {", "not valid YAML: while parsing a flow sequence"),
    "tabs": (b"a:\n\t- b\n", "YAML is indented with spaces, not tabs"),
    "a program": (b"\x7fELF\x02\x01\x00\x00\xff", "not a text file; a manifest is YAML or JSON in UTF-8"),
    "broken JSON": (b'{"apiVersion": ', "not valid YAML"),
    "words": (b"hello world", "not a manifest; a manifest is a mapping with apiVersion, kind, metadata and spec"),
    "a resource without a job": (b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "there is no TFJob"),
    "a fault": (write_yaml(changed(GOOD, "spec.runPolice", {})).encode(), "unknown field; did you mean runPolicy?"),
    "a merge into itself": (b"a: &a {<<: *a}", "every manifest says what it is"),
}  # fmt: skip


@pytest.mark.parametrize("command", [("lint",), ("render",), ("convert", "--to", "shoal.dev"), ("run",)])
@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_be_read_is_refused_in_a_sentence(shoal, tmp_path, home, command, case):
    content, expected = REFUSALS[case]
    file = tmp_path / "job.yaml"
    if content is not None:
        file.write_bytes(content)
    result = shoal(*command, file)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {file}")
    assert expected in result.err
    assert not home.exists(), "nothing was begun"


@pytest.mark.parametrize("command", [("lint",), ("render",), ("convert", "--to", "shoal.dev"), ("run",)])
def test_places_that_hold_no_manifest(shoal, tmp_path, command):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/notes.txt").touch()
    folder = shoal(*command, tmp_path / "empty")
    assert (folder.code, folder.err) == (
        2,
        f"error: {tmp_path}/empty: this folder holds no manifest; name a file, or add *.yaml, *.yml, *.json\n",
    )
    nothing = shoal(*command, "-", stdin=b"")
    assert (nothing.code, nothing.err) == (
        2,
        "error: stdin: empty; a manifest has apiVersion, kind, metadata and spec\n",
    )
    long = shoal(*command, tmp_path / ("a" * 300))
    assert long.code == 2
    assert "cannot be read: File name too long" in long.err
    assert "cannot be read: Not a directory" in shoal(*command, "/dev/null/job.yaml").err


def test_all_faults_come_at_once(shoal, written):
    result = shoal("lint", written({**GOOD, "a": 1, "b": 2}, {**GOOD, "c": 3}))
    assert result.code == 2
    assert len(result.err.splitlines()) == 3
    assert "(document 2) c: unknown field" in result.err


# --- lint


def test_lint_of_a_job_in_order(shoal, written):
    result = shoal("lint", written(manifest()))
    assert (result.code, result.out, result.err) == (0, "", "nothing to complain about\n")


def test_lint_fails_on_errors_and_with_strict_on_warnings(shoal, written):
    warned = written(GOOD)
    findings = json.loads(shoal("lint", warned, "--output", "json").out)
    assert {each["severity"] for each in findings} == {"warning"}
    assert {(each["file"], each["job"]) for each in findings} == {(str(warned), "train")}
    assert shoal("lint", warned).code == 0
    assert shoal("lint", warned, "--strict").code == 1
    assert shoal("lint", warned, "--strict", "--output", "json").code == 1


def test_an_error_alone_is_enough_to_fail(shoal, written):
    """An evaluator that cannot see the checkpoints."""
    file = written(manifest(roles=("Chief", "Evaluator")))
    assert shoal("lint", file).code == 1
    result = shoal("lint", file, "-o", "json")
    assert result.code == 1
    assert "SH402" in result.out


def test_lint_reads_the_script_beside_the_manifest(shoal, tmp_path, written):
    job = changed(GOOD, "spec.tfReplicaSpecs.Chief.template.spec.containers.0.command", ["python", "train.py"])
    file = written(changed(job, f"{CONTAINER}.command", ["python", "train.py"]))
    without = json.loads(shoal("lint", file, "-o", "json").out)
    (tmp_path / "train.py").write_text("import keras\nmodel = keras.Sequential()\nmodel.fit(x)\n")
    with_script = json.loads(shoal("lint", file, "-o", "json").out)
    new = [each for each in with_script if each not in without]
    assert new
    assert any("Keras" in json.dumps(each) for each in new)


def test_lint_of_a_script_that_is_no_text_does_not_stumble(shoal, tmp_path, written):
    (tmp_path / "train.py").write_bytes(b"\xff\x00\x01(")
    assert shoal("lint", written(changed(manifest(), f"{CONTAINER}.command", ["python", "train.py"]))).code in (0, 1)


# --- render


@pytest.mark.parametrize("example", ["master.yaml", "ps-exit-code.yaml", "volcano-gang.yaml"])
def test_what_is_rendered_is_rendered_again_the_same(shoal, example):
    first = shoal("render", EXAMPLES / example)
    assert first.code == 0
    assert shoal("render", EXAMPLES / example).out == first.out
    objects = list(yaml.safe_load_all(first.out))
    assert all({"apiVersion", "kind", "metadata"} <= set(each) for each in objects)
    listed = json.loads(shoal("render", EXAMPLES / example, "-o", "json").out)
    assert listed["items"] == objects


def test_what_is_rendered_is_no_job_of_shoal(shoal, tmp_path):
    (tmp_path / "objects.yaml").write_text(shoal("render", EXAMPLES / "master.yaml").out)
    assert not [document for document in load(tmp_path / "objects.yaml") if document.job]
    again = shoal("render", tmp_path / "objects.yaml")
    said = f"error: {tmp_path}/objects.yaml: there is no TFJob and no other resource of Shoal's in it\n"
    assert (again.code, again.err) == (2, said)


def test_render_keeps_documents_beside_the_job_and_gives_a_namespace(shoal, written):
    beside = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"odd": "1e3"}}
    file = written(beside, GOOD, changed(changed(GOOD, "metadata.name", "other"), "metadata.namespace", "theirs"))
    objects = json.loads(shoal("render", file, "-n", "ours", "-o", "json").out)["items"]
    assert objects[0] == beside
    places = {(each["metadata"]["name"].split("-")[0], each["metadata"].get("namespace")) for each in objects[1:]}
    assert places == {("train", "ours"), ("other", "theirs")}


# --- convert


def test_convert_there_and_back(shoal, tmp_path):
    source = EXAMPLES / "ps-exit-code.yaml"
    there = shoal("convert", source, "--to", "shoal.dev")
    assert there.code == 0
    (tmp_path / "there.yaml").write_text(there.out)
    back = shoal("convert", tmp_path / "there.yaml", "--to", "kubeflow.org")
    (tmp_path / "back.yaml").write_text(back.out)
    assert [d.job for d in load(tmp_path / "back.yaml")] == [d.job for d in load(source)]
    assert [d.job.api_version for d in load(tmp_path / "there.yaml")] == ["shoal.dev/v1"]


def test_convert_refuses_what_would_be_lost_unless_told(shoal, written):
    beside = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"odd": "1e3"}}
    file = written(beside, GOOD)
    refused = shoal("convert", file, "--to", "kubeflow.org")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        f"error: {file} (document 2) spec.strategy: kubeflow.org/v1 has no such field; "
        "convert with --lossy to leave it out\n"
        "hint: --lossy leaves out what the other group cannot say\n"
    )
    lossy = shoal("convert", file, "--to", "kubeflow.org", "--lossy")
    assert lossy.code == 0
    assert lossy.out == write_yaml(beside) + "---\n" + dump(
        parse(manifest("kubeflow.org/v1", roles=("Chief", "Worker")))
    )


def test_convert_wants_a_group_that_it_knows(shoal, written):
    result = shoal("convert", written(GOOD), "--to", "batch")
    assert result.code == 2
    assert "batch" in result.err
    assert shoal("convert", written(GOOD)).code == 2


SERVER = EXAMPLES.parent / "serving" / "digits.yaml"


def test_a_model_server_is_rendered_linted_and_kept_by_convert(shoal, tmp_path):
    rendered = list(yaml.safe_load_all(shoal("render", SERVER, "--namespace", "team").out))
    assert [each["kind"] for each in rendered] == ["ConfigMap", "Deployment", "Service", "PodDisruptionBudget"]
    assert {each["metadata"]["namespace"] for each in rendered} == {"team"}
    linted = shoal("lint", SERVER)
    assert (linted.code, linted.err) == (0, "nothing to complain about\n")
    kept = shoal("convert", SERVER, "--to", "kubeflow.org")
    assert yaml.safe_load(kept.out) == yaml.safe_load(SERVER.read_text())


def test_a_tensorboard_is_rendered_linted_and_kept_by_convert(shoal, written):
    board = written(BOARD)
    rendered = list(yaml.safe_load_all(shoal("render", board, "--namespace", "team").out))
    assert [(each["kind"], each["metadata"]["namespace"]) for each in rendered] == [
        ("Deployment", "team"),
        ("Service", "team"),
    ]
    linted = shoal("lint", board)
    assert (linted.code, linted.err) == (0, "nothing to complain about\n")
    assert yaml.safe_load(shoal("convert", board, "--to", "kubeflow.org").out) == BOARD


def test_a_workbench_is_rendered_and_kept_by_convert(shoal, written):
    bench = written(BENCH)
    rendered = list(yaml.safe_load_all(shoal("render", bench, "--namespace", "team").out))
    assert [each["kind"] for each in rendered] == [
        *("Secret", "ServiceAccount", "Role", "RoleBinding", "Deployment", "Service"),
    ]
    assert {each["metadata"]["namespace"] for each in rendered} == {"team"}
    assert yaml.safe_load(shoal("convert", bench, "--to", "kubeflow.org").out) == BENCH
