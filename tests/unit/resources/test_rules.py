"""What a TFJob must fulfil beyond its schema: whole messages, as a user reads them."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.resources import KUBEFLOW_API, SHOAL_API

from .manifests import TEMPLATE, changed, faults_of, manifest, told

WORKER = "spec.tfReplicaSpecs.Worker"
POD = f"{WORKER}.template.spec"
CONTAINER = f"{POD}.containers.0"
SHOWN = f"{POD}.containers[0]"
REPLICA: dict[str, Any] = {"template": TEMPLATE}


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ({"Chief": 1, "chief": 1}, ["spec.tfReplicaSpecs.chief: the same role as Chief; remove one of the two"]),
        ({"Worker": 1, "WORKER": 2}, ["spec.tfReplicaSpecs.WORKER: the same role as Worker; remove one of the two"]),
        ({"Chief": 1, "Master": 1}, ["spec.tfReplicaSpecs.Master: Chief and Master are the same role; keep Chief alone"]),
        ({"master": 1, "Chief": 1}, ["spec.tfReplicaSpecs.Chief: master and Chief are the same role; keep Chief alone"]),
        ({"Chief": 2}, ["spec.tfReplicaSpecs.Chief.replicas: TensorFlow knows one chief, found 2; write 1"]),
        ({"MASTER": 3}, ["spec.tfReplicaSpecs.MASTER.replicas: TensorFlow knows one chief, found 3; write 1"]),
        ({"Worker": 1, "Evaluator": 2}, ["spec.tfReplicaSpecs.Evaluator.replicas: TensorFlow knows one evaluator, found 2; write 1"]),
        ({"Worker": 1, "Workers": 1}, ["spec.tfReplicaSpecs.Workers: no such role; did you mean Worker?"]),
        ({"Worker": 1, "Evaluater": 1}, ["spec.tfReplicaSpecs.Evaluater: no such role; did you mean Evaluator?"]),
        ({"Worker": 1, "Launcher": 1}, ["spec.tfReplicaSpecs.Launcher: no such role; the roles are Chief, Master, PS, Worker, Evaluator"]),
        ({"PS": 1}, ["spec.tfReplicaSpecs: nobody trains: no chief and no worker; add a Worker or a Chief"]),
        ({"Worker": 0, "PS": 2}, ["spec.tfReplicaSpecs: nobody trains: no chief and no worker; add a Worker or a Chief"]),
        ({"Evaluator": 1}, ["spec.tfReplicaSpecs: nobody trains: no chief and no worker; add a Worker or a Chief"]),
        ({"Chief": 0, "Worker": 1, "Evaluator": 0}, []),
        ({"cHiEf": 1, "pS": 2, "wOrKeR": 3, "eVaLuAtOr": 1}, []),
    ],
)  # fmt: skip
def test_roles(tmp_path, roles, expected):
    job = manifest(tfReplicaSpecs={role: {"replicas": count, **REPLICA} for role, count in roles.items()})
    assert told(faults_of(tmp_path, job)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train", []),
        ("a", []),
        ("a" * 52, []),
        ("a" * 53, [f"metadata.name: too long for replicas such as {'a' * 53}-worker-999; shorten it to 52 characters"]),
        ("My_Job", ['metadata.name: "My_Job" cannot be a host name; use lower-case letters, digits and dashes, and begin with a letter, as in my-job']),
        ("1st", ['metadata.name: "1st" cannot be a host name; use lower-case letters, digits and dashes, and begin with a letter, as in st']),
        ("a-", ['metadata.name: "a-" cannot be a host name; use lower-case letters, digits and dashes, and begin with a letter, as in a']),
        ("a.b", ['metadata.name: "a.b" cannot be a host name; use lower-case letters, digits and dashes, and begin with a letter, as in a-b']),
        ("42", ['metadata.name: "42" cannot be a host name; use lower-case letters, digits and dashes, and begin with a letter']),
        ("train\n", ['metadata.name: "train\n" cannot be a host name; use lower-case letters, digits and dashes, and begin with a letter, as in train']),
        ("../escape", ['metadata.name: "../escape" cannot be a host name; use lower-case letters, digits and dashes, and begin with a letter, as in escape']),
        (..., ["metadata.name: missing; name the job"]),
        (None, ["metadata.name: missing; name the job"]),
    ],
)  # fmt: skip
def test_names(tmp_path, name, expected):
    assert told(faults_of(tmp_path, changed(manifest(), "metadata.name", name))) == expected


def test_the_name_leaves_room_for_the_workers_that_there_are(tmp_path):
    job = changed(changed(manifest(), "metadata.name", "a" * 52), f"{WORKER}.replicas", 1001)
    assert told(faults_of(tmp_path, job)) == [
        f"metadata.name: too long for replicas such as {'a' * 52}-worker-1000; shorten it to 51 characters"
    ]


def test_a_generated_name_is_not_enough(tmp_path):
    job = {**manifest(), "metadata": {"generateName": "train-"}}
    assert told(faults_of(tmp_path, job)) == ["metadata.name: missing; name the job: generateName is not enough"]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (POD, {}, f"{POD}.containers: missing; "),
        (f"{POD}.containers", [], f"{POD}.containers: no container; add one that trains: a name, an image and a command"),
        (f"{CONTAINER}.image", ..., f"{SHOWN}.image: missing; name the image that the container runs"),
        (f"{CONTAINER}.image", "", f"{SHOWN}.image: missing; name the image that the container runs"),
        (f"{POD}.initContainers", [{"name": "a"}], f"{POD}.initContainers[0].image: missing; name the image that the container runs"),
        (f"{CONTAINER}.volumeMounts", [{"name": "a", "mountPath": "/a"}], f'{SHOWN}.volumeMounts[0].name: no volume is named "a"; add it to the template\'s spec.volumes'),
        (f"{CONTAINER}.resources", {"limits": {"memory": "-1"}}, f"{SHOWN}.resources.limits.memory: -1 is less than nothing"),
        (f"{CONTAINER}.resources", {"limits": {"cpu": 1}, "requests": {"cpu": "1001m"}}, f"{SHOWN}.resources.requests.cpu: 1001m is more than the limit, 1; raise the limit"),
        (f"{CONTAINER}.resources", {"limits": {"nvidia.com/gpu": "500m"}}, f"{SHOWN}.resources.limits[nvidia.com/gpu]: 500m is not a whole number of devices; devices come whole"),
        (f"{CONTAINER}.resources", {"requests": {"nvidia.com/gpu": 1}}, f"{SHOWN}.resources.requests[nvidia.com/gpu]: requested without a limit; write it under limits"),
        (f"{CONTAINER}.resources", {"limits": {"nvidia.com/gpu": 2}, "requests": {"nvidia.com/gpu": 1}}, f"{SHOWN}.resources.requests[nvidia.com/gpu]: 1 differs from the limit, 2; make them equal"),
    ],
)  # fmt: skip
def test_pods(tmp_path, path, value, expected):
    (fault,) = told(faults_of(tmp_path, changed(manifest(), path, value)))
    assert fault.startswith(expected) if expected.endswith("; ") else fault == expected


@pytest.mark.parametrize(
    "resources",
    [
        {"limits": {"memory": "1Gi"}, "requests": {"memory": "1024Mi"}},
        {"requests": {"cpu": "100m"}},
        {"limits": {"nvidia.com/gpu": 2}, "requests": {"nvidia.com/gpu": "2"}},
        {"limits": {"nvidia.com/gpu": "2000m"}},
        {"limits": {"kubernetes.io/batch-cpu": "1.5"}},
    ],
)
def test_resources_that_fit(tmp_path, resources):
    assert not faults_of(tmp_path, changed(manifest(), f"{CONTAINER}.resources", resources))


def test_a_mount_that_is_misspelt_is_told_the_volume(tmp_path):
    job = changed(manifest(), f"{POD}.volumes", [{"name": "datasets", "emptyDir": {}}])
    job = changed(job, f"{CONTAINER}.volumeMounts", [{"name": "dataset", "mountPath": "/a"}])
    assert told(faults_of(tmp_path, job)) == [
        f'{SHOWN}.volumeMounts[0].name: no volume is named "dataset"; did you mean datasets?'
    ]


def test_storage_may_be_mounted_by_hand_and_takes_its_name_for_itself(tmp_path):
    job = manifest(storage=[{"name": "data", "mountPath": "/data", "size": "1Gi"}])
    mounted = changed(job, f"{CONTAINER}.volumeMounts", [{"name": "data", "mountPath": "/again"}])
    assert not faults_of(tmp_path, mounted)
    taken = changed(job, f"{POD}.volumes", [{"name": "data", "emptyDir": {}}])
    assert told(faults_of(tmp_path, taken)) == [
        f'{POD}.volumes[0].name: "data" is the name of a spec.storage too; rename one'
    ]


def test_kubeflow_wants_a_container_named_tensorflow(tmp_path):
    containers = [{"name": "trainer", "image": "a"}, {"name": "proxy", "image": "b"}]
    problem = "no container is named tensorflow; rename the container that trains (here: trainer, proxy)"
    other = changed(manifest(KUBEFLOW_API), f"{POD}.containers", containers)
    assert told(faults_of(tmp_path, other)) == [f"{POD}.containers: {problem}"]
    assert not faults_of(tmp_path, changed(manifest(SHOAL_API), f"{POD}.containers", containers))
    assert not faults_of(tmp_path, changed(other, f"{POD}.containers.1.name", "tensorflow"))


def test_kubeflow_is_told_which_fields_are_shoals(tmp_path):
    job = manifest(KUBEFLOW_API, strategy="Independent", serve={"basePath": "/m"}, runPolicy={"stallTimeoutSeconds": 9})
    job = changed(job, f"{WORKER}.gpu", {"count": 2})
    hint = "kubeflow.org/v1 has no such field, shoal.dev/v1 has; convert the manifest: shoal convert --to shoal.dev"
    assert sorted(told(faults_of(tmp_path, job))) == [
        f"spec.runPolicy.stallTimeoutSeconds: {hint}",
        f"spec.serve: {hint}",
        f"spec.strategy: {hint}",
        f"{WORKER}.gpu: {hint}",
    ]


def test_gpus_are_asked_for_once(tmp_path):
    job = changed(changed(manifest(), f"{WORKER}.gpu", {}), f"{CONTAINER}.resources", {"limits": {"amd.com/gpu": 1}})
    assert told(faults_of(tmp_path, job)) == [
        f"{SHOWN}.resources.limits[amd.com/gpu]: GPUs are asked for twice; remove this limit, or the role's gpu"
    ]


@pytest.mark.parametrize(
    ("strategy", "roles", "expected"),
    [
        ("ParameterServer", ("Worker",), ["ParameterServer needs a parameter server; add a PS, or choose another strategy", "ParameterServer needs a chief, which drives the workers; add a Chief"]),
        ("ParameterServer", ("PS", "Worker"), ["ParameterServer needs a chief, which drives the workers; add a Chief"]),
        ("ParameterServer", ("Master", "PS", "Worker"), []),
        ("BetweenGraphAsync", ("Worker",), ["BetweenGraphAsync needs a parameter server; add a PS, or choose another strategy"]),
        ("BetweenGraphSync", ("Chief",), ["BetweenGraphSync needs a parameter server; add a PS, or choose another strategy"]),
        ("BetweenGraphSync", ("PS", "Worker"), []),
        ("InGraph", ("Worker",), ["InGraph needs a chief, which drives the workers; add a Chief"]),
        ("InGraph", ("Chief", "Worker"), []),
        ("AllReduce", ("PS", "Worker"), ["AllReduce has no use for parameter servers; remove PS, or choose another strategy"]),
        ("AllReduce", ("Chief", "Worker"), []),
        ("Independent", ("Worker",), []),
    ],
)  # fmt: skip
def test_strategies_have_the_roles_that_they_need(tmp_path, strategy, roles, expected):
    faults = told(faults_of(tmp_path, manifest(roles=roles, strategy=strategy)))
    assert faults == [f"spec.strategy: {problem}" for problem in expected]


@pytest.mark.parametrize(
    ("roles", "strategy", "expected"),
    [
        (("PS", "Worker"), None, []),
        (("PS", "Worker"), "BetweenGraphAsync", []),
        (("Chief",), None, ["there is no Worker to come and go; remove it, or add a Worker"]),
        (("Worker",), "AllReduce", ["AllReduce needs all workers known from the start; use BetweenGraphAsync"]),
        (("Chief", "PS", "Worker"), "ParameterServer", ["ParameterServer needs all workers known from the start; use BetweenGraphAsync"]),
    ],
)  # fmt: skip
def test_workers_that_come_and_go(tmp_path, roles, strategy, expected):
    named = {"strategy": strategy} if strategy else {}
    faults = told(faults_of(tmp_path, manifest(roles=roles, enableDynamicWorker=True, **named)))
    assert faults == [f"spec.enableDynamicWorker: {problem}" for problem in expected]


@pytest.mark.parametrize(
    ("roles", "scaling", "gang", "expected"),
    [
        (("Worker",), {"minWorkers": 2, "maxWorkers": 2}, 2, []),
        (("Worker",), {"maxWorkers": 4}, ..., []),
        (("Worker",), {"minWorkers": 3, "maxWorkers": 2}, ..., ["spec.scaling.minWorkers: more than maxWorkers, which is 2; at most 2"]),
        (("Worker",), {"minWorkers": 3}, ..., ["spec.scaling.maxWorkers: missing; the most workers"]),
        (("Chief",), {"maxWorkers": 2}, ..., ["spec.scaling: there is no Worker to scale; remove it, or add a Worker"]),
        (("PS", "Worker"), {"minWorkers": 2, "maxWorkers": 4}, 4, ["spec.scaling.minWorkers: with 2 workers the job has 3 replicas, and minAvailable asks for 4; at least 3, or a lower minAvailable"]),
    ],
)  # fmt: skip
def test_scaling(tmp_path, roles, scaling, gang, expected):
    job = manifest(
        roles=roles, scaling=scaling, runPolicy={} if gang is ... else {"schedulingPolicy": {"minAvailable": gang}}
    )
    if "Worker" in roles:
        job = changed(job, f"{WORKER}.replicas", 4)
    assert told(faults_of(tmp_path, job)) == expected


@pytest.mark.parametrize(("wanted", "fits"), [(3, True), (4, False)])
def test_a_gang_is_no_larger_than_the_job(tmp_path, wanted, fits):
    job = manifest(roles=("Chief", "PS", "Worker"), runPolicy={"schedulingPolicy": {"minAvailable": wanted}})
    expected = "4 replicas can never start together: the job has 3; at most 3"
    faults = told(faults_of(tmp_path, job))
    assert faults == ([] if fits else [f"spec.runPolicy.schedulingPolicy.minAvailable: {expected}"])


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ({}, ": no source; give one of existingClaim, nfs, or size (to make a claim)"),
        ({"existingClaim": "a", "size": "1Gi"}, ".size: a second source beside existingClaim; keep one of the two"),
        ({"nfs": {"server": "a", "path": "/b"}, "existingClaim": "a"}, ".nfs: a second source beside existingClaim; keep one of the two"),
        ({"existingClaim": "a", "storageClassName": "fast"}, ".storageClassName: a class is for a claim to make; give its size, or remove it"),
        ({"size": "lots"}, '.size: "lots" is not a quantity; write a number and a unit, as in 500m, 2 or 4Gi'),
        ({"sise": "1Gi"}, ".sise: unknown field; did you mean size?"),
        ({"size": "1Gi", "storageClassName": "fast"}, None),
    ],
)  # fmt: skip
def test_storage_has_one_source(tmp_path, claim, expected):
    job = manifest(storage=[{"name": "data", "mountPath": "/data", **claim}])
    assert told(faults_of(tmp_path, job)) == ([f"spec.storage[0]{expected}"] if expected else [])


GIT = {"url": "https://example.com/a.git", "revision": "main"}
ARCHIVE = {"name": "code", "digest": "0" * 64}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ({}, ": no source; give one of git, configMap, claim"),
        ({"git": GIT, "configMap": ARCHIVE}, ".configMap: a second source beside git; keep one of the two"),
        ({"git": {**GIT, "path": "/a"}}, '.git.path: "/a" leads out of it; write a path within it, without ..'),
        ({"git": {**GIT, "path": "a/.."}}, '.git.path: "a/.." leads out of it; write a path within it, without ..'),
        ({"claim": {**ARCHIVE, "path": "../a"}}, '.claim.path: "../a" leads out of it; write a path within it, without ..'),
        ({"git": {**GIT, "url": "--upload-pack=touch"}}, '.git.url: "--upload-pack=touch" does not match ^[^-]; the repository, as `git fetch` takes it'),
        ({"gut": GIT}, ".gut: unknown field; did you mean git?"),
        ({"git": {**GIT, "path": "a..b/c"}}, None),
        ({"configMap": ARCHIVE}, None),
        ({"claim": {**ARCHIVE, "path": "a.tar.gz"}}, None),
    ],
)  # fmt: skip
def test_code_has_one_source(tmp_path, code, expected):
    assert told(faults_of(tmp_path, manifest(code=code))) == ([f"spec.code{expected}"] if expected else [])


def test_code_takes_its_names_for_itself(tmp_path):
    job = manifest(code={"git": GIT}, storage=[{"name": "shoal-code", "mountPath": "/data", "size": "1Gi"}])
    taken = changed(job, f"{POD}.volumes", [{"name": "data"}, {"name": "shoal-code-archive", "emptyDir": {}}])
    assert told(faults_of(tmp_path, taken)) == [
        f'{POD}.volumes[1].name: "shoal-code-archive" is what spec.code adds to the pod; rename it',
        'spec.storage[0].name: "shoal-code" is what spec.code adds to the pod; rename it',
    ]
    assert not faults_of(tmp_path, changed(taken, "spec.code", ...))


def test_a_faulty_value_is_not_told_a_second_time_as_missing(tmp_path):
    job = changed(manifest(), f"{WORKER}.replicas", "many")
    assert [fault.path for fault in faults_of(tmp_path, job)] == [f"{WORKER}.replicas"]
    job = changed(manifest(), f"{CONTAINER}.image", 7)
    assert [fault.path for fault in faults_of(tmp_path, job)] == [f"{SHOWN}.image"]
    job = changed(manifest(KUBEFLOW_API), f"{CONTAINER}.name", 7)
    assert [fault.path for fault in faults_of(tmp_path, job)] == [f"{SHOWN}.name"]


def test_rules_speak_of_keys_as_the_user_wrote_them(tmp_path):
    job = manifest(tfReplicaSpecs={"wORKER": changed(REPLICA, "template.spec.containers.0.image", ...)})
    assert told(faults_of(tmp_path, job)) == [
        "spec.tfReplicaSpecs.wORKER.template.spec.containers[0].image: missing; name the image that the container runs"
    ]
