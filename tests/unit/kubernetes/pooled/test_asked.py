"""What a pod asks of the pool, and what the webhook makes of it."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest

from shoal.kubernetes.pooled.admission import gate_for
from shoal.kubernetes.pooled.asked import POOLED_RESOURCES, AskedError, Container, asked
from shoal.kubernetes.pooled.gate import gated, lifted, numbered, secret_of


def container(name: str = "main", **limits: Any) -> dict[str, Any]:
    named = {
        key.replace("_", ".io/") if key.startswith("bitfusion") else f"shoal.dev/{key}": v for key, v in limits.items()
    }
    return {"name": name, "resources": {"limits": named}}


def asks(*containers: dict[str, Any], **annotations: str) -> Any:
    said = {f"shoal.dev/gpu-{name.replace('_', '-')}": text for name, text in annotations.items()}
    return asked(said, {"containers": list(containers)}, POOLED_RESOURCES)


def test_a_pod_without_pooled_gpus_asks_for_nothing() -> None:
    assert asks({"name": "main"}, percent="50") is None
    assert asked({}, {"containers": [container(gpu="0")]}, POOLED_RESOURCES) is None
    assert asked({}, {"containers": [container(gpu="1")]}, ("another.io/gpu",)) is None


def test_each_container_is_a_request_of_its_own() -> None:
    found = asks(container("a", gpu="2"), {"name": "sidecar"}, container("b", bitfusion_gpu=1), percent="12.5")
    assert found.containers == (Container(0, "a", 2), Container(2, "b", 1))
    common = {"models": [], "same_host": False, "percent": 12.5}
    assert found.requests == [{"gpus": 2, **common}, {"gpus": 1, **common}]
    assert found.gpus == 3


def test_a_part_by_memory_and_the_models() -> None:
    found = asks(container(gpu=1), memory="4G", models=" A100, H100,A100", same_host="true")
    assert found.requests == [{"gpus": 1, "models": ["A100", "H100"], "same_host": True, "memory_mib": 3815}]


def test_a_place_in_the_queue() -> None:
    assert [asks(container(gpu=1), **each).priority for each in ({}, {"priority": "-3"}, {"priority": "100"})] == [
        0,
        -3,
        100,
    ]


@pytest.mark.parametrize(
    ("limits", "annotations", "told"),
    [
        ({"gpu": "500m"}, {}, r"spec.containers\[0\].resources.limits.shoal.dev/gpu: 500m is no whole number"),
        ({"gpu": "many"}, {}, "'many' is not a quantity"),
        ({"gpu": 1, "bitfusion_gpu": 1}, {}, "shoal.dev/gpu and bitfusion.io/gpu both stand for"),
        ({"gpu": 1}, {"percent": "0"}, "annotations.shoal.dev/gpu-percent: '0' is no number from 0.1 to 100"),
        ({"gpu": 1}, {"percent": "nan"}, "'nan' is no number"),
        ({"gpu": 1}, {"memory": "lots"}, "annotations.shoal.dev/gpu-memory: 'lots' is not a quantity"),
        ({"gpu": 1}, {"memory": "0"}, "'0' is no memory of a GPU"),
        ({"gpu": 1}, {"memory": "1Gi", "percent": "5"}, "by memory or by percent; leave one out"),
        ({"gpu": 1}, {"models": " , "}, "gpu-models: no model is named"),
        ({"gpu": 1}, {"same_host": "yes"}, "'yes' is neither"),
        ({"gpu": 1}, {"priority": "high"}, "annotations.shoal.dev/gpu-priority: 'high' is no whole number from -100"),
        ({"gpu": 1}, {"priority": "101"}, "'101' is no whole number"),
    ],
)
def test_what_cannot_be_asked_for_is_told_with_its_field(limits: Any, annotations: Any, told: str) -> None:
    with pytest.raises(AskedError, match=told):
        asks(container(**limits), **annotations)


def test_init_containers_get_none() -> None:
    with pytest.raises(AskedError, match=r"spec.initContainers\[0\]"):
        asked({}, {"containers": [container(gpu=1)], "initContainers": [container(gpu=1)]}, POOLED_RESOURCES)


# --- the webhook ----------------------------------------------------------------------------------


def admitted(pod: dict[str, Any]) -> dict[str, Any]:
    """The pod as the webhook has it stored."""
    response = gate_for(POOLED_RESOURCES)(pod, None)
    stored: dict[str, Any] = json.loads(json.dumps(pod))
    for change in json.loads(base64.b64decode(response["patch"])):
        assert change["op"] == "add"
        *way, last = change["path"].split("/")[1:]
        place: Any = stored
        for step in way:
            place = place[int(step) if step.isdecimal() else step]
        place[last] = change["value"]
    return stored


def test_a_pod_that_asks_gets_gate_label_and_environment() -> None:
    env = [{"name": "MINE", "value": "1"}, {"name": "SHOAL_LEASE", "value": "a guess"}]
    other = {"name": "another.io/gate"}
    pod = {
        "metadata": {"generateName": "train-", "labels": {"team": "a"}},
        "spec": {"containers": [{"name": "log"}, {**container(gpu=1), "env": env}], "schedulingGates": [other]},
    }
    stored = admitted(pod)
    assert stored["metadata"]["labels"] == {"team": "a", "shoal.dev/pooled-gpu": "true"}
    assert stored["spec"]["schedulingGates"] == [other, {"name": "shoal.dev/gpu"}]
    assert gated(stored["spec"])
    assert lifted(stored["spec"]) == [other]
    assert "env" not in stored["spec"]["containers"][0]
    found = stored["spec"]["containers"][1]["env"]
    assert [each["name"] for each in found] == [
        "MINE",
        "SHOAL_LEASE",
        "SHOAL_LEASE_TOKEN",
        "SHOAL_GPU_SERVERS",
        "SHOAL_GPU_NUMBERS",
    ]
    assert found[3]["valueFrom"]["secretKeyRef"]["key"] == "main.servers"
    assert re.fullmatch("train-gpu-[0-9a-f]{16}", secret_of(stored["spec"], 1) or "")


def test_who_names_a_secret_by_itself_gets_another() -> None:
    reference = {"secretKeyRef": {"name": "of-somebody-else", "key": "lease"}}
    env = [{"name": "SHOAL_LEASE", "valueFrom": reference}]
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{**container(gpu=1), "env": env}]}}
    assert secret_of(pod["spec"], 0) is None, "not one that the webhook has named"
    assert (secret_of(admitted(pod)["spec"], 0) or "").startswith("p-gpu-")


def test_what_is_none_of_its_business_is_left_alone() -> None:
    decide = gate_for(POOLED_RESOURCES)
    plain = {"metadata": {}, "spec": {"containers": [{"name": "a"}]}}
    assert decide(plain, None) == {}
    pooled = {"metadata": {}, "spec": {"containers": [container(gpu=1)]}}
    assert decide(pooled, pooled) == {}, "no gate can be put on a pod that is there"


def test_what_cannot_wait_is_refused() -> None:
    pod = {"metadata": {}, "spec": {"nodeName": "node-1", "containers": [container(gpu=1)]}}
    response = gate_for(POOLED_RESOURCES)(pod, None)
    assert response["allowed"] is False
    assert "spec.nodeName" in response["status"]["message"]


def test_gpus_are_numbered_by_server() -> None:
    shares = [("h", "h:1"), ("g", "g:7"), ("h", "h:1")]
    assert numbered(shares) == [("h:1", "0"), ("g:7", "0"), ("h:1", "1")]
