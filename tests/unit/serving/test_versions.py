"""Which versions are served, and in which order they come and go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.serving.versions import SETTLE_SECONDS, Settling, State, Step, VersionPolicy, next_step, parse_version

AVAILABLE, LOADING, END = State.AVAILABLE, State.LOADING, State.END


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("1", 1),
        ("00000123", 123),
        ("-5", -5),
        ("+7", 7),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("1.0", None),
        ("1e3", None),
        ("0x1", None),
        ("v1", None),
        ("", None),
        ("1_000", None),
        ("٣", None),
        ("\u20031", None),
        (" 1", 1),
        (".publishing-x", None),
    ],
)
def test_a_folder_is_a_version_when_its_name_reads_as_an_integer(name: str, version: int | None) -> None:
    assert parse_version(name) == version


def test_the_policies() -> None:
    there = {1, 3, 10, 20}
    assert VersionPolicy().wanted(there) == {20}
    assert VersionPolicy(latest=2).wanted(there) == {10, 20}
    assert VersionPolicy(latest=None).wanted(there) == there
    assert VersionPolicy(specific=frozenset({3, 4})).wanted(there) == {3}
    assert VersionPolicy(latest=9).wanted({-1, 2}) == {-1, 2}


def test_a_version_goes_only_when_another_one_answers() -> None:
    assert next_step({2}, {1: AVAILABLE}) == Step(load=(2,))
    assert next_step({2}, {1: AVAILABLE, 2: LOADING}) == Step()
    assert next_step({2}, {1: AVAILABLE, 2: AVAILABLE}) == Step(unload=(1,))


def test_a_version_that_failed_leaves_the_old_one_in_place() -> None:
    assert next_step({2}, {1: AVAILABLE, 2: END}) == Step()


def test_the_newest_version_is_loaded_first() -> None:
    assert next_step({1, 2, 3}, {}) == Step(load=(3, 2, 1))


def test_when_none_is_wanted_all_go() -> None:
    assert next_step(set(), {1: AVAILABLE, 2: AVAILABLE, 3: LOADING}) == Step(unload=(1, 2))


@given(
    st.sets(st.integers(1, 5)),
    st.dictionaries(st.integers(1, 5), st.sampled_from([s for s in State if s is not State.START])),
)
def test_a_step_never_leaves_a_model_unserved_that_could_be(wanted: set[int], states: dict[int, State]) -> None:
    step = next_step(wanted, states)
    before = {version for version, state in states.items() if state is AVAILABLE}
    after = before - set(step.unload)
    assert set(step.load) == wanted - states.keys()
    assert not set(step.unload) & wanted
    if wanted and before:
        assert after
        assert after & wanted or after == before


def test_a_folder_that_has_long_been_left_alone_is_settled_at_once() -> None:
    assert Settling().settled("1", "look", age=SETTLE_SECONDS, now=0)


def test_a_folder_that_is_being_copied_is_not_settled_until_it_stops_changing() -> None:
    settling = Settling()
    assert not settling.settled("1", "a", age=0.1, now=0)
    assert not settling.settled("1", "b", age=0.1, now=SETTLE_SECONDS)
    assert not settling.settled("1", "b", age=0.1, now=SETTLE_SECONDS + 0.1)
    assert settling.settled("1", "b", age=0.1, now=2 * SETTLE_SECONDS)


def test_a_clock_that_runs_ahead_on_the_file_system_keeps_no_folder_out() -> None:
    settling = Settling()
    assert not settling.settled("1", "a", age=-1000, now=0)
    assert settling.settled("1", "a", age=-990, now=SETTLE_SECONDS)


def test_what_is_known_of_a_folder_goes_with_the_folder() -> None:
    settling = Settling()
    settling.settled("1", "a", age=0, now=0)
    settling.forget_all_but(["2"])
    assert not settling.settled("1", "a", age=0, now=SETTLE_SECONDS)
