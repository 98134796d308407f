"""The commands around a run, as a user types them."""

from __future__ import annotations

import json
import signal

import psutil
import yaml

from tests.integration.harness import Job
from tests.integration.local.jobs import write_job
from tests.unit.local.event_files import event_file, record


def test_a_run_that_succeeds(shoal, tmp_path):
    result = shoal("run", str(write_job(tmp_path, Chief=1, PS=1, Worker=2)))
    assert result.returncode == 0, result.stderr
    assert "job succeeded" in result.stderr
    assert result.stdout == ""
    job = Job(shoal, "job")
    assert job.phase == "Succeeded"
    assert job.status["replicaStatuses"]["Chief"]["succeeded"] == 1
    assert job.step == 10
    assert "chief-0 is done" in job.log("chief-0")
    job.assert_nothing_left()


def test_a_run_that_fails_tells_who_and_what(shoal, tmp_path):
    manifest = write_job(tmp_path, "worker-1:fail", restart="Never", Chief=1, PS=1, Worker=2, steps=1000)
    result = shoal("run", str(manifest))
    assert result.returncode == 1
    assert "worker-1 exited with code 1" in result.stderr
    assert "ValueError: told to fail in attempt 0" in result.stderr
    job = Job(shoal, "job")
    assert job.first_failure["replica"] == "worker-1"
    assert job.first_failure["exitCode"] == 1
    assert any("ValueError" in line for line in job.first_failure["logTail"])
    job.assert_nothing_left()


def test_a_second_run_of_the_same_name_says_so(shoal, tmp_path):
    manifest = write_job(tmp_path, Worker=1, steps=3)
    assert shoal("run", str(manifest)).returncode == 0
    again = shoal("run", str(manifest))
    assert again.returncode == 2
    assert "a run named 'job' exists (succeeded)" in again.stderr
    assert "--replace" in again.stderr
    assert shoal("run", str(manifest), "--name", "other").returncode == 0
    assert shoal("run", str(manifest), "--replace").returncode == 0


def test_a_name_that_runs_is_not_replaced(shoal, tmp_path):
    manifest = write_job(tmp_path, Worker=1, steps=10000)
    job = shoal.detach(manifest)
    refused = shoal("run", str(manifest), "--replace")
    assert refused.returncode == 2
    assert "is running" in refused.stderr
    assert job.phase != "Suspended"


def test_ctrl_c_ends_every_process_and_resume_goes_on(shoal, tmp_path):
    manifest = write_job(tmp_path, "worker-1:spawn", Chief=1, PS=1, Worker=2, steps=60)
    run = shoal.begin("run", str(manifest))
    job = Job(shoal, "job")
    job.until(lambda: job.step >= 3)
    processes = [process.pid for process in job.processes()]
    assert len(processes) >= 5
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=20)
    assert run.returncode == 130, output
    assert "shoal resume" in output
    assert not [pid for pid in processes if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"]
    assert job.phase == "Suspended"
    job.assert_nothing_left()
    resumed = shoal("resume", "job")
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming at step" in job.log("chief-0")
    assert job.retries == 0


def test_stop_resume_wait_and_rm(shoal, tmp_path):
    job = shoal.detach(write_job(tmp_path, Chief=1, Worker=1, steps=200))
    job.until(lambda: job.step >= 3)
    assert shoal("wait", "job", "--timeout", "0.2").returncode == 124
    assert shoal("rm", "job").returncode == 2, "a running run is not removed by accident"
    assert shoal("stop", "job").returncode == 0
    assert job.phase == "Suspended"
    job.assert_nothing_left()
    assert shoal("wait", "job").returncode == 3
    assert shoal("resume", "job", "--detach").returncode == 0
    assert shoal("wait", "job").returncode == 0
    assert shoal("resume", "job").returncode == 2
    assert shoal("rm", "job").returncode == 0
    assert not job.folder.exists()
    assert shoal("describe", "job").returncode == 2


def test_rm_force_stops_first(shoal, tmp_path):
    job = shoal.detach(write_job(tmp_path, Worker=1, steps=10000))
    job.until(lambda: job.step >= 1)
    processes = job.processes()
    assert shoal("rm", "job", "--force").returncode == 0
    assert not any(process.is_running() for process in processes)


def test_ps_and_describe_for_people_and_programs(shoal, tmp_path):
    job = shoal.detach(write_job(tmp_path, Chief=1, Worker=2, steps=10000))
    job.until(lambda: job.step >= 2)
    table = shoal("ps")
    assert "job" in table.stdout
    assert "3 running" in table.stdout
    listed = json.loads(shoal("ps", "--output", "json").stdout)
    assert [(run["name"], run["phase"]) for run in listed] == [("job", "Running")]
    told = shoal("describe", "job").stdout
    for word in ("Independent", "chief-0", "worker-1", "TFJobRunning", str(job.folder)):
        assert word in told
    assert "\033[" not in told
    assert json.loads(shoal("describe", "job", "-o", "json").stdout)["phase"] == "Running"
    shoal("stop", "job")
    assert shoal("ps").stdout.split()[4:5] != ["Running"]
    assert "Suspended" in shoal("ps").stdout


def test_logs(shoal, tmp_path):
    assert shoal("run", str(write_job(tmp_path, "worker-1:fail-once", Chief=1, Worker=2))).returncode == 0
    everything = shoal("logs", "job").stdout
    assert "chief-0  | chief-0 is done" in everything
    assert "worker-1 | worker-1 attempt 1 begins" in everything
    assert "ValueError" not in everything, "the last attempt of each is shown"
    first = shoal("logs", "job", "--replica", "worker-1", "--attempt", "1").stdout
    assert "ValueError: told to fail in attempt 0" in first
    assert "chief-0" not in first
    assert "attempt 0" in shoal("logs", "job", "--all-attempts").stdout
    assert shoal("logs", "job", "--replica", "chief-0", "--tail", "1").stdout == "chief-0  | chief-0 is done\n"
    unknown = shoal("logs", "job", "--replica", "worker-7")
    assert unknown.returncode == 2
    assert "replicas with logs: chief-0, worker-0, worker-1" in unknown.stderr


def test_following_logs_ends_with_the_run(shoal, tmp_path):
    shoal.detach(write_job(tmp_path, Chief=1, Worker=1, steps=20))
    followed = shoal("logs", "job", "-f", timeout=30)
    assert followed.returncode == 0
    assert "chief-0  | chief-0 is done" in followed.stdout


def test_scale(shoal, tmp_path):
    manifest = write_job(tmp_path, PS=1, Worker=2, steps=200)
    text = yaml.safe_load(manifest.read_text())
    text["spec"]["enableDynamicWorker"] = True
    manifest.write_text(yaml.safe_dump(text))
    job = shoal.detach(manifest)
    job.until(lambda: job.step >= 2)
    before = {name: job.replica(name)["pid"] for name in ("ps-0", "worker-0", "worker-1")}
    result = shoal("scale", "job", "--workers", "3")
    assert "2 → 3 workers" in result.stderr
    job.until(lambda: job.replica("worker-2").get("state") == "Running")
    assert {name: job.replica(name)["pid"] for name in before} == before
    assert shoal("scale", "job", "--workers", "1").returncode == 0
    job.until(lambda: not job.replica("worker-2") and not job.replica("worker-1"))
    assert job.end() == "Succeeded"
    assert job.retries == 0
    assert shoal("scale", "job", "--workers", "2").returncode == 2


def test_several_jobs_of_one_file_run_side_by_side(shoal, tmp_path):
    one, two = (write_job(tmp_path, name=name, Worker=1).read_text() for name in ("one", "two"))
    (tmp_path / "both.yaml").write_text(f"{one}---\n{two}")
    result = shoal("run", str(tmp_path / "both.yaml"))
    assert result.returncode == 0, result.stderr
    assert "one succeeded" in result.stderr
    assert "two succeeded" in result.stderr


def test_a_manifest_with_faults_starts_nothing(shoal, tmp_path):
    manifest = write_job(tmp_path, Worker=1)
    manifest.write_text(manifest.read_text().replace("runPolicy", "runPolice").replace("image:", "imige:"))
    result = shoal("run", str(manifest))
    assert result.returncode == 2
    assert "did you mean" in result.stderr
    assert len([line for line in result.stderr.splitlines() if line.startswith("error:")]) >= 2
    assert "Traceback" not in result.stderr
    assert not (shoal.home / "runs" / "job").exists()


def test_what_is_no_manifest_is_said_to_be_none(shoal, tmp_path):
    (tmp_path / "claim.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    for words in (["run", str(tmp_path / "claim.yaml")], ["run", str(tmp_path / "absent.yaml")], ["logs", "absent"]):
        result = shoal(*words)
        assert result.returncode == 2
        assert "error:" in result.stderr
        assert "Traceback" not in result.stderr


def test_stdin(shoal, tmp_path):
    text = write_job(tmp_path, Worker=1, steps=3).read_text()
    result = shoal("run", "-", input=text, cwd=tmp_path)
    assert result.returncode == 0, result.stderr


def test_a_run_whose_time_to_live_is_over_is_gone(shoal, tmp_path):
    manifest = write_job(tmp_path, Worker=1, steps=3, run_policy={"ttlSecondsAfterFinished": 0})
    assert shoal("run", str(manifest)).returncode == 0
    assert shoal("ps", "--all").stdout == ""
    assert not (shoal.home / "runs" / "job").exists()


def test_the_last_events_of_a_short_program_count(shoal, tmp_path):
    """Its event file is new when it ends: nobody had yet looked for one."""
    summary = event_file(tmp_path / "prepared", 0, record(49, 5.0, loss=0.5))
    (tmp_path / "quick.py").write_text(
        "import os, shutil, sys\n"
        f"shutil.copy({str(summary)!r}, f'{{sys.argv[1]}}/events.out.tfevents.1.host.{{os.getpid()}}.0.v2')\n"
    )
    manifest = write_job(tmp_path, Worker=1)
    document = yaml.safe_load(manifest.read_text())
    pod = document["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    pod["volumes"] = [{"name": "logs", "emptyDir": {}}]
    pod["containers"][0] |= {
        "command": ["python", "quick.py", "/logs"],
        "volumeMounts": [{"name": "logs", "mountPath": "/logs"}],
    }
    manifest.write_text(yaml.safe_dump(document))
    result = shoal("run", str(manifest))
    assert result.returncode == 0, result.stderr
    assert Job(shoal, "job").status["progress"]["step"] == 49
