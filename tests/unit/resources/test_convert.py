"""The same job in either API group: what goes over unchanged, and what Kubeflow has no words for."""

from __future__ import annotations

import copy

import pytest
from hypothesis import HealthCheck, given, settings

from shoal.resources import KUBEFLOW_API, SHOAL_API, ManifestError, convert, parse
from shoal.resources.shoal_only import shoal_only_fields

from . import generated
from .manifests import changed, manifest

EXAMPLES = settings(max_examples=12, suppress_health_check=list(HealthCheck))
CONTAINER = "spec.tfReplicaSpecs.Worker.template.spec.containers.0"

SHOAL_FIELDS = {
    "spec.strategy": "Independent",
    "spec.storage": [{"name": "data", "mountPath": "/data", "size": "1Gi"}],
    "spec.tensorBoard": {"logDirs": {"train": "/logs"}},
    "spec.serve": {"basePath": "/models"},
    "spec.runPolicy.startupTimeoutSeconds": 10,
    "spec.runPolicy.stallTimeoutSeconds": 20,
    "spec.runPolicy.evaluationTimeoutSeconds": 30,
    "spec.tfReplicaSpecs.Worker.gpu": {"count": 2},
}


def refusal(job) -> list[str]:
    with pytest.raises(ManifestError) as error:
        convert(parse(job), KUBEFLOW_API)
    return str(error.value).splitlines()


@EXAMPLES
@given(written=generated.jobs(KUBEFLOW_API))
def test_all_that_kubeflow_knows_goes_there_and_back(written):
    job = parse(written)
    there = convert(job, SHOAL_API)
    assert there.api_version == SHOAL_API
    assert {**there.dump(), "apiVersion": KUBEFLOW_API} == job.dump()
    assert parse(there.dump()) == there
    assert convert(there, KUBEFLOW_API) == job


@EXAMPLES
@given(written=generated.jobs(SHOAL_API))
def test_what_is_left_with_lossy_is_a_valid_job_for_kubeflow(written):
    job = parse(written)
    before = copy.deepcopy(job)
    there = convert(job, KUBEFLOW_API, lossy=True)
    assert parse(there.dump()) == there
    assert not list(shoal_only_fields(there.dump()))
    assert job == before, "what was given is not changed"
    assert (there.metadata, there.status, set(there.replicas)) == (job.metadata, job.status, set(job.replicas))


@pytest.mark.parametrize(("path", "value"), SHOAL_FIELDS.items())
def test_a_field_that_kubeflow_has_not_is_refused_or_left_out(path, value):
    job = changed(manifest(), path, value)
    line = f"{path}: kubeflow.org/v1 has no such field; convert with --lossy to leave it out"
    assert refusal(job) == [line]
    lost = convert(parse(job), KUBEFLOW_API, lossy=True)
    assert lost == parse(manifest(KUBEFLOW_API))


def test_all_obstacles_are_told_at_once():
    job = manifest(roles=("Chief", "Worker"))
    for path, value in SHOAL_FIELDS.items():
        job = changed(job, path, value)
    assert len(refusal(changed(job, f"{CONTAINER}.name", "train"))) == len(SHOAL_FIELDS) + 1


def test_a_container_of_another_name_is_refused_or_renamed():
    job = changed(manifest(), f"{CONTAINER}.name", "train")
    assert refusal(job) == [
        "spec.tfReplicaSpecs.Worker.template.spec.containers[0].name: "
        "kubeflow.org/v1 wants this container to be named tensorflow; rename it, or convert with --lossy"
    ]
    renamed = convert(parse(job), KUBEFLOW_API, lossy=True)
    assert renamed == parse(manifest(KUBEFLOW_API))


def test_only_the_container_that_trains_needs_the_name():
    sidecar_first = [{"name": "proxy", "image": "proxy"}, {"name": "tensorflow", "image": "train"}]
    job = changed(manifest(), CONTAINER.removesuffix(".0"), sidecar_first)
    assert convert(parse(job), KUBEFLOW_API).dump()["spec"] == job["spec"]


def test_defaults_are_not_written_out():
    there = convert(parse(manifest(KUBEFLOW_API)), SHOAL_API)
    assert there.dump() == manifest(SHOAL_API)
