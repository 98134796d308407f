"""Which devices are preferred: the right number, those that must be, and from as few places as may be."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.gpu.plugin.preference import preferred

Places = dict[str, tuple[str, ...]]


@st.composite
def requests(draw: st.DrawFn) -> tuple[Places, list[str], int]:
    where = draw(st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from("01")), min_size=1, max_size=8))
    places: Places = {f"gpu-{i}": place for i, place in enumerate(where)}
    size = draw(st.integers(1, len(places)))
    must = draw(st.lists(st.sampled_from(sorted(places)), unique=True, max_size=size))
    return places, must, size


def hosts(ids: object, places: Places) -> int:
    return len({places[id][0] for id in ids})  # type: ignore[attr-defined]


@given(requests())
def test_as_asked_and_from_the_fewest_hosts(asked: tuple[Places, list[str], int]) -> None:
    places, must, size = asked
    found = preferred(places, must, size, places)
    assert len(found) == len(set(found)) == size
    assert set(must) <= set(found) <= set(places)
    possible = (chosen for chosen in combinations(places, size) if set(must) <= set(chosen))
    assert hosts(found, places) == min(hosts(chosen, places) for chosen in possible)


def test_the_tightest_place_that_has_enough() -> None:
    places: Places = {"a0": ("A",), "a1": ("A",), "a2": ("A",), "b0": ("B",), "b1": ("B",)}
    assert preferred(places, [], 2, places) == ["b0", "b1"]
    assert preferred(places, [], 3, places) == ["a0", "a1", "a2"]
    assert preferred(places, ["a1"], 2, places) == ["a1", "a0"]


def test_within_a_host_shares_of_the_fewest_gpus() -> None:
    places: Places = {"x": ("A", "0"), "y": ("A", "1"), "z": ("A", "1")}
    assert preferred(places, [], 2, places) == ["y", "z"]
    assert preferred(places, ["x"], 1, places) == ["x"]


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="2 devices are asked for, and 1 are available"):
        preferred(["a"], ["a"], 2, {})
    with pytest.raises(ValueError, match="2 devices must be among 1"):
        preferred(["a", "b"], ["a", "b"], 1, {})
