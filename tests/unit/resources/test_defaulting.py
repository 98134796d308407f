"""What is written into a TFJob for those who read the stored object."""

from __future__ import annotations

import pytest

from shoal.resources import parse
from shoal.resources.defaulting import default_roles

from .manifests import manifest

POD = {"template": {"spec": {"containers": [{"name": "tensorflow", "image": "example/train"}]}}}


def test_roles_are_spelt_as_kubeflow_does_and_have_a_count():
    written = {"ps": {**POD, "replicas": 2}, "WORKER": POD, "chief": {**POD, "replicas": 0}}
    assert default_roles(written) == {
        "PS": {**POD, "replicas": 2},
        "Worker": {**POD, "replicas": 1},
        "Chief": {**POD, "replicas": 0},
    }


def test_it_means_the_same_and_doing_it_twice_changes_nothing():
    written = {"ps": POD, "master": POD, "worker": POD, "evaluator": POD}
    wanted = default_roles(written)
    assert default_roles(wanted) == wanted
    before, after = (parse(manifest(tfReplicaSpecs=specs)) for specs in (written, wanted))
    assert (before.strategy, before.replicas.keys()) == (after.strategy, after.replicas.keys())
    assert [spec.count for spec in before.replicas.values()] == [spec.count for spec in after.replicas.values()]


def test_a_manifest_applied_again_meets_its_own_role_and_leaves_what_others_have_added():
    """`kubectl apply` adds `worker` beside the `Worker` that is stored: it knows of none by that name."""
    placed = {"replicas": 4, "template": {"spec": {**POD["template"]["spec"], "nodeSelector": {"zone": "a"}}}}
    applied = {"worker": {**POD, "replicas": 2}, "Worker": placed}
    assert default_roles(applied, stored={"Worker": placed}) == {"Worker": {**placed, "replicas": 2}}


def test_a_role_that_is_written_twice_is_left_to_be_refused():
    twice = {"worker": POD, "Worker": POD}
    assert default_roles(twice) == twice
    assert default_roles(twice, stored=twice) == twice


@pytest.mark.parametrize("faulty", [None, [], "Worker", {"Worker": None}, {"Workers": 3}, {"worker": ["a"]}])
def test_what_is_faulty_is_handed_on(faulty):
    found = default_roles(faulty)
    assert found == ({"Worker": ["a"]} if faulty == {"worker": ["a"]} else faulty)
