"""What model servers answer of their models, read and merged."""

from __future__ import annotations

import json

import pytest

from shoal.resources.model_server import ModelStatus, VersionStatus
from shoal.resources.served_models import MOST_VERSIONS, in_short, model_status, read_versions, settled


def answer(*versions: tuple[str, str, str]) -> bytes:
    """As both servers write it."""
    told = [
        {
            "version": version,
            "state": state,
            "status": {"error_code": "OK" if not why else "INTERNAL", "error_message": why},
        }
        for version, state, why in versions
    ]
    return json.dumps({"model_version_status": told}).encode()


def version(number: int, state: str = "AVAILABLE", replicas: int = 0, message: str = "") -> VersionStatus:
    return VersionStatus(version=number, state=state, replicas=replicas, message=message)


def test_a_version_that_has_ended_in_order_is_gone_and_one_that_failed_is_not() -> None:
    body = answer(("2", "AVAILABLE", ""), ("1", "END", ""), ("3", "END", "no such\n  file"))
    assert read_versions(body) == [version(2), version(3, "END", message="no such file")]


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"model_version_status": [{"version": "x"}]}', b'"x"']
)
def test_anything_else_is_no_answer(body: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  json's own, and ours
        read_versions(body)


def test_replicas_are_counted_by_version_and_state_the_newest_first() -> None:
    merged = model_status("m", [[version(1), version(2)], [version(1), version(2, "LOADING")], []])
    assert merged.versions == [version(2, "LOADING", 1), version(2, "AVAILABLE", 1), version(1, "AVAILABLE", 2)]
    assert merged.available == [2, 1]


def test_a_folder_full_of_versions_does_not_fill_the_status() -> None:
    merged = model_status("m", [[version(number) for number in range(100)]])
    assert [each.version for each in merged.versions] == list(range(99, 99 - MOST_VERSIONS, -1))


def test_in_short() -> None:
    models = [model_status("a", [[version(1), version(2)]]), ModelStatus(name="b", versions=[version(7, "LOADING", 1)])]
    assert in_short(models) == "a:2,1 b:-"
    assert in_short([]) == ""


@pytest.mark.parametrize(
    ("versions", "rests"),
    [
        ([version(1, replicas=2)], True),
        ([version(1, replicas=2), version(2, "END", 2, "broken")], True),
        ([version(1, replicas=1)], False),
        ([version(1, replicas=2), version(2, "LOADING", 1)], False),
        ([version(2, replicas=2), version(1, "UNLOADING", 2)], False),
        ([version(2, "END", 2, "broken")], False),
        ([], False),
    ],
)
def test_a_server_rests_when_each_model_answers_everywhere_and_nothing_is_on_its_way(
    versions: list[VersionStatus], rests: bool
) -> None:
    assert settled([ModelStatus(name="m", versions=versions)], 2) is rests
