from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.training.index_set import format_indices, parse_indices


@given(st.sets(st.integers(0, 60)))
def test_round_trip(indices):
    assert parse_indices(format_indices(indices)) == indices


def test_runs_are_written_as_ranges():
    assert format_indices([7, 3, 1, 2, 0]) == "0-3,7"
    assert len(format_indices(range(1000))) == 5


@pytest.mark.parametrize("text", ["a", "1-b", "1,,x"])
def test_nonsense_is_refused(text):
    with pytest.raises(ValueError, match="invalid literal"):
        parse_indices(text)
