"""Asking several clusters at once: who is silent keeps nobody waiting."""

from __future__ import annotations

import threading

import pytest

from shoal.kubernetes.clusters.asking import Asking
from shoal.kubernetes.clusters.many import ManyClusters
from shoal.kubernetes.clusters.memory import MOST, Memory
from shoal.kubernetes.clusters.room import Room
from shoal.resources import Document, parse
from shoal.runs import Listed, MissingError, Place, RunError

CONTAINER = {"name": "tensorflow", "image": "trainer"}
JOB = {
    "apiVersion": "shoal.dev/v1",
    "kind": "TFJob",
    "metadata": {"name": "train"},
    "spec": {"tfReplicaSpecs": {"Worker": {"template": {"spec": {"containers": [CONTAINER]}}}}},
}


class Found:
    def __init__(self, name, cluster):
        self.name, self.place = name, Place("Namespace", "team", cluster)


class Cluster:
    """Has runs of these names; `fault` is what it says instead, and `silent` holds it until it is set."""

    def __init__(self, name, *runs, room=None, fault=None, silent=None):
        self.runs = [Found(each, name) for each in runs]
        self.name, self.given, self.fault, self.silent, self.abandoned = name, room, fault, silent, False

    def answer(self):
        if self.silent:
            self.silent.wait(30)
        if self.fault:
            raise self.fault

    def all(self, replicas=False):
        self.answer()
        return [Listed(each, None) for each in self.runs]

    def find(self, name):
        self.answer()
        for each in self.runs:
            if each.name == name:
                return each
        raise MissingError(f"no {name}", "start one", [each.name for each in self.runs])

    def room(self, namespace):
        self.answer()
        return self.given or Room(None, None)

    def create(self, documents, source, replace):
        self.runs += [Found(document.job.name, self.name) for document in documents]
        return self.runs[-1:]

    def abandon(self):
        self.abandoned = True


@pytest.fixture
def silence():
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def told():
    return []


@pytest.fixture
def many(tmp_path, told):
    def make(*clusters, patience=20.0):
        asking = Asking({each.name: each for each in clusters}, patience)
        return ManyClusters(asking, " --on any", Memory(tmp_path / "home" / "clusters.json"), told.append)

    return make


def names(runs):
    return [each.run.name for each in runs]


def test_runs_of_all_in_the_order_of_the_clusters(many):
    assert names(many(Cluster("a", "x", "y"), Cluster("b", "z")).all()) == ["x", "y", "z"]


def test_one_that_does_not_answer_is_named_once_and_keeps_nobody_waiting(many, told, silence):
    stuck = Cluster("b", "y", silent=silence)
    runs = many(Cluster("a", "x"), stuck, Cluster("c", fault=RunError("it is down")), patience=0.2)
    assert names(runs.all()) == names(runs.all()) == ["x"]
    assert sorted(told) == ["b is left out: it has said nothing for 0.2 s", "c is left out: it is down"]
    assert stuck.abandoned


def test_none_answers(many):
    with pytest.raises(RunError, match="none of the clusters answers"):
        many(Cluster("a", fault=RunError("it is down"))).all()


def test_a_fault_of_ours_is_not_taken_for_silence(many):
    with pytest.raises(ZeroDivisionError):
        many(Cluster("a", fault=ZeroDivisionError())).all()


def test_a_run_is_found_where_it_is(many):
    runs = many(Cluster("a"), Cluster("b", "train"))
    assert runs.find("train").place.cluster == "b"
    with pytest.raises(MissingError) as missing:
        runs.find("trian")
    assert (str(missing.value), missing.value.hint) == ("there is no run named 'trian' in a, b", "known: train")


def test_a_run_in_two_clusters_is_asked_about(many):
    with pytest.raises(RunError) as twice:
        many(Cluster("a", "train"), Cluster("b", "train")).find("train")
    assert (str(twice.value), twice.value.hint) == (
        "there is a run named 'train' in a and b",
        "say which, as with --on a",
    )


def test_a_run_that_may_be_where_nobody_answers(many, silence):
    with pytest.raises(MissingError, match="in a, b; b could not be asked"):
        many(Cluster("a"), Cluster("b", silent=silence), patience=0.1).find("train")


def test_where_a_run_went_is_remembered(many, told, silence):
    a, b = Cluster("a"), Cluster("b", room=Room([], None))
    runs = many(a, b)
    documents = [Document("-", 1, 1, parse(JOB, source="-"))]
    assert runs.create(documents, "-", False)[0].place.cluster == "a"
    assert told == ["a does not say what is free; b has room for no replica (0 CPUs, 0 GiB free)"]
    b.silent = silence
    assert many(a, b, patience=0.1).find("train").place.cluster == "a"
    assert len(told) == 1, "b was not asked"
    a.runs.clear()
    b.silent = None
    b.runs = [Found("train", "b")]
    assert runs.find("train").place.cluster == "b", "a memory is a hint"


def test_a_run_of_the_name_is_replaced_where_it_is(many):
    roomy = Cluster("a")
    runs = many(roomy, Cluster("b", "train"))
    assert runs.create([Document("-", 1, 1, parse(JOB, source="-"))], "-", True)[0].place.cluster == "b"
    assert not roomy.runs


def test_a_memory_that_is_damaged_or_full(tmp_path):
    file = tmp_path / "clusters.json"
    for damage in ("{", "[]"):
        file.write_text(damage)
        assert Memory(file).cluster_of("x") is None
    for n in range(MOST + 1):
        Memory(file).remember(f"run-{n}", "a")
    assert Memory(file).cluster_of("run-0") is None
    assert Memory(file).cluster_of(f"run-{MOST}") == "a"
    Memory(tmp_path / "clusters.json" / "below a file").remember("x", "a")
