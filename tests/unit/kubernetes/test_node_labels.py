from __future__ import annotations

import asyncio
import re
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kubernetes.node_labels import NODES, gpu_labels, keep_labelled
from shoal.kubernetes.operator.api import API, UnreachableError
from shoal.resources.gpu_model import label_value
from tests.unit.resources.test_gpu_model import LABEL


def test_what_a_node_is_labelled_with() -> None:
    assert gpu_labels({"A100"}, 40960, 8, "550.54.15") == {
        "shoal.dev/gpu-model": "A100",
        "shoal.dev/gpu-memory": "40960",
        "shoal.dev/gpu-count": "8",
        "shoal.dev/gpu-driver": "550.54.15",
    }


def test_a_node_with_several_models_or_none_is_labelled_with_no_model() -> None:
    assert gpu_labels({"A100", "T4"}, 16384, 2, "550", "our/model")["our/model"] is None
    none = gpu_labels(set(), 0, 0, "")
    assert [name for name, text in none.items() if text] == ["shoal.dev/gpu-count"]


@given(st.text(max_size=100))
def test_a_value_is_one_of_a_label(text: str) -> None:
    assert re.fullmatch(LABEL, label_value(text))


class Nodes:
    """What was patched; the first time the server is away."""

    def __init__(self) -> None:
        self.patches: list[Any] = []
        self.away = True

    async def patch(self, kind: object, namespace: None, name: str, patch: Any) -> None:
        assert (kind, namespace, name) == (NODES, None, "node-1")
        if self.away:
            self.away = False
            raise UnreachableError("away")
        self.patches.append(patch["metadata"]["labels"])


@pytest.mark.looptime
async def test_labels_are_written_when_they_change_and_again_after_a_minute() -> None:
    nodes, labels = Nodes(), {"a": "1"}
    keeping = asyncio.create_task(keep_labelled(cast("API", nodes), "node-1", lambda: dict(labels)))
    await asyncio.sleep(58)
    assert nodes.patches == [{"a": "1"}]
    labels["a"] = "2"
    await asyncio.sleep(6)
    assert nodes.patches == [{"a": "1"}, {"a": "2"}]
    await asyncio.sleep(60)
    assert nodes.patches == [{"a": "1"}, {"a": "2"}, {"a": "2"}]
    keeping.cancel()
