"""The same commands on a cluster as on one machine: a real API server, the real operator, pods that pretend."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.api.commands import Result, Shoal
from tests.cluster.api.operators import OperatorProcess, operator_with_its_rights
from tests.cluster.api.tfjobs import KIND, names, role, tell, tfjob, wait_for_attempt, wait_for_phase
from tests.cluster.api_level import ApiCluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until

LOG = "2026-01-01T00:00:00.000000001Z step 1\n2026-01-01T00:00:01.000000001Z step 2\n"


@pytest.fixture(scope="module", autouse=True)
def operator(api_cluster: ApiCluster) -> Iterator[OperatorProcess]:
    with operator_with_its_rights(api_cluster, "cli") as running:
        yield running


@pytest.fixture
def shoal(api_cluster: ApiCluster, namespace: Kubectl) -> Shoal:
    return Shoal(api_cluster.kubeconfig, namespace.namespace)


def test_run_to_success(shoal: Shoal, namespace: Kubectl) -> None:
    beside = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"rate": "0.1"}}
    result = shoal.run(tfjob("train", Chief=role(exit="0@1s"), PS=role(), Worker=role(2)), beside)
    assert result.code == 0, result
    assert "train job: Running" in result.err
    assert "train chief-0: Succeeded, exit code 0" in result.err
    assert "train succeeded, " in result.err
    assert f"logs: shoal logs train -n {namespace.namespace}\n" in result.err
    assert namespace.json("get", "configmap/settings")["data"] == {"rate": "0.1"}


def test_run_of_a_job_that_fails(shoal: Shoal) -> None:
    failing = role(restart="Never", exit="3@0s", message="the last\nwords")
    result = shoal.run(tfjob("train", Worker=failing))
    assert result.code == 1, result
    assert "train failed: " in result.err
    assert "the last lines of worker-0:\n  the last\n  words\n" in result.err
    told = shoal("describe", "train")
    assert told.code == 0
    assert "First failure: worker-0" in told.out
    assert "  the last\n  words\n" in told.out


def test_a_run_is_not_replaced_by_accident(shoal: Shoal, namespace: Kubectl) -> None:
    job = tfjob("train", Worker=role(exit="0@0s"))
    beside = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    assert shoal.run(job).code == 0
    first = namespace.json("get", f"{KIND}/train")["metadata"]["uid"]
    again = shoal.run(job, beside)
    assert again.code == 2
    assert again.err.startswith("error: a run named 'train' exists (succeeded)\nhint: start over with --replace")
    assert namespace.json("get", f"{KIND}/train")["metadata"]["uid"] == first
    assert "settings" not in names(namespace, "configmaps")
    assert shoal.run(job, options=("--replace",)).code == 0
    assert namespace.json("get", f"{KIND}/train")["metadata"]["uid"] != first


def test_what_the_server_refuses_is_refused_before_anything_is_written(shoal: Shoal, namespace: Kubectl) -> None:
    beside = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    job = tfjob("train", Worker=role())
    job["metadata"]["labels"] = {"no label": "has a space"}
    result = shoal.run(job, beside)
    assert result.code == 2
    assert result.err.startswith("error: the cluster refuses: ")
    assert "settings" not in names(namespace, "configmaps")
    unknown = shoal.run(tfjob("train", Worker=role()), {**beside, "apiVersion": "example.org/v1"})
    assert unknown.err.startswith("error: the cluster has no kind ConfigMap of example.org/v1\nhint: ")
    elsewhere = shoal.run({**job, "metadata": {"name": "train", "namespace": "elsewhere"}})
    assert (elsewhere.code, elsewhere.err.split("\n")[0]) == (
        2,
        f"error: TFJob train is of the namespace elsewhere, not of {namespace.namespace}",
    )
    assert not namespace.exists(f"{KIND}/train")


def test_ctrl_c_leaves_the_job_running(shoal: Shoal, namespace: Kubectl, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(tfjob("train", Worker=role())))
    process = shoal.begin("run", str(file), "--no-lint")
    try:
        wait_for_phase(namespace, "train", "Running")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=15)
    finally:
        process.kill()
    assert process.returncode == 130
    assert f"hint: watch it with `shoal logs -f NAME -n {namespace.namespace}`" in err
    assert "Traceback" not in err
    assert namespace.json("get", f"{KIND}/train")["status"]["phase"] == "Running"


def test_logs_of_all_replicas(shoal: Shoal, namespace: Kubectl) -> None:
    namespace.apply(tfjob("train", Chief=role(log=LOG), PS=role(log=LOG), Worker=role(1, log=LOG)))
    wait_for_attempt(namespace, "train-worker-0", 0)
    wait_for_phase(namespace, "train", "Running")
    everything = "".join(f"{name:<8} | step {step}\n" for name in ("chief-0", "ps-0", "worker-0") for step in (1, 2))
    assert shoal("logs", "train") == Result(0, everything, "")
    assert shoal("logs", "train", "--replica", "ps-0", "--tail", "1").out == "ps-0     | step 2\n"
    absent = shoal("logs", "train", "--replica", "worker-7")
    assert (absent.code, absent.out) == (2, "")
    assert absent.err.startswith("error: train has no log of worker-7\nhint: ")
    assert shoal("logs", "train", "--attempt", "2").code == 2


def test_logs_are_followed_to_the_end_and_each_line_is_told_once(shoal: Shoal, namespace: Kubectl) -> None:
    namespace.apply(tfjob("train", Worker=role(1, log=LOG)))
    wait_for_attempt(namespace, "train-worker-0", 0)
    process = shoal.begin("logs", "-f", "train")
    try:
        assert process.stdout is not None
        # Line by line: what a reader has buffered, `communicate` would not see.
        assert process.stdout.readline() == "worker-0 | step 1\n"
        assert process.stdout.readline() == "worker-0 | step 2\n"
        tell(namespace, "train-worker-0", log=f"{LOG}2026-01-01T00:00:02.5Z step 3\n", exit="0@1s")
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (0, "worker-0 | step 3\n", "")


def test_ctrl_c_ends_following_a_log(shoal: Shoal, namespace: Kubectl) -> None:
    namespace.apply(tfjob("train", Worker=role(1, log=LOG)))
    wait_for_attempt(namespace, "train-worker-0", 0)
    process = shoal.begin("logs", "-f", "train")
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "worker-0 | step 1\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=15)
    finally:
        process.kill()
    assert (process.returncode, err) == (130, "")


def test_ps_and_describe(shoal: Shoal, namespace: Kubectl) -> None:
    assert shoal("ps") == Result(0, "", "nothing runs\n")
    assert json.loads(shoal("ps", "-o", "json").out) == []
    kubeflows = tfjob("old", api="kubeflow.org/v1", Worker=role(exit="0@0s"))
    namespace.apply(tfjob("train", Chief=role(), Worker=role(2)), kubeflows)
    wait_for_phase(namespace, "train", "Running")
    wait_for_phase(namespace, "old", "Succeeded", kind="tfjobs.v1.kubeflow.org")
    head, line = shoal("ps").out.splitlines()
    assert head.split() == ["NAME", "PHASE", "REPLICAS", "PROGRESS", "RETRIES", "TIME"]
    assert line.split()[:2] == ["train", "Running"]
    assert {each["name"] for each in json.loads(shoal("ps", "-a", "-o", "json").out)} == {"train", "old"}
    wait_until(lambda: "TFJobRunning" in shoal("describe", "train").out, 20, "the event")
    told = shoal("describe", "train").out
    for words in ("1 chief, 2 worker", f"Namespace {namespace.namespace}", "SuccessfulCreatePod", "worker-1"):
        assert words in told
    data = json.loads(shoal("describe", "train", "-o", "json").out)
    assert (data["name"], data["phase"], data["namespace"]) == ("train", "Running", namespace.namespace)
    assert {each["name"]: each["state"] for each in data["replicas"]}["worker-1"] == "Running"
    assert shoal("describe", "old").code == 0
    assert shoal("describe", "trian").err.endswith("hint: did you mean train?\n")


def test_wait(shoal: Shoal, namespace: Kubectl) -> None:
    namespace.apply(tfjob("good", Worker=role()), tfjob("bad", Worker=role(restart="Never", exit="1@0s")))
    wait_for_attempt(namespace, "good-worker-0", 0)
    assert shoal("wait", "good", "--timeout", "0") == Result(124, "", "still running after 0 s: good\n")
    tell(namespace, "good-worker-0", exit="0@0s")
    assert shoal("wait", "good") == Result(0, "", "good succeeded\n")
    assert shoal("wait", "good", "bad").code == 1
    assert shoal("scale", "good", "--workers", "2").err == "error: run 'good' has ended\n"
    assert shoal("resume", "good").code == 2


def test_stop_and_resume(shoal: Shoal, namespace: Kubectl) -> None:
    assert shoal.run(tfjob("train", Worker=role()), options=("-d",)).code == 0
    wait_for_phase(namespace, "train", "Running")
    assert "is running" in shoal("resume", "train").err
    stopped = shoal("stop", "train")
    assert stopped.err == f"train has stopped; go on with `shoal resume train -n {namespace.namespace}`\n"
    assert shoal("stop", "train").err == "train does not run\n"
    assert shoal("wait", "train").code == 3
    assert shoal("resume", "-d", "train").code == 0
    assert shoal("wait", "train", "--timeout", "0").code == 124
    wait_for_attempt(namespace, "train-worker-0", 1)
    tell(namespace, "train-worker-0", exit="0@0s")
    assert shoal("wait", "train").code == 0


def test_a_job_that_somebody_else_stops_or_removes(shoal: Shoal, namespace: Kubectl, tmp_path: Path) -> None:
    endings: dict[str, Callable[[], object]] = {
        "suspended": lambda: shoal("stop", "train"),
        "removed": lambda: namespace("delete", f"{KIND}/train", "--wait=false"),
    }
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(tfjob("train", Worker=role())))
    for said, end in endings.items():
        process = shoal.begin("run", str(file), "--no-lint", "--replace")
        try:
            wait_for_phase(namespace, "train", "Running")
            end()
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
        assert process.returncode == 3, err
        assert f"train {said}" in err


def test_scale(shoal: Shoal, namespace: Kubectl) -> None:
    namespace.apply(tfjob("train", PS=role(), Worker=role(1), enableDynamicWorker=True))
    namespace.apply(tfjob("alone", Chief=role()))
    wait_for_phase(namespace, "train", "Running")
    assert shoal("scale", "train", "--workers", "2").err == "train: 1 → 2 workers\n"
    wait_for_attempt(namespace, "train-worker-1", 0)
    assert shoal("scale", "alone", "--workers", "2").err == "error: run 'alone' has no workers to scale\n"


def test_rm(shoal: Shoal, namespace: Kubectl) -> None:
    namespace.apply(tfjob("train", Worker=role()))
    wait_for_phase(namespace, "train", "Running")
    assert shoal("rm", "train").err == "error: run 'train' is running\nhint: stop it first, or use --force\n"
    assert shoal("rm", "--force", "train").err == "train is removed\n"
    assert not namespace.exists(f"{KIND}/train")


def test_tensorboard(shoal: Shoal, namespace: Kubectl) -> None:
    """As far as kubectl: pods that pretend have no ports."""
    board = {"logDirs": {"train": "/train/logs"}}
    namespace.apply(tfjob("train", Worker=role(), tensorBoard=board), tfjob("plain", Worker=role()))
    assert shoal("tensorboard", "plain").err.startswith("error: plain asks for no TensorBoard\nhint: ")
    shoal.environment["PATH"] = "/nowhere"
    assert "there is no kubectl here" in shoal("tensorboard", "train").err
    shoal.environment["PATH"] = str(Path(namespace.program).parent)
    wait_until(lambda: any("tensorboard" in name for name in names(namespace, "pods")), 20, "TensorBoard's pod")
    result = shoal("tensorboard", "train", "--port", "16006")
    assert result.code == 1, result
    assert "TensorBoard of train: http://127.0.0.1:16006/" in result.err
    assert "the fake kubelet can do no more than show logs" in result.err, "kubectl has come as far as the pod"


def test_clusters_that_cannot_be_used(shoal: Shoal, api_cluster: ApiCluster, tmp_path: Path) -> None:
    unknown = shoal("ps", "--context", "shaol")
    assert unknown == Result(
        2, "", f"error: there is no context named 'shaol' in {api_cluster.kubeconfig}\nhint: did you mean shoal?\n"
    )
    stranger = Shoal(api_cluster.control_plane.identity("stranger"), shoal.namespace)
    forbidden = stranger("ps")
    assert forbidden.code == 2
    assert 'User "stranger" cannot list resource "tfjobs"' in forbidden.err
    assert "hint: ask for the right to it" in forbidden.err
    config = yaml.safe_load(api_cluster.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    nowhere = tmp_path / "nowhere"
    nowhere.write_text(yaml.safe_dump(config))
    silent = Shoal(nowhere, shoal.namespace)("ps")
    assert silent.code == 2
    assert silent.err.startswith("error: the cluster at https://127.0.0.1:1 does not answer: ")
    assert "\nhint: " in silent.err
    for text in ("", "just words", "{"):
        nowhere.write_text(text)
        broken = Shoal(nowhere, shoal.namespace)("ps")
        assert (broken.code, "hint: KUBECONFIG names" in broken.err) == (2, True), broken
    absent = Shoal(tmp_path / "absent", shoal.namespace)("ps")
    assert (absent.code, "hint: KUBECONFIG names" in absent.err) == (2, True), absent


def test_a_kubeconfig_in_several_files(shoal: Shoal, api_cluster: ApiCluster, tmp_path: Path) -> None:
    whole = yaml.safe_load(api_cluster.kubeconfig.read_text())
    files = [tmp_path / "absent"]
    for key in ("users", "clusters", "contexts", "current-context"):
        files.append(tmp_path / key)
        files[-1].write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", key: whole[key]}))
    listed = ":".join(map(str, files))
    assert Shoal(Path(listed), shoal.namespace)("ps").code == 0
    misspelt = Shoal(Path(listed), shoal.namespace)("ps", "--context", "shaol")
    assert misspelt.err.endswith("hint: did you mean shoal?\n")


def test_progress_comes_from_what_pods_print(shoal: Shoal) -> None:
    """A job with an evaluator has succeeded once the last checkpoint was evaluated, and not when time is up."""

    def said(*lines: str) -> str:
        return "".join(f"2026-01-01T00:00:01.5Z {line}\n" for line in lines)

    step = 'SHOAL_PROGRESS: {"time": 1767225601.5, "step": 1200, "loss": 0.25}'
    chief = role(exit="0@1s", log=said("training", step, 'SHOAL_PROGRESS: {"time": 1767225601.6, "checkpoint": 1200}'))
    evaluated = 'SHOAL_PROGRESS: {"time": 1767225602.5, "evaluated": 1200, "step": 1200, "metrics": {"accuracy": 0.9}}'
    result = shoal.run(tfjob("train", Chief=chief, Evaluator=role(log=said(evaluated))))
    assert result.code == 0, result
    assert "step 1,200, loss 0.25" in result.err
    told = shoal("describe", "train").out
    assert "Progress  step 1,200, loss 0.25" in told
    assert "FinalCheckpointEvaluated" in told
    assert shoal("logs", "train", "--replica", "chief-0").out == "chief-0 | training\n"
