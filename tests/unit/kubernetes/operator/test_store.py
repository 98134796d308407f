"""The cache reads the operator's own writes, whatever the watch tells and when."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from shoal.kubernetes.operator.store import ObjectKey, Store
from shoal.kubernetes.operator.views import Pod
from tests.unit.kubernetes.operator.objects import JOB_UID, pod

KEY = ObjectKey("default", "train-worker-0")


@pytest.fixture
def told() -> list[tuple[str | None, str | None]]:
    return []


@pytest.fixture
def store(told: list[tuple[str | None, str | None]]) -> Iterator[Store[Pod]]:
    made: Store[Pod] = Store()
    made.listen(lambda before, after: told.append((_version(before), _version(after))))
    made.replace([], "10")
    yield made
    assert len(made.owned_by(JOB_UID)) == len(made) == made.count_owned_by(JOB_UID)


def _version(object: Pod | None) -> str | None:
    return object.metadata.resource_version if object else None


def version(store: Store[Pod]) -> str | None:
    return _version(store.get(KEY))


def test_a_write_is_seen_at_once_and_is_no_news(store: Store[Pod], told: list[object]) -> None:
    store.wrote(pod(version=11))
    store.watched("ADDED", pod(version=11))
    assert version(store) == "11"
    assert told == []


def test_what_the_watch_tells_late_does_not_undo_a_write(store: Store[Pod]) -> None:
    store.watched("ADDED", pod(version=11))
    store.wrote(pod(version=13))
    store.watched("MODIFIED", pod(version=12))
    assert version(store) == "13"


def test_an_answer_that_comes_late_does_not_bring_back_what_was_deleted(store: Store[Pod]) -> None:
    store.watched("ADDED", pod(version=11))
    store.watched("DELETED", pod(version=12))
    store.wrote(pod(version=11))
    assert version(store) is None


def test_a_bookmark_tells_how_far_the_watch_is(store: Store[Pod]) -> None:
    store.watched("BOOKMARK", pod(version=20))
    store.wrote(pod(version=15))  # and so it was deleted again before
    assert version(store) is None


def test_a_list_shows_what_was_deleted_unwatched(store: Store[Pod], told: list[object]) -> None:
    store.watched("ADDED", pod(version=11))
    store.replace([pod(name="train-worker-1", version=14)], "15")
    assert version(store) is None
    assert told == [(None, "11"), (None, "14"), ("11", None)]


def test_a_list_that_is_older_than_a_write_does_not_undo_it(store: Store[Pod]) -> None:
    store.wrote(pod(version=16))
    store.replace([], "15")
    assert version(store) == "16"
    store.replace([], "17")
    assert version(store) is None


def test_the_end_of_a_predecessor_is_told_and_spares_the_successor(store: Store[Pod], told: list[object]) -> None:
    store.watched("ADDED", pod(version=11))
    store.wrote(pod(version=14, attempt=1))
    store.watched("DELETED", pod(version=13))
    assert version(store) == "14"
    assert told[-1] == ("13", "14")


def test_nobody_is_told_twice(store: Store[Pod], told: list[object]) -> None:
    store.watched("ADDED", pod(version=11))
    store.watched("ADDED", pod(version=11))
    store.replace([pod(version=11)], "12")
    assert told == [(None, "11")]


@pytest.mark.parametrize("answered", [False, True])
def test_a_removal_does_not_hide_when_it_was_asked_for(store: Store[Pod], answered: bool) -> None:
    asked, removed = pod(version=11, deleted_at=5), pod(version=12, deleted_at=8)
    asked.metadata.deletion_grace_period_seconds, removed.metadata.deletion_grace_period_seconds = 2, 0
    take = store.wrote if answered else partial(store.watched, "MODIFIED")
    store.watched("ADDED", asked)
    take(removed)
    found = store.get(KEY)
    assert found is not None
    assert version(store) == "12"
    assert found.metadata.deletion_timestamp == asked.metadata.deletion_timestamp
    assert found.metadata.deletion_grace_period_seconds == 2
    take(pod(version=13, attempt=1))
    found = store.get(KEY)
    assert found is not None
    assert found.metadata.deletion_timestamp is None
