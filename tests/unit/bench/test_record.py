"""What is shown, saved and compared of benchmarks."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import pytest

from shoal.bench.options import OptionError
from shoal.bench.plot import histogram
from shoal.bench.record import RESULT, Part, Record, compare, parts_in


def part(replica: str = "worker-0", step: float = 0.5, steps: int = 1, count: int = 40, shake: float = 0.01) -> Part:
    seconds = [steps * step * (1 + shake * (i % 3 - 1)) for i in range(count)]
    return Part(replica, 32 * steps, steps, 1, seconds, [7.0, 6.5], {"cores": 2})


def test_replicas_add_up_and_the_step_is_one_step() -> None:
    record = Record(["--model=vgg16"], {"worker": 2}, [part(), part("worker-1", steps=10)], one_worker=80)
    assert record.images_per_second == pytest.approx(128, rel=1e-3)
    assert record.efficiency == pytest.approx(0.8, rel=1e-3)
    told = record.summary()
    assert [each["replica"] for each in told["replicas"]] == ["worker-0", "worker-1"]
    assert [each["step_ms"]["p50"] for each in told["replicas"]] == [500, 500]
    assert told["replicas"][0]["last_loss"] == 6.5
    assert told["scaling_efficiency"] == pytest.approx(0.8, rel=1e-3)


def test_a_chief_that_trains_counts_and_one_that_drives_does_not() -> None:
    trained = [part("chief-0"), part("worker-0")]
    assert Record([], {"chief": 1, "worker": 1}, trained, one_worker=64).efficiency == pytest.approx(1, rel=1e-3)
    driven = Record([], {"chief": 1, "worker": 1, "ps": 1}, [part("chief-0")], one_worker=64)
    assert driven.efficiency == pytest.approx(1, rel=1e-3)


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    record = Record(["--xla"], {"ps": 1, "worker": 2}, [part()], 12.5)
    file = tmp_path / "a.json"
    file.write_text(record.dump())
    assert Record.load(file) == record


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"shoal_bench": 99}', '{"shoal_bench": 1, "parts": [{}]}', '"x"'])
def test_a_file_that_is_no_benchmark_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    with pytest.raises(OptionError, match=r"a\.json"):
        Record.load(file)


def test_a_difference_within_the_noise_is_none() -> None:
    first, second = Record([], {}, [part(shake=0.2)]), Record([], {}, [part(step=0.503, shake=0.2)])
    found = compare(first, second)
    assert found.ratio == pytest.approx(0.994, abs=1e-3)
    assert not found.tells
    slower = compare(first, Record([], {}, [part(step=0.8)]))
    assert (slower.ratio < 0.7, slower.tells) == (True, True)


def test_runs_that_are_too_short_tell_nothing() -> None:
    assert not compare(Record([], {}, [part(count=2)]), Record([], {}, [part(step=5.0)])).tells


def test_results_are_found_among_lines_and_the_last_of_a_replica_counts() -> None:
    lines = [
        ("worker-1", RESULT + json.dumps(asdict(part("worker-1")))),
        ("worker-0", RESULT + json.dumps(asdict(part("here", step=9.0)))),
        ("worker-0", "total images/sec: 12"),
        ("worker-0", RESULT + json.dumps(asdict(part("here")))),
    ]
    assert parts_in(lines) == [part("worker-0"), part("worker-1")]


def test_the_histogram_is_a_drawing_with_a_panel_for_each_replica_and_all_steps_in_it() -> None:
    drawn = ElementTree.fromstring(histogram(Record(["--a=<b>"], {}, [part(), part("worker-1")])))
    titles = [int(each.text or 0) for each in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert sum(titles) == 80
    assert [t.text for t in drawn.iter("{http://www.w3.org/2000/svg}text") if "ms a step" in (t.text or "")] == [
        "worker-0, ms a step",
        "worker-1, ms a step",
    ]


def test_a_run_whose_steps_all_took_as_long_can_be_drawn() -> None:
    ElementTree.fromstring(histogram(Record([], {}, [part(shake=0)])))
