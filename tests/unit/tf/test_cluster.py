"""What a script learns from TF_CONFIG. Nothing here imports TensorFlow."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import shoal.tf
from shoal.tf import Cluster, ClusterError, report, report_checkpoint, report_evaluation

PS_JOB = {"chief": ["c:1"], "ps": ["p:1"], "worker": ["w:1", "w:2"]}
ALL_REDUCE = {"worker": ["w:1", "w:2", "w:3"]}


def cluster(spec: object, role: str = "worker", index: object = 0, **env: str) -> Cluster:
    config = {"cluster": spec, "task": {"type": role, "index": index}}
    return Cluster.from_environment({"TF_CONFIG": json.dumps(config), **env})


@pytest.mark.parametrize("text", [None, "", "  "])
def test_a_process_alone(text):
    alone = Cluster.from_environment({} if text is None else {"TF_CONFIG": text})
    assert (alone.distributed, alone.is_leader, alone.trainers, alone.rank, alone.address) == (False, True, 1, 0, None)


@pytest.mark.parametrize(
    ("spec", "role", "index", "leads", "trainers", "rank", "address"),
    [
        (PS_JOB, "chief", 0, True, 3, 0, "c:1"),
        (PS_JOB, "worker", 0, False, 3, 1, "w:1"),
        (PS_JOB, "worker", 1, False, 3, 2, "w:2"),
        (PS_JOB, "ps", 0, False, 3, 0, "p:1"),
        (PS_JOB, "evaluator", 0, False, 3, 0, None),
        (ALL_REDUCE, "worker", 0, True, 3, 0, "w:1"),
        (ALL_REDUCE, "worker", 2, False, 3, 2, "w:3"),
        ({"master": ["m:1"], "worker": ["w:1"]}, "master", 0, True, 2, 0, "m:1"),
        ({"master": ["m:1"], "worker": ["w:1"]}, "worker", "0", False, 2, 1, "w:1"),
    ],
)
def test_every_role(spec, role, index, leads, trainers, rank, address):
    seen = cluster(spec, role, index)
    assert seen.distributed
    assert (seen.is_leader, seen.trainers, seen.rank, seen.address) == (leads, trainers, rank, address)
    assert not seen.sparse


def test_a_sparse_cluster():
    worker = cluster({"ps": ["p:1"], "worker": {"3": "w:4"}}, index=3)
    assert worker.sparse
    assert worker.tasks["worker"] == {3: "w:4"}
    assert worker.address == "w:4"
    assert cluster({"chief": ["c:1"], "ps": ["p:1"]}, "chief").sparse


def test_shoal_says_who_leads_where_the_cluster_cannot_tell():
    """In a sparse cluster worker 0 is told of no chief; taking itself for one, it would export a second model."""
    spec = {"ps": ["p:1"], "worker": {"0": "w:1"}}
    assert cluster(spec).is_leader
    assert not cluster(spec, SHOAL_REPLICA="worker-0", SHOAL_LEADER="chief-0").is_leader
    assert cluster(spec, SHOAL_REPLICA="worker-0", SHOAL_LEADER="worker-0").is_leader


@pytest.mark.parametrize(
    ("spec", "role", "declared", "strategy", "serves"),
    [
        (PS_JOB, "ps", "", "ParameterServer", True),
        (PS_JOB, "worker", "", "ParameterServer", True),
        (PS_JOB, "chief", "", "ParameterServer", False),
        (PS_JOB, "evaluator", "", "ParameterServer", False),
        (PS_JOB, "worker", "BetweenGraphAsync", "BetweenGraphAsync", False),
        (PS_JOB, "ps", "BetweenGraphAsync", "BetweenGraphAsync", True),
        (PS_JOB, "worker", "InGraph", "InGraph", True),
        (ALL_REDUCE, "worker", "", "AllReduce", False),
        ({"worker": ["w:1"]}, "worker", "InGraph", "InGraph", False),
    ],
)
def test_who_serves(spec, role, declared, strategy, serves):
    seen = cluster(spec, role, SHOAL_STRATEGY=declared)
    assert (seen.strategy, seen.serves) == (strategy, serves)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "TF_CONFIG is no JSON"),
        ("[]", "expected an object with cluster and task"),
        ('{"cluster": ["a:1"]}', "cluster: expected roles with their addresses"),
        ('{"cluster": {"worker": "a:1"}}', "cluster.worker: expected a list of host:port"),
        ('{"cluster": {"worker": [1]}}', "cluster.worker: expected a list of host:port"),
        ('{"cluster": {"worker": {"one": "a:1"}}}', "cluster.worker: task indices are numbers"),
        ('{"task": {"type": "worker", "index": "one"}}', "task: expected"),
        ('{"task": {"type": 1}}', "task: expected"),
        ('{"task": "worker"}', "task: expected"),
    ],
)
def test_nonsense_is_named(text, problem):
    with pytest.raises(ClusterError, match=problem):
        Cluster.from_environment({"TF_CONFIG": text})


def test_progress_lines(tmp_path, monkeypatch):
    file = tmp_path / "progress.jsonl"
    monkeypatch.setenv("SHOAL_PROGRESS_FILE", str(file))
    report(1)
    report(2, loss=0.5, accuracy=0.9)
    report_checkpoint(2)
    report_evaluation(2)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert all(line.pop("time") > 1.7e9 for line in lines)
    assert lines == [
        {"step": 1},
        {"step": 2, "loss": 0.5, "metrics": {"accuracy": 0.9}},
        {"checkpoint": 2},
        {"evaluated": 2},
    ]


def test_progress_lines_in_the_log_of_a_pod(monkeypatch, capfd):
    monkeypatch.delenv("SHOAL_PROGRESS_FILE", raising=False)
    monkeypatch.setenv("SHOAL_PROGRESS_LOG", "1")
    print("training")
    report(2, loss=0.5)
    training, line = capfd.readouterr().out.splitlines()
    assert training == "training"
    assert line.startswith('SHOAL_PROGRESS: {"time": ')
    assert line.endswith(', "step": 2, "loss": 0.5}')


def test_nobody_listens(monkeypatch, tmp_path):
    monkeypatch.delenv("SHOAL_PROGRESS_FILE", raising=False)
    monkeypatch.delenv("SHOAL_PROGRESS_LOG", raising=False)
    monkeypatch.chdir(tmp_path)
    report(1, loss=2.0)
    assert list(tmp_path.iterdir()) == []


def test_the_library_brings_no_tensorflow_before_it_is_needed():
    calls = "shoal.tf.Cluster.from_environment(); shoal.tf.serve()"
    code = f"import sys, shoal.tf; {calls}; print('tensorflow' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = shoal.tf.nothing
