from __future__ import annotations

import json
import re
import time

import pytest

from shoal.local.manifests import read
from shoal.resources import FirstFailure, Phase, Progress
from shoal.runs import Measurement
from shoal.web.curves import loss_curve, rate_curve
from tests.unit.cli.test_run_commands import ended
from tests.unit.local.event_files import event_file, record

HOSTILE = "<script>alert(1)</script>\"'&"


def events(text: str) -> list:
    """(event, data) of each server-sent event."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append((fields.get("event", "message"), json.loads(fields["data"])))
    return found


def test_the_list_tells_of_each_job(browser):
    assert "No jobs yet" in browser.get("/").text
    ended("good", progress=Progress(replica="worker-0", step=1200, loss=0.25, time=1.0))
    ended("bad", Phase.FAILED)
    page = browser.get("/").text
    assert re.search(r'<tr id="job-good">.*?Succeeded.*?1,200.*?0\.25.*?</tr>', page, re.DOTALL)
    assert re.search(r'<tr id="job-bad">.*?Failed.*?</tr>', page, re.DOTALL)
    assert "2 jobs: " in page
    assert {each["name"]: each["phase"] for each in browser.get("/api/jobs").json()} == {
        "good": "Succeeded",
        "bad": "Failed",
    }


@pytest.mark.parametrize(("phase", "shown"), [(Phase.RUNNING, True), (Phase.SUSPENDED, False), (Phase.FAILED, False)])
def test_a_rate_is_told_while_it_trains(browser, phase, shown):
    progress = Progress(replica="worker-0", step=7, steps_per_second=34.25, loss=0.5, time=1.0)
    with ended("train", phase, progress=progress).supervised():
        assert ("34.25" in browser.get("/").text) == shown


def test_what_is_shown_may_look_like_markup(browser):
    failure = FirstFailure(
        replica="worker-0", attempt=0, cause="Exit", message=HOSTILE, log_tail=[HOSTILE, "</pre>"], time=1.0
    )
    progress = Progress(replica="worker-0", step=1, metrics={HOSTILE: 0.5}, time=1.0)
    run = ended("train", Phase.FAILED, message=HOSTILE, first_failure=failure, progress=progress)
    run.log("worker-0", 0).write_text(HOSTILE + "\n")
    for path in ("/", "/jobs/train", "/jobs/train/remove", f"/jobs/{HOSTILE.replace('/', '')}"):
        shown = browser.get(path).text
        assert "<script>alert" not in shown
    shown = browser.get("/jobs/train").text
    assert shown.count("&lt;script&gt;alert(1)") >= 4
    assert "&lt;/pre&gt;" in shown


def test_logs_come_as_data_and_end_with_the_run(browser):
    run = ended("train")
    run.log("worker-0", 0).write_text(f"first\n{HOSTILE}\n")
    run.log("ps-0", 0).write_text("waits\n")
    answer = browser.get("/jobs/train/logs")
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = events(answer.text)
    assert [pair for kind, pairs in told if kind == "message" for pair in pairs] == [
        ["ps-0", "waits"],
        ["worker-0", "first"],
        ["worker-0", HOSTILE],
    ]
    assert told[-1] == ("end", {})
    chosen = events(browser.get("/jobs/train/logs?replica=ps-0").text)
    assert chosen[0] == ("message", [["ps-0", "waits"]])
    assert events(browser.get("/jobs/absent/logs").text)[-1][0] == "fault"


@pytest.mark.parametrize(
    "path", ["/jobs/absent", "/api/jobs/absent", "/nowhere", "/jobs/..%2f..%2fetc", "/static/../app.py"]
)
def test_what_is_not_there(browser, path):
    ended("train")
    answer = browser.get(path)
    assert answer.status_code == 404
    if path.startswith("/api/"):
        assert answer.json() == {"error": "there is no run named 'absent'", "hint": "known runs: train"}


@pytest.mark.parametrize("since", ["", "-1", "x", "²", "9" * 20])
def test_events_since_nonsense(browser, since):
    assert browser.get("/events", params={"since": since}).status_code == 400


def test_a_damaged_run_hides_no_other(browser):
    ended("good")
    ended("bad").status_file.write_text("{")
    page = browser.get("/").text
    assert "Damaged" in page
    assert "good" in page
    assert browser.get("/jobs/bad").status_code == 409


# --- actions


def test_what_has_ended_is_neither_stopped_nor_scaled_nor_resumed(browser):
    run = ended("train")
    for path, data in (("stop", {}), ("resume", {}), ("scale", {"workers": "2"})):
        answer = browser.post(f"/jobs/train/{path}", data=data)
        assert answer.status_code == 409
    assert read(run).job.spec.run_policy.suspend is None


def test_a_run_is_stopped_and_scaled(browser):
    run = ended("train", Phase.RUNNING)
    with run.supervised():
        assert browser.post("/jobs/train/scale", data={"workers": "3"}).status_code == 303
        assert browser.post("/jobs/train/stop").headers["location"] == "/jobs/train"
        assert browser.post("/jobs/train/remove").status_code == 409
    job = read(run).job
    assert job.spec.run_policy.suspend is True
    assert next(iter(job.replicas.values())).count == 3


@pytest.mark.parametrize("workers", ["", "0", "-1", "1.5", "many", "10001", "²", "1" * 50])
def test_a_number_of_workers_that_is_none(browser, workers):
    run = ended("train", Phase.RUNNING)
    with run.supervised():
        assert browser.post("/jobs/train/scale", data={"workers": workers}).status_code == 400


def test_removal_asks_first(browser, home):
    run = ended("train")
    asked = browser.get("/jobs/train/remove").text
    assert str(home) in asked
    assert run.exists
    assert browser.post("/jobs/train/remove").headers["location"] == "/"
    assert not run.exists
    assert browser.post("/jobs/train/remove").status_code == 404


def test_only_actions_that_can_be_taken_are_offered(browser):
    run = ended("train", Phase.SUSPENDED)
    offered = browser.get("/jobs/train").text
    assert "/jobs/train/resume" in offered
    assert "/jobs/train/stop" not in offered
    with run.supervised():
        time.sleep(0.01)
        offered = browser.get("/jobs/train").text
    assert "/jobs/train/stop" in offered
    assert "/jobs/train/remove" not in offered


# --- curves


def test_a_training_is_drawn_from_its_progress_lines(browser):
    run = ended("train", progress=Progress(replica="worker-0", step=30, time=3.0))
    said = [{"time": float(step), "step": step, "loss": 1 / step} for step in range(1, 31)]
    run.progress_file("worker-0", 0).write_text("".join(json.dumps(each) + "\n" for each in said))
    shown = browser.get("/jobs/train").text
    assert "Loss: 1 at step 1, 0.03333 at step 30" in shown
    assert "Steps per second: 1 at step 2, 1 at step 30" in shown
    history = browser.get("/api/jobs/train").json()["history"]
    assert history[0] == {"step": 1, "time": 1.0, "loss": 1.0}
    assert len(history) == 30


def test_a_step_that_was_done_again_counts_once(browser):
    run = ended("train", progress=Progress(replica="worker-0", step=3, time=9.0))
    run.progress_file("worker-0", 0).write_text(
        '{"time": 1, "step": 1, "loss": 4}\n{"time": 2, "step": 2, "loss": 3}\n'
    )
    run.progress_file("worker-0", 1).write_text('{"time": 8, "step": 2, "loss": 2}\n{"time": 9, "step": 3}\nhalf a li')
    told = browser.get("/api/jobs/train").json()["history"]
    assert [(each["step"], each["loss"]) for each in told] == [(1, 4.0), (2, 2.0), (3, None)]


def test_a_script_that_reports_its_accuracy_alone_is_drawn_from_its_event_files(browser):
    run = ended("train", progress=Progress(replica="worker-0", step=30, time=3.0))
    run.progress_file("worker-0", 0).write_text('{"time": 31, "step": 30, "accuracy": 0.9}\n')
    event_file(run.volumes / "train", 7, *(record(step, float(step), loss=1 / step) for step in range(1, 31)))
    assert "Loss: 1 at step 1, 0.03333 at step 30" in browser.get("/jobs/train").text


@pytest.mark.parametrize("losses", [[], [1.0], [None, None], [float("nan"), float("inf")]])
def test_nothing_is_drawn_of_nothing(losses):
    history = [Measurement(step, float(step), loss) for step, loss in enumerate(losses)]
    assert loss_curve(history) is None


def test_curves_of_any_numbers_stay_within_the_picture():
    for scale in (0.0, 1e-12, 1.0, 1e30, -5.0):
        history = [Measurement(step, step / 7, scale * (step % 13)) for step in range(5000)]
        for curve in (loss_curve(history), rate_curve(history)):
            assert curve is not None
            numbers = [float(number) for number in re.findall(r"-?[\d.]+", curve.path)]
            assert all(52 <= x <= 468 for x in numbers[::2])
            assert all(12 <= y <= 154 for y in numbers[1::2])
            assert len(numbers) <= 2 * 242
