"""Whatever is valid comes back as it was, through YAML and JSON, and the API server's schema takes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.resources import KUBEFLOW_API, SHOAL_API, ReplicaType, dump, load, parse
from shoal.resources.crd import kubeflow_crd, shoal_crd

from . import generated
from .json_schema import plain
from .manifests import changed, manifest

EXAMPLES = settings(max_examples=30, suppress_health_check=list(HealthCheck))
"""A whole job is a large example: drawing one takes 20 ms."""

SCHEMAS = {
    api: jsonschema.Draft202012Validator(plain(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))
    for api, crd in {SHOAL_API: shoal_crd(), KUBEFLOW_API: kubeflow_crd()}.items()
}


def with_usual_role_names(value: dict[str, Any]) -> dict[str, Any]:
    specs = {ReplicaType.parse(key).value: spec for key, spec in value["spec"]["tfReplicaSpecs"].items()}
    return {**value, "spec": {**value["spec"], "tfReplicaSpecs": specs}}


@pytest.mark.parametrize("api", generated.APIS)
@EXAMPLES
@given(data=st.data())
def test_nothing_is_lost_or_changed(tmp_path_factory, api, data):
    written = data.draw(generated.jobs(api))
    SCHEMAS[api].validate(written)
    job = parse(written)
    assert job.dump() == with_usual_role_names(written)
    assert parse(job.dump()) == job

    folder = tmp_path_factory.mktemp("jobs")
    (folder / "a.yaml").write_text(dump(job))
    (folder / "b.json").write_text(json.dumps(written))
    assert [document.job for document in load(folder)] == [job] * 2


@settings(EXAMPLES, max_examples=10)
@given(first=generated.jobs(SHOAL_API), second=generated.jobs(KUBEFLOW_API))
def test_documents_of_one_file_stay_apart(tmp_path_factory, first, second):
    file: Path = tmp_path_factory.mktemp("jobs") / "job.yaml"
    file.write_text("---\n".join(dump(parse(each)) for each in (first, second, first)))
    documents = load(file)
    assert [document.job for document in documents] == [parse(first), parse(second), parse(first)]
    assert [document.number for document in documents] == [1, 2, 3]
    lines = file.read_text().splitlines()
    assert all(lines[document.line - 1].startswith("apiVersion:") for document in documents)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.strategy", "Synchronous"),
        ("spec.runPolicy", {"backoffLimit": "3"}),
        ("spec.runPolicy", {"backoffLimit": -1}),
        ("spec.runPolice", {}),
        ("spec.tfReplicaSpecs", {}),
        ("spec.tfReplicaSpecs.Worker.template", ...),
        ("spec.tfReplicaSpecs.Worker.template.spec.containers.0.args", "a b"),
        ("spec.tfReplicaSpecs.Worker.template.spec.containers.0.resources", {"limits": {"memory": "4GB"}}),
        ("spec.storage", [{"name": "a", "mountPath": "relative", "size": "1Gi"}]),
        ("spec.tensorBoard", {"logDirs": {}}),
    ],
)
def test_the_schema_of_the_api_server_finds_what_the_loader_finds(path, value):
    """Else the test above would show nothing: a schema that takes everything takes every job."""
    good = manifest()
    bad = changed(good, path, value)
    assert SCHEMAS[SHOAL_API].is_valid(good)
    assert not SCHEMAS[SHOAL_API].is_valid(bad)


@pytest.mark.parametrize("field", ["strategy", "storage", "tensorBoard", "serve"])
def test_the_schema_of_kubeflow_has_no_fields_of_shoal(field):
    values = {
        "strategy": "Independent",
        "storage": [{"name": "a", "mountPath": "/a", "size": "1Gi"}],
        "tensorBoard": {"logDirs": {"train": "/logs"}},
        "serve": {"basePath": "/models"},
    }
    job = manifest(**{field: values[field]})
    assert SCHEMAS[SHOAL_API].is_valid(job)
    assert not SCHEMAS[KUBEFLOW_API].is_valid(job)


def test_numbers_that_are_not_finite_leave_a_status_that_json_can_say():
    job = parse(
        {
            **manifest(),
            "status": {
                "phase": "Running",
                "progress": {"replica": "chief-0", "step": 3, "time": "2026-01-31T12:00:00Z"},
            },
        }
    )
    diverged = type(job.status.progress)(replica="chief-0", step=3, loss=float("nan"), time=0.0)
    job.status.progress = diverged
    assert "NaN" not in json.dumps(job.dump())
    assert parse(job.dump()).status.progress == diverged
