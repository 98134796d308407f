"""Where a job has room, and which cluster it goes to."""

from __future__ import annotations

from decimal import Decimal

import pytest

from shoal.kubernetes.clusters.choice import choose
from shoal.kubernetes.clusters.room import Node, Room, places, requests

GIB = 1024**3
GPU = "nvidia.com/gpu"


def pod(cpu="1", memory="1Gi", gpus=0, **spec):
    asked = {"requests": {"cpu": cpu, "memory": memory}, "limits": {GPU: gpus} if gpus else {}}
    return {"spec": {"containers": [{"name": "tensorflow", "resources": asked}], **spec}}


def node(cpu=4, memory=8, gpus=0, pods=110, labels=None, taints=()):
    free = {"cpu": Decimal(cpu), "memory": Decimal(memory * GIB), "pods": Decimal(pods)}
    if gpus:
        free[GPU] = Decimal(gpus)
    return Node(f"node-{id(free)}", free, labels or {}, taints)


def room(*nodes, quota=None):
    return Room(nodes, quota and {key: Decimal(value) for key, value in quota.items()})


def test_a_pod_asks_for_what_its_containers_ask_for():
    two = [{"resources": {"requests": {"cpu": "500m"}}}, {"resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}]
    first = [{"resources": {"requests": {"cpu": 3, "memory": "1Mi"}}}]
    assert requests({"spec": {"containers": two}}) == {"pods": 1, "cpu": Decimal("1.5"), "memory": GIB}
    assert requests({"spec": {"containers": two, "initContainers": first}})["cpu"] == 3
    assert requests({"spec": {"containers": [{}]}}) == {"pods": 1}


@pytest.mark.parametrize(
    ("pods", "nodes", "found"),
    [
        ([pod("3"), pod("3")], [node(5)], 1),
        ([pod("3"), pod("3")], [node(5), node(5)], 2),
        ([pod("1"), pod("4")], [node(4), node(1)], 2),  # the large one first
        ([pod(memory="5Gi")] * 2, [node(memory=8)], 1),
        ([pod(gpus=1)] * 3, [node(gpus=2), node()], 2),
        ([pod()] * 3, [node(pods=2)], 2),
        ([pod()], [node(cpu=-1)], 0),
        ([pod()], [], 0),
        ([pod()], [node(taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])], 0),
        ([pod()], [node(taints=[{"key": "gpu", "effect": "PreferNoSchedule"}])], 1),
        (
            [pod(tolerations=[{"key": "gpu", "operator": "Exists"}])],
            [node(taints=[{"key": "gpu", "effect": "NoSchedule"}])],
            1,
        ),
        (
            [pod(tolerations=[{"key": "gpu", "value": "no"}])],
            [node(taints=[{"key": "gpu", "value": "yes", "effect": "NoExecute"}])],
            0,
        ),
        ([pod(nodeSelector={"disk": "ssd"})], [node(), node(labels={"disk": "hdd"})], 0),
        ([pod(nodeSelector={"disk": "ssd"})], [node(labels={"disk": "ssd"})], 1),
    ],
)
def test_how_many_find_a_place(pods, nodes, found):
    assert places(pods, room(*nodes)) == found


@pytest.mark.parametrize(
    ("expression", "suits"),
    [
        ({"operator": "In", "values": ["A100", "H100"]}, True),
        ({"operator": "In", "values": ["H100"]}, False),
        ({"operator": "NotIn", "values": ["A100"]}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "DoesNotExist"}, False),
        ({"key": "age", "operator": "Gt", "values": ["3"]}, True),
        ({"key": "age", "operator": "Lt", "values": ["3"]}, False),
        ({"key": "other", "operator": "Gt", "values": ["3"]}, False),
    ],
)
def test_affinity_to_labels(expression, suits):
    terms = [{"matchExpressions": [{"key": "model", **expression}]}]
    asked = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    there = room(node(labels={"model": "A100", "age": "4"}))
    assert places([pod(affinity=asked)], there) == suits
    terms.append({"matchExpressions": [{"key": "model", "operator": "Exists"}]})
    assert places([pod(affinity=asked)], there) == 1, "terms are alternatives"


def test_a_quota_is_a_limit_of_its_own():
    assert places([pod("2")] * 4, room(node(64), quota={"requests.cpu": 5})) == 2
    assert places([pod("2")] * 4, room(node(64), quota={"pods": 3, "limits.memory": 1})) == 3
    assert places([pod("2")] * 4, Room(None, {"requests.cpu": Decimal(6)})) == 3
    assert places([pod("2")] * 4, Room(None, None)) == 4


def test_the_cluster_with_room_for_most_of_it():
    pods = [pod("2")] * 3
    choice = choose(pods, {"a": room(node(3)), "b": room(node(5))})
    assert choice.cluster == "b"
    assert choice.reasons == [
        "b has room for 2 of 3 replicas (5 CPUs, 8 GiB free)",
        "a has room for 1 of 3 replicas (3 CPUs, 8 GiB free)",
    ]
    assert choose(pods, {"a": room(node(6)), "b": room(node(9))}).cluster == "b", "more is free"


def test_whose_room_is_unknown_comes_after_who_has_room_and_before_who_has_not():
    unknown = Room(None, None)
    assert choose([pod()], {"dark": unknown, "full": room(node(0))}).cluster == "dark"
    assert choose([pod()], {"dark": unknown, "free": room(node(1, gpus=1))}).cluster == "free"
    choice = choose([pod()], {"dark": unknown, "free": room(node(1))})
    assert choice.reasons == [
        "free has room for the one replica (1 CPUs, 8 GiB free)",
        "dark does not say what is free",
    ]


def test_gpus_are_left_to_those_who_want_them():
    rooms = {"gpus": room(node(64, gpus=8)), "plain": room(node(4))}
    assert choose([pod()], rooms).cluster == "plain"
    choice = choose([pod(gpus=1)], rooms)
    assert choice.reasons == [
        "gpus has room for the one replica (64 CPUs, 8 GiB, 8 nvidia.com/gpu free)",
        "plain has room for no replica (4 CPUs, 8 GiB, 0 nvidia.com/gpu free)",
    ]


def test_a_quota_alone_is_told_as_such():
    left = {"requests.cpu": Decimal(3), f"requests.{GPU}": Decimal(1)}
    assert choose([pod(gpus=1)] * 2, {"a": Room(None, left)}).reasons == [
        "a has room for 1 of 2 replicas (3 CPUs, 1 nvidia.com/gpu free in the quota)"
    ]
