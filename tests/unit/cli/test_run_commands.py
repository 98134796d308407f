"""Commands around runs that are not running: what they print, and with which exit code they leave."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal import __version__
from shoal.cli.main import app
from shoal.local.runs import Run
from shoal.resources import Condition, ConditionType, FirstFailure, JobStatus, Phase, Progress, dump, parse
from shoal.resources.yaml_text import write_yaml
from shoal.runs import ReplicaRecord, Snapshot
from tests.unit.resources.manifests import changed, manifest

COMMAND = [sys.executable, "-c", "from shoal.cli import main; main()"]


def ended(name: str, phase: Phase = Phase.SUCCEEDED, message: str = "", **status: object) -> Run:
    """A run whose supervisor has left, with this status."""
    run = Run(name)
    run.create(dump(parse(changed(manifest(), "metadata.name", name))), Path("/src"))
    condition = Condition(
        type=ConditionType.RUNNING, status="False", message=message, last_transition_time=1_700_000_000.0
    )
    told = JobStatus(phase=phase, message=message, conditions=[condition], **status)
    run.write_snapshot(Snapshot(told, [ReplicaRecord("worker-0", 0, "Failed", exit_code=1)], began_at=1.0))
    return run


@pytest.mark.parametrize(
    ("phases", "code"),
    [
        ([Phase.SUCCEEDED], 0),
        ([Phase.SUCCEEDED, Phase.FAILED], 1),
        ([Phase.FAILED, Phase.SUSPENDED], 1),
        ([Phase.SUSPENDED, Phase.SUCCEEDED], 3),
        ([Phase.RUNNING], 3),
    ],
)
def test_wait_tells_how_runs_ended(shoal, phases, code):
    names = [ended(f"job-{number}", phase).name for number, phase in enumerate(phases)]
    assert shoal("wait", *names).code == code


def test_wait_gives_up_when_time_is_up(shoal):
    with ended("job", Phase.RUNNING).supervised():
        result = shoal("wait", "job", "--timeout", "0")
    assert (result.code, result.err) == (124, "still running after 0 s: job\n")


@pytest.mark.parametrize("command", ["describe", "logs", "stop", "resume", "rm", "wait", "tensorboard"])
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("trian", "did you mean train?"),
        ("unlike", "known runs: train"),
        ("../train", "did you mean train?"),
        ("", "known runs: train"),
    ],
)
def test_an_unknown_run_is_refused(shoal, command, name, hint):
    run = ended("train")
    result = shoal(command, name)
    assert (result.code, result.out) == (2, "")
    assert result.err == f"error: there is no run named {name!r}\nhint: {hint}\n"
    assert run.exists


@pytest.mark.parametrize("words", [("scale", "train", "--workers", "2"), ("resume", "train")])
def test_a_run_that_has_ended_is_not_changed(shoal, words):
    ended("train")
    result = shoal(*words)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: run 'train' has ")


@pytest.mark.parametrize("name", ["Bad_Name", "../escape", "", "-x", "a" * 60, "a.b"])
def test_no_run_is_begun_under_a_name_that_cannot_be(shoal, tmp_path, home, name):
    file = tmp_path / "job.yaml"
    file.write_text(write_yaml(manifest()))
    result = shoal("run", file, f"--name={name}")
    assert result.code == 2
    assert result.err.startswith("error: --name metadata.name: ")
    assert not home.exists()
    assert not (tmp_path / "escape").exists()


def test_names_for_several_jobs(shoal, tmp_path, home):
    file = tmp_path / "job.yaml"
    file.write_text("---\n".join([write_yaml(manifest())] * 2))
    named = shoal("run", file, "--name", "x")
    assert (named.code, named.err) == (
        2,
        f"error: {file} has 2 jobs, and --name names one\nhint: run them from files of their own\n",
    )
    twice = shoal("run", file)
    assert (twice.code, twice.err) == (
        2,
        "error: two jobs are named 'train'\nhint: give each a metadata.name of its own\n",
    )
    assert not (home / "runs").exists()


def test_a_run_is_not_replaced_by_accident(shoal, tmp_path):
    run = ended("train", Phase.FAILED)
    file = tmp_path / "job.yaml"
    file.write_text(write_yaml(manifest()))
    result = shoal("run", file)
    assert result.code == 2
    assert result.err.startswith("error: a run named 'train' exists (failed)\nhint: start over with --replace")
    with run.supervised():
        assert "is running" in shoal("run", file, "--replace").err
    assert run.snapshot().status.phase is Phase.FAILED


def test_what_programs_read(shoal):
    """JSON alone on stdout, whatever there is to tell."""
    assert json.loads(shoal("ps", "-o", "json").out) == []
    ended("good", Phase.SUCCEEDED, progress=Progress(replica="worker-0", step=7, loss=0.5, time=1.0))
    ended("bad", Phase.FAILED, message="größer\n[/]")
    assert json.loads(shoal("ps", "-o", "json").out) == [], "runs that have ended are shown with --all"
    listed = {each["name"]: each for each in json.loads(shoal("ps", "--all", "-o", "json").out)}
    assert {name: each["phase"] for name, each in listed.items()} == {"good": "Succeeded", "bad": "Failed"}
    assert listed["good"]["status"]["progress"]["step"] == 7
    assert listed["bad"]["status"]["message"] == "größer\n[/]"
    for name, each in listed.items():
        assert json.loads(shoal("describe", name, "-o", "json").out) == each


def test_what_people_read_may_look_like_markup(shoal):
    told = "cannot run '[/opt]/[bold]x[/]'"
    failure = FirstFailure(replica="worker-0", attempt=0, cause="Exit", message=told, log_tail=["[red]"], time=1.0)
    ended("train", Phase.FAILED, message=told, first_failure=failure)
    result = shoal("describe", "train")
    assert result.code == 0
    assert result.out.count(told) == 4, "in facts, table, conditions and the first failure"
    assert "  [red]\n" in result.out
    assert shoal("ps", "--all").code == 0


def test_a_damaged_run_is_told_and_can_be_removed(shoal):
    ended("good")
    damaged = ended("bad")
    damaged.status_file.write_text("{")
    assert "Damaged" in shoal("ps").out
    assert "good" in shoal("ps", "--all").out
    for words in (["describe", "bad"], ["resume", "bad"], ["scale", "bad", "--workers", "2"], ["wait", "bad"]):
        result = shoal(*words)
        assert result.code == 2
        assert result.err.startswith(
            f"error: {damaged.status_file} is damaged\nhint: remove the run with `shoal rm bad`"
        )
    assert shoal("rm", "bad").code == 0
    assert not damaged.exists


def test_describe_of_a_run_whose_time_to_live_is_over(shoal):
    run = Run("train")
    run.create(dump(parse(manifest(runPolicy={"ttlSecondsAfterFinished": 0}))), Path("/src"))
    run.write_snapshot(Snapshot(JobStatus(phase=Phase.SUCCEEDED, completion_time=1.0)))
    result = shoal("describe", "train")
    assert (result.code, result.err.splitlines()[0]) == (2, "error: there is no run named 'train'")


@pytest.mark.parametrize("place", ["/dev/null", "/proc/nowhere"])
def test_a_home_that_cannot_be_written(shoal, monkeypatch, tmp_path, place):
    file = tmp_path / "job.yaml"
    file.write_text(write_yaml(manifest()))
    monkeypatch.setenv("SHOAL_HOME", place)
    result = shoal("run", file)
    assert result.code == 2
    assert result.err.startswith(f"error: {place}")
    assert f"hint: runs live in {place}/runs; SHOAL_HOME names another place than ~/.shoal" in result.err
    assert shoal("ps").code == 0


def test_logs(shoal):
    run = ended("train")
    run.log("worker-0", 0).write_text("first\n")
    run.log("worker-0", 1).write_text("a\nb\nhalf a line")
    run.log("worker-10", 0).write_bytes(b"\xff\n")
    (run.logs / "prefork.log").write_text("not a replica's\n")
    everything = "worker-0  | a\nworker-0  | b\nworker-0  | half a line\nworker-10 | \ufffd\n"
    assert shoal("logs", "train").out == everything
    assert shoal("logs", "train", "--replica", "worker-0", "--tail", "1").out == "worker-0  | half a line\n"
    assert shoal("logs", "train", "--tail", "0").out == ""
    assert shoal("logs", "train", "--replica", "worker-0", "--attempt", "1").out == "worker-0  | first\n"
    assert "first" in shoal("logs", "train", "--all-attempts").out
    unknown = shoal("logs", "train", "--replica", "ps-0")
    assert unknown.err.endswith("hint: replicas with logs: worker-0, worker-10\n")


# --- the command itself


def test_version_help_and_words_that_are_no_command(shoal):
    assert shoal("--version").out == f"shoal {__version__}\n"
    assert shoal("-h").code == 0
    for words in (["fly"], ["ps", "--fly"], ["ps", "-o", "xml"], ["describe"], ["run"], ["logs", "a", "--tail", "-1"]):
        assert shoal(*words).code == 2


def test_names_are_completed():
    ended("train")
    ended("evaluate")
    environment = {"_SHOAL_COMPLETE": "complete_bash", "COMP_WORDS": "shoal describe tr", "COMP_CWORD": "2"}
    assert CliRunner().invoke(app, [], env=environment, prog_name="shoal").output.split() == ["train"]


def test_completion_is_a_script_of_the_shell(tmp_path):
    """What it prints is run by the shell itself."""
    told = subprocess.run([*COMMAND, "--show-completion", "bash"], capture_output=True, text=True, check=True).stdout
    assert "complete " in told
    subprocess.run(["bash", "-n"], input=told, text=True, check=True)


def on_a_terminal(*words: str, **env: str) -> str:
    """What a command shows to somebody who looks."""
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    process = subprocess.Popen([*COMMAND, *words], stdout=theirs, stderr=theirs, env={**environment, **env})
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:  # Linux says EIO where the other end is closed
        pass
    os.close(ours)
    process.wait()
    return shown.decode()


@pytest.mark.parametrize(
    ("env", "coloured"),
    [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colour_is_for_terminals_that_want_it(env, coloured):
    ended("train")
    for words, expected in ((["describe", "absent"], "error:"), (["ps", "--all"], "Succeeded")):
        shown = on_a_terminal(*words, **env)
        assert expected in shown
        assert ("\033[3" in shown) is coloured, shown


def test_a_reader_that_leaves_early_is_no_error():
    run = ended("train")
    run.log("worker-0", 0).write_text("line\n" * 200_000)
    process = subprocess.Popen([*COMMAND, "logs", "train"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0
    process.stderr.close()


@pytest.fixture
def estimator_job(tmp_path) -> Path:
    """A job whose script uses what TensorFlow no longer has."""
    (tmp_path / "train.py").write_text("import tensorflow as tf\ntf.estimator.Estimator()\n")
    path = tmp_path / "job.yaml"
    container = {"name": "tensorflow", "image": "example/train", "command": ["python", "train.py"]}
    specs = {"Worker": {"template": {"spec": {"containers": [container]}}}}
    path.write_text(write_yaml(manifest(tfReplicaSpecs=specs)))
    return path


def test_a_job_that_would_fail_is_refused_before_it_begins(shoal, estimator_job, home):
    result = shoal("run", str(estimator_job))
    assert result.code == 2
    assert f"error: {estimator_job}: SH202 spec.tfReplicaSpecs.Worker: the script uses tf.estimator" in result.err
    assert "--no-lint" in result.err
    assert not list(home.glob("runs/*/manifest.yaml"))


def test_a_workbench_is_for_a_cluster(shoal, tmp_path):
    bench = tmp_path / "desk.yaml"
    bench.write_text("apiVersion: shoal.dev/v1\nkind: Workbench\nmetadata: {name: desk}\nspec: {}\n")
    result = shoal("run", bench)
    hint = f"hint: kubectl apply -f {bench}; `shoal workbench` starts JupyterLab here\n"
    assert (result.code, result.err) == (2, f"error: {bench} has a Workbench alone\n{hint}")
