"""Each rule on a job that breaks it, and on one that does not; and the documentation of all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.lint_docs import DOCUMENT, document

from shoal.training.lint import RULES, Severity, lint
from tests.unit.training.scenario import job

KERAS_FIT = "import keras\nmodel = keras.Sequential()\nmodel.fit(x, y)\n"
TF_KERAS_FIT = "import tf_keras\ntf_keras.Sequential().fit(x, y)\n"
SHARED = [{"name": "shared", "mountPath": "/shared", "size": "1Gi"}]
CALM = {"backoffLimit": 3, "stallTimeoutSeconds": 60}


def with_container(a_job, **facts):
    for spec in a_job.spec.tf_replica_specs.values():
        containers = [{**container, **facts} for container in spec.template["spec"]["containers"]]
        spec.template = {"spec": {**spec.template["spec"], "containers": containers}}
    return a_job


def calm(strategy, run_policy=None, **more):
    a_job = job(strategy=strategy, storage=SHARED, run_policy={**CALM, **(run_policy or {})}, **more)
    return with_container(a_job, args=["--folder=/shared/train"])


def labelled(a_job, labels):
    a_job.metadata.labels = labels
    return a_job


def with_template_labels(a_job, labels):
    for spec in a_job.spec.tf_replica_specs.values():
        spec.template = {**spec.template, "metadata": {"labels": labels}}
    return a_job


CASES = [
    ("SH101", calm("BetweenGraphAsync", Master=1, PS=1), {}),
    ("SH201", calm("AllReduce", Worker=2), {"Worker": KERAS_FIT}),
    ("SH201", calm("AllReduce", Worker=2), {"Worker": "import tensorflow as tf\ntf.keras.Sequential().fit(x)\n"}),
    ("SH201", calm("ParameterServer", Chief=1, PS=1), {"Chief": "from tensorflow import keras\nm.fit(x)\n"}),
    ("SH202", calm("Independent", Worker=1), {"Worker": "import tensorflow as tf\ntf.estimator.Estimator()\n"}),
    ("SH301", calm("ParameterServer", Chief=1, PS=1, Worker=2, enableDynamicWorker=True), {}),
    ("SH302", calm("BetweenGraphAsync", PS=1, Worker=2, enableDynamicWorker=True), {}),
    ("SH401", job(Worker=2, strategy="AllReduce", run_policy=CALM), {}),
    ("SH402", job(Chief=1, Evaluator=1, strategy="Independent", run_policy=CALM), {}),
    ("SH403", job(Worker=2, strategy="AllReduce", storage=SHARED, run_policy=CALM), {}),
    ("SH404", calm("Independent", Worker=1, code={"git": {"url": "u", "revision": "main"}}), {}),
    ("SH501", calm("ParameterServer", Chief=1, PS=1, Worker=2, successPolicy="AllWorkers"), {}),
    ("SH502", calm("ParameterServer", Chief=1, PS=1, Worker=1, restart_by_role={"PS": "Never"}), {}),
    ("SH503", calm("AllReduce", Worker=2, restart="Never"), {}),
    ("SH504", job(Worker=2, strategy="AllReduce", storage=SHARED, run_policy={"backoffLimit": 1}), {}),
    ("SH505", job(Worker=1, strategy="Independent"), {}),
    ("SH506", calm("Independent", Worker=1, run_policy={"backoffLimit": 0}), {}),
    (
        "SH601",
        with_container(calm("Independent", Worker=1), resources={"requests": {"nvidia.com/gpu": 1}}),
        {},
    ),
    ("SH701", calm("Independent", Worker=1, serve={"basePath": "/elsewhere/model"}), {}),
    ("SH702", calm("Independent", Worker=1, serve={"basePath": "/shared/model"}), {}),
    ("SH801", labelled(calm("Independent", Worker=1), {"kueue.x-k8s.io/queue-name": "team"}), {}),
    ("SH802", with_template_labels(calm("Independent", Worker=1), {"kueue.x-k8s.io/pod-group-name": "train"}), {}),
]


@pytest.mark.parametrize(("id", "a_job", "scripts"), CASES)
def test_a_broken_rule_is_found(id, a_job, scripts):
    assert id in [finding.rule for finding in lint(a_job, scripts)]


def test_a_gpu_asked_for_twice_is_found():
    a_job = with_container(calm("Independent", Worker=1), resources={"limits": {"nvidia.com/gpu": 1}})
    spec = next(iter(a_job.spec.tf_replica_specs.values()))
    spec.gpu = type(a_job.spec.tf_replica_specs["Worker"]).model_validate({"template": {}, "gpu": {"count": 1}}).gpu
    assert [finding.rule for finding in lint(a_job, {})] == ["SH602"]


@pytest.mark.parametrize(
    ("a_job", "scripts"),
    [
        (calm("AllReduce", Worker=2), {"Worker": TF_KERAS_FIT}),
        (calm("AllReduce", Worker=2), {"Worker": f"import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n{KERAS_FIT}"}),
        (
            with_container(calm("AllReduce", Worker=2), env=[{"name": "TF_USE_LEGACY_KERAS", "value": "1"}]),
            {"Worker": KERAS_FIT},
        ),
        (calm("Independent", Worker=1), {"Worker": KERAS_FIT}),
        (calm("AllReduce", Worker=2), {"Worker": "this is no Python"}),
        (calm("ParameterServer", Chief=1, PS=1, Worker=2, Evaluator=1), {}),
        (calm("BetweenGraphAsync", Chief=1, PS=1, Worker=2, enableDynamicWorker=True), {}),
        (with_template_labels(calm("Independent", Worker=1), {"kueue.x-k8s.io/queue-name": "team"}), {}),
    ],
)
def test_a_sound_job_is_left_in_peace(a_job, scripts):
    assert lint(a_job, scripts) == []


def test_a_job_of_kubeflow_waits_in_its_queue():
    a_job = labelled(calm("Independent", Worker=1), {"kueue.x-k8s.io/queue-name": "team"})
    a_job.api_version = "kubeflow.org/v1"
    assert lint(a_job, {}) == []


def test_rules_are_silenced_by_name():
    a_job = job(Worker=1, strategy="Independent")
    a_job.metadata.annotations = {"shoal.dev/lint-ignore": "SH505, SH401"}
    assert lint(a_job, {}) == []


def test_every_rule_has_a_case():
    assert {rule.id for rule in RULES} - {"SH602"} == {id for id, _, _ in CASES}


def test_every_rule_is_documented():
    assert Path(DOCUMENT).read_text() == document(), "run: python -m tools.lint_docs"


def test_an_error_says_where_what_and_what_to_do():
    finding = lint(calm("AllReduce", Worker=2), {"Worker": KERAS_FIT})[0]
    assert finding.severity is Severity.ERROR
    assert str(finding) == (
        "error SH201 spec.tfReplicaSpecs.Worker: Keras 3's Model.fit does not work under AllReduce; "
        "use tf_keras, set TF_USE_LEGACY_KERAS=1, or write the training loop yourself"
    )


@pytest.mark.parametrize("source", [{"existingClaim": "train"}, {"nfs": {"server": "nas", "path": "/"}}])
def test_a_model_that_a_server_can_mount_and_keep_is_fine(source):
    storage = [{"name": "shared", "mountPath": "/shared", **source}]
    a_job = job(Worker=1, storage=storage, serve={"basePath": "/shared/model"})
    assert not [finding for finding in lint(a_job, {}) if finding.rule.startswith("SH7")]


def test_a_model_in_a_bucket_needs_no_mount():
    a_job = job(Worker=1, serve={"basePath": "s3://bucket/model"})
    assert not [finding for finding in lint(a_job, {}) if finding.rule.startswith("SH7")]
