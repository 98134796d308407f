"""How each replica is started: where its peers expect it, and with what it is told."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from shoal.local.manifests import Wanted, read
from shoal.local.plan import Plan
from shoal.local.ports import choose
from shoal.local.process import LaunchError
from shoal.local.runs import Run
from shoal.resources import Role, dump, parse
from shoal.training import ReplicaId
from tests.unit.resources.manifests import changed, manifest

from .replicas import config_map

pytestmark = pytest.mark.usefixtures("home")

CHIEF, PS, WORKER, SECOND, EVALUATOR = (
    ReplicaId.parse(name) for name in ("chief-0", "ps-0", "worker-0", "worker-1", "evaluator-0")
)
CONTAINER = {"name": "tensorflow", "image": "example/train", "command": ["python", "train.py"]}


def job_manifest(name: str = "train", container: dict[str, Any] = CONTAINER, **counts: int) -> dict[str, Any]:
    template = {"spec": {"containers": [container]}}
    specs = {role: {"replicas": count, "template": template} for role, count in counts.items()}
    return changed(manifest(tfReplicaSpecs=specs), "metadata.name", name)


def planned(source: Path = Path("/src"), name: str = "train", **options: Any) -> Plan:
    run = Run(name)
    run.create(dump(parse(job_manifest(name, **options))), source)
    return Plan(run, read(run))


def launch(plan: Plan, id: ReplicaId, attempt: int = 0):
    return plan.launch(read(plan.run).job, id, attempt)


def test_a_launch(tmp_path):
    plan = planned(tmp_path, Chief=1, PS=1, Worker=2)
    launched = launch(plan, SECOND, attempt=3)
    assert (launched.name, launched.argv) == ("worker-1", (sys.executable, "train.py"))
    assert launched.cwd == tmp_path
    assert launched.log == plan.run.logs / "worker-1.3.log"
    told = {name: value for name, value in launched.env.items() if name.startswith("SHOAL_") and name != "SHOAL_HOME"}
    assert told == {
        "SHOAL_JOB": "train",
        "SHOAL_REPLICA": "worker-1",
        "SHOAL_ATTEMPT": "3",
        "SHOAL_LEADER": "chief-0",
        "SHOAL_STRATEGY": "ParameterServer",
        "SHOAL_PROGRESS_FILE": str(plan.run.progress / "worker-1.3.jsonl"),
    }


def test_a_replica_starts_in_the_code_that_the_job_names(tmp_path):
    named = {**CONTAINER, "args": ["--data=/shoal/code/data.csv"]}
    git = {"url": "https://example.com/a.git", "revision": "0" * 40, "path": "digits"}
    job = changed(job_manifest(container=named, Worker=1), "spec.code", {"git": git})
    run = Run("train")
    run.create(dump(parse(job)), tmp_path)
    launched = launch(Plan(run, read(run)), WORKER)
    assert launched.cwd == run.code / "digits"
    assert launched.argv[-1] == f"--data={run.code}/data.csv"


def test_all_replicas_are_told_the_same_cluster_and_each_its_own_task():
    plan = planned(Chief=1, PS=1, Worker=2)
    configs = {id: json.loads(launch(plan, id).env["TF_CONFIG"]) for id in (CHIEF, PS, WORKER, SECOND)}
    clusters = [config["cluster"] for config in configs.values()]
    assert all(cluster == clusters[0] for cluster in clusters)
    assert {role: len(addresses) for role, addresses in clusters[0].items()} == {"chief": 1, "ps": 1, "worker": 2}
    addresses = [address for each in clusters[0].values() for address in each]
    assert len(set(addresses)) == 4
    assert all(address.startswith("127.0.0.1:") for address in addresses)
    assert {str(id): config["task"] for id, config in configs.items()} == {
        "chief-0": {"type": "chief", "index": 0},
        "ps-0": {"type": "ps", "index": 0},
        "worker-0": {"type": "worker", "index": 0},
        "worker-1": {"type": "worker", "index": 1},
    }


def test_a_single_process_needs_no_cluster():
    assert "TF_CONFIG" not in launch(planned(Worker=1), WORKER).env


def test_a_replica_keeps_its_address_also_with_another_supervisor():
    plan = planned(PS=1, Worker=2)
    first = launch(plan, WORKER).env["TF_CONFIG"]
    assert launch(plan, WORKER, attempt=1).env["TF_CONFIG"] == first
    successor = Plan(plan.run, read(plan.run))
    assert launch(successor, WORKER, attempt=2).env["TF_CONFIG"] == first


def test_workers_that_are_added_leave_the_others_where_they_are():
    plan = planned(PS=1, Worker=1)
    launch(plan, PS)
    before = dict(plan.addresses)
    job = read(plan.run).job
    job.spec.tf_replica_specs[next(kind for kind in job.spec.tf_replica_specs if kind.role is Role.WORKER)].replicas = 3
    plan.launch(job, PS, 1)
    assert {id: plan.addresses[id] for id in before} == before
    assert len(set(plan.addresses.values())) == 4


def test_runs_side_by_side_share_no_address():
    """Nor where almost every port is another's, be it down at the moment."""
    large = planned(name="large", Worker=1)
    left = set(choose(30))
    others = {f"worker-{port}": f"127.0.0.1:{port}" for port in range(65536) if port not in left}
    large.run.addresses_file.write_text(json.dumps(others))
    plans = [planned(name=f"job-{number}", PS=2, Worker=3) for number in range(4)]
    for plan in plans:
        launch(plan, PS)
    ports = [int(address.rpartition(":")[2]) for plan in plans for address in plan.addresses.values()]
    assert len(set(ports)) == len(ports) == 20
    assert set(ports) <= left


@pytest.mark.parametrize(
    "content", ["{", "[]", "7", '{"leader-0": "127.0.0.1:1"}', '{"ps-0": "here"}', '{"ps-0": null}']
)
def test_damaged_addresses_are_chosen_anew(content):
    damaged = planned(PS=1, Worker=1)
    damaged.run.addresses_file.write_text(content)
    again = Plan(damaged.run, read(damaged.run))
    assert again.addresses == {}
    other = planned(name="other", PS=1, Worker=1)
    assert launch(other, PS).env["TF_CONFIG"], "nor does it disturb another run"
    launch(again, PS)
    assert set(json.loads(again.run.addresses_file.read_text())) == {"ps-0", "worker-0"}


@pytest.mark.parametrize(
    ("counts", "listening"),
    [
        ({"Chief": 1, "PS": 1, "Worker": 1, "Evaluator": 1}, {PS, WORKER}),
        ({"PS": 1, "Worker": 1}, {PS, WORKER}),
        ({"Chief": 1, "Worker": 1}, {CHIEF, WORKER}),
        ({"Worker": 1}, set()),
    ],
)
def test_who_listens(counts, listening):
    job = parse(job_manifest(**counts))
    plan = planned(**counts)
    ids = [ReplicaId(role, 0) for role in job.replicas]
    assert {id for id in ids if plan.listens(job, id)} == listening


@pytest.mark.parametrize(("written", "seconds"), [(None, 30.0), (0, 0.0), (5, 5.0)])
def test_the_grace_is_the_pods(written, seconds):
    job = job_manifest(Worker=1)
    job = changed(job, "spec.tfReplicaSpecs.Worker.template.spec.terminationGracePeriodSeconds", written)
    assert planned(Worker=1).grace_seconds(parse(job), WORKER) == seconds


def test_where_event_files_may_be(tmp_path):
    outside = tmp_path / "outside"
    value = job_manifest(Worker=1)
    value["spec"]["storage"] = [{"name": "data", "mountPath": "/data", "size": "1Gi"}]
    value["spec"]["tensorBoard"] = {"logDirs": {"a": "/data/logs", "b": str(outside)}}
    run = Run("train")
    run.create(dump(parse(value)), tmp_path)
    plan = Plan(run, read(run))
    assert plan.local_path(read(run).job, "/data/logs") == run.volumes / "data/logs"
    assert plan.event_folders(read(run).job) == [run.volumes, outside]


def test_a_launch_that_this_machine_cannot_do_is_refused():
    plan = planned(container={"name": "tensorflow", "image": "a"}, Worker=1)
    with pytest.raises(LaunchError, match="worker-0: the container has no command"):
        launch(plan, WORKER)


def test_documents_beside_the_job_fill_its_volumes():
    container = {
        **CONTAINER,
        "env": [{"name": "LR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "lr"}}}],
    }
    wanted = Wanted(parse(job_manifest(container=container, Worker=1)), (config_map("settings", {"lr": "1e3"}),))
    run = Run("train")
    run.create(wanted.text(), Path("/src"))
    assert launch(Plan(run, read(run)), WORKER).env["LR"] == "1e3"
