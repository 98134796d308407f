"""A merge patch is the shortest that turns one value into another."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shoal.kubernetes.operator.merge_patch import merge_patch
from tests.unit.kubernetes.operator.memory_api import merged

values = st.recursive(
    st.integers() | st.text(max_size=2) | st.booleans(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)


@given(objects, objects)
def test_it_leads_from_one_to_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert merged(before, merge_patch(before, after)) == after


@given(objects)
def test_nothing_has_changed(value: dict[str, Any]) -> None:
    assert merge_patch(value, value) == {}


def test_what_is_gone_is_null_and_lists_are_whole() -> None:
    before = {"a": {"b": 1, "c": 2}, "l": [1, 2], "g": 1}
    assert merge_patch(before, {"a": {"b": 1, "c": 3}, "l": [1]}) == {"a": {"c": 3}, "l": [1], "g": None}
