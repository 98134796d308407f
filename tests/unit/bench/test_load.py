"""The load generator against servers of a few lines in this process: what is due, what is counted, and what a server
that stalls looks like from an open and from a closed loop."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.bench.load.engine import Engine, Plan
from shoal.bench.load.histogram import Histogram, merged
from shoal.bench.load.plot import curve
from shoal.bench.load.result import Asked, LoadRecord, differences
from shoal.bench.load.schedule import Arrivals, Open
from shoal.bench.load.tally import Counts, Tally, together
from shoal.bench.load.target import Target
from shoal.bench.load.wire import Broken
from shoal.bench.options import OptionError

SVG = "{http://www.w3.org/2000/svg}"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@given(st.lists(st.floats(1e-9, 1e4), min_size=1, max_size=200), st.sampled_from([50.0, 90.0, 99.0, 99.9, 100.0]))
def test_percentiles_are_the_true_ones_or_a_thousandth_above(seconds: list[float], percent: float) -> None:
    histogram = Histogram()
    histogram.add(seconds)
    true = np.percentile(seconds, percent, method="inverted_cdf")
    assert true - 1e-9 <= histogram.percentile(percent) <= true * 1.001 + 1e-9


@given(st.lists(st.lists(st.floats(0, 10), max_size=20), max_size=5))
def test_histograms_of_parts_add_up_to_that_of_all(parts: list[list[float]]) -> None:
    counted = [Histogram() for _ in parts]
    for histogram, part in zip(counted, parts, strict=True):
        histogram.add(part)
    whole = Histogram()
    whole.add([value for part in parts for value in part])
    assert merged(counted) == whole


def test_a_late_answer_stands_for_those_that_were_not_asked_meanwhile() -> None:
    histogram = Histogram()
    histogram.add([0.01] * 99 + [1.0])
    corrected = histogram.corrected(0.01)
    assert corrected.total == pytest.approx(100 + 99, abs=2)
    assert histogram.percentile(90) < 0.02 < 0.7 < corrected.percentile(90)


@pytest.mark.parametrize("arrivals", list(Arrivals))
def test_parts_of_a_rate_make_up_the_whole(arrivals: Arrivals) -> None:
    parts = [Open(10, 20, 500, arrivals, part, 3) for part in range(3)]
    due = sorted(time for part in parts for time in part.left(20))
    assert len(due) == pytest.approx(5000, rel=0.05)
    assert 10 <= due[0] < due[-1] < 20
    gaps = [after - before for before, after in pairwise(due)]
    # The standard deviation of exponential gaps is their mean; even ones have none.
    assert np.std(gaps) == pytest.approx(0.002 if arrivals is Arrivals.POISSON else 0, rel=0.1, abs=1e-9)


def test_what_is_not_due_yet_is_not_taken() -> None:
    schedule = Open(0, 1, 10, Arrivals.CONSTANT)
    assert [schedule.take(0.15) for _ in range(3)] == [0, 0.1, None]
    assert schedule.next_due(0.15) == pytest.approx(0.2)


def test_the_warm_up_is_left_out_and_its_failures_are_told() -> None:
    tally = Tally(10, 10)
    tally.failed(9.5, "HTTP 503")
    tally.answered(9.9, 10.5)  # asked too early for a latency, answered in time for the rate
    tally.answered(12, 12.5)
    tally.unanswered(19, 29, "timeout")
    tally.failed(15, "HTTP 503", "busy")
    counts = tally.close(20)
    assert (counts.answered[0], sum(counts.answered), counts.latency.total) == (1, 2, 2)
    assert counts.latency.max == pytest.approx(10, rel=1e-3)
    assert (counts.failed, counts.failures["HTTP 503"].message, counts.early_failures["HTTP 503"].count) == (
        2,
        "busy",
        1,
    )
    both = together([counts, counts])
    assert (both.failed, both.latency.total, sum(both.answered), both.seconds) == (4, 4, 4, 10)


@contextmanager
def server(answer: bytes = OK, stall_at: float = 1e9, stall: float = 0) -> Iterator[int]:
    """Answers each request; from `stall_at` seconds after its start on it rests once for `stall` seconds, on all
    connections alike."""
    began = time.monotonic()
    listening = socket.create_server(("127.0.0.1", 0))

    def talk(connection: socket.socket) -> None:
        with connection:
            while True:
                try:
                    if not connection.recv(65536):
                        return
                    wait = began + stall_at + stall - time.monotonic()
                    if 0 < wait <= stall:
                        time.sleep(wait)
                    connection.sendall(answer)
                except OSError:
                    return

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def load(port: int, *, rate: float | None = None, in_flight: int = 2, timeout: float = 5, seconds: float = 1) -> Counts:
    target = Target("127.0.0.1", port, "/v1/models/m:predict", b"{}")
    engine = Engine(Plan(target, in_flight, in_flight, seconds, 0.1, timeout, rate))
    engine.connect()
    return engine.run(time.monotonic())


def test_an_open_loop_shows_a_stall_and_a_closed_one_hides_it() -> None:
    with server(stall_at=0.5, stall=0.4) as port:
        opened = load(port, rate=200)
    with server(stall_at=0.5, stall=0.4) as port:
        closed = load(port)
    # 0.4 s of 1 s: two requests in five met the stall, and waited 0.2 s on average.
    assert opened.latency.percentile(75) > 0.1
    assert opened.latency.percentile(99) > 0.3
    assert opened.latency.total == pytest.approx(200, abs=3)
    assert opened.queued > 20
    assert closed.latency.percentile(99) < 0.1
    assert closed.latency.max > 0.3
    assert not opened.failures
    assert not closed.failures


def test_what_was_due_and_never_sent_is_a_failure_as_late_as_it_is() -> None:
    with server(stall_at=0.2, stall=3) as port:
        counts = load(port, rate=100, timeout=0.3, seconds=0.6)
    assert counts.failures["timeout"].count >= 2
    assert counts.failures["never sent"].message == "every connection was busy"
    assert sum(counts.answered) + counts.failed == pytest.approx(60, abs=2)
    assert counts.latency.percentile(90) > 0.3


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", "HTTP 503"),
        (b"SSH-2.0-OpenSSH\r\n", "this is no HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "an answer without a length"),
    ],
)
def test_answers_that_are_none_are_counted_by_kind(answer: bytes, kind: str) -> None:
    with server(answer) as port:
        counts = load(port, seconds=0.2)
    assert set(counts.failures) == {kind}
    assert counts.failed > 0
    assert sum(counts.answered) == 0
    assert counts.latency.total == 0


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
    ],
)
def test_answers_in_other_forms_are_good(answer: bytes) -> None:
    with server(answer) as port:
        counts = load(port, seconds=0.2)
    assert sum(counts.answered) > 5
    assert not counts.failures


def test_a_server_that_is_not_there_is_said_before_the_load() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises((OSError, Broken)):
        load(port)


def record(rate: int, shake: float = 0.01) -> LoadRecord:
    counts = Counts(seconds=10)
    counts.answered = [int(rate * (1 + shake * (i % 3 - 1))) for i in range(10)]
    for block in counts.blocks:
        block.add(np.random.default_rng(rate).exponential(1 / rate, 1000))
    counts.blocks[0].add([0.1])
    asked = Asked("127.0.0.1:8500", "gRPC", "m", 1, "serving_default", 1, 16, 8, 1, None, "constant", 10, 2)
    return LoadRecord(asked, counts)


def test_a_saved_load_is_read_again_and_compared_with_its_noise(tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "a.json"
    file.write_text(record(1000).dump())
    first = LoadRecord.load(file)
    assert first == record(1000)
    assert not differences(first, record(1001))["requests/s"].tells
    slower = differences(first, record(800))["requests/s"]
    assert (slower.ratio, slower.tells) == (pytest.approx(0.8, rel=0.01), True)
    file.write_text("{}")
    with pytest.raises(OptionError, match=r"a\.json"):
        LoadRecord.load(file)


def test_the_curve_ends_at_the_slowest_request_by_the_axes_that_are_drawn() -> None:
    drawn = record(1000)
    svg = ElementTree.fromstring(curve(drawn))
    texts = [(each.text or "", float(each.get("x", 0)), float(each.get("y", 0))) for each in svg.iter(f"{SVG}text")]
    heights = {float(text.removesuffix(" ms")): y - 4 for text, _, y in texts if text.endswith(" ms")}
    across = {text: x for text, x, _ in texts if text.endswith(" %")}
    assert list(across) == ["0 %", "90 %", "99 %", "99.9 %", "99.99 %"]
    assert {text for text, _, _ in texts} >= {"latency", "corrected"}
    plain, _ = (each.get("d", "") for each in svg.iter(f"{SVG}path") if each.get("fill") == "none")
    points = [tuple(map(float, point.split())) for point in plain[1:].split("L")]
    assert all(x <= after_x and y >= after_y for (x, y), (after_x, after_y) in pairwise(points))
    scale = (heights[0] - heights[max(heights)]) / max(heights)
    assert (heights[0] - points[-1][1]) / scale == pytest.approx(1000 * drawn.counts.latency.max, rel=0.01)
    nearest = min(points, key=lambda point: abs(point[0] - across["90 %"]))
    assert (heights[0] - nearest[1]) / scale == pytest.approx(1000 * drawn.counts.latency.percentile(90), rel=0.05)
