from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoal.local.listing import DAMAGED, list_runs
from shoal.local.manifests import ManifestReader, Wanted, edit, jobs_in, read
from shoal.local.runs import DamagedRunError, Run, all_runs, find, replace_file
from shoal.resources import JobStatus, ManifestError, Phase, dump, load, parse
from shoal.runs import INTERRUPTED, ReplicaRecord, RunError, Snapshot
from tests.unit.resources.manifests import changed, manifest

from .replicas import config_map

pytestmark = pytest.mark.usefixtures("home")

SNAPSHOT = Snapshot(
    JobStatus(phase=Phase.RUNNING, message="größer", start_time=1_700_000_000.25),
    [
        ReplicaRecord("chief-0", 1, "Running", 42, "127.0.0.1:1", None, 1.5, None, 10, 0.5),
        ReplicaRecord("ps-0", 0, "Failed"),
    ],
    run_id="abc",
    supervisor=7,
    began_at=1.25,
)


def created(name: str = "train", **spec) -> Run:
    run = Run(name)
    run.create(dump(parse(changed(manifest(**spec), "metadata.name", name))), Path("/src"))
    return run


def test_a_run_that_was_created_is_found(home):
    run = created()
    assert (run.exists, run.alive, run.source) == (True, False, Path("/src"))
    assert run.folder == home / "runs/train"
    assert find("train").folder == run.folder
    assert read(run).job.name == "train"
    assert run.snapshot() == Snapshot(JobStatus())
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "logs",
        "manifest.yaml",
        "progress",
        "source",
        "volumes",
    ]


def test_home_is_below_the_users_own_by_default(monkeypatch, tmp_path):
    monkeypatch.delenv("SHOAL_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Run("a").folder == tmp_path / ".shoal/runs/a"


def test_a_relative_home_is_meant_from_here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOAL_HOME", "here")
    assert Run("a").folder == tmp_path / "here/runs/a"


def test_a_name_is_given_once():
    created()
    with pytest.raises(RunError, match="a run named 'train' exists") as refused:
        created()
    assert "--replace" in refused.value.hint
    assert [run.name for run in all_runs()] == ["train"]


def test_of_many_that_race_for_a_name_one_wins(home):
    def race(_: int) -> bool:
        try:
            created("train")
        except RunError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(race, range(16))) == 1
    assert [path.name for path in (home / "runs").iterdir()] == ["train"], "the losers clean up"


def test_runs_are_listed_latest_first():
    for name in ("b", "a", "c"):
        created(name)
        os.utime(Run(name).manifest)  # a clock tick is coarser than the making of a run
        wait_for_the_clock(Run(name).manifest)
    assert [run.name for run in all_runs()] == ["c", "a", "b"]


def wait_for_the_clock(file: Path) -> None:
    """Until a file that is written now is later than this one."""
    probe = file.with_name("probe")
    while probe.touch() or probe.stat().st_ctime <= file.stat().st_ctime:
        pass


def test_without_a_home_there_are_no_runs():
    assert all_runs() == []
    assert list_runs() == []


@pytest.mark.parametrize(
    ("name", "hint"),
    [("trian", "did you mean train?"), ("TRAIN", "did you mean train?"), ("xyz", "known runs: train, evaluate-7")],
)
def test_an_unknown_name_is_told_the_nearest(name, hint):
    created("evaluate-7")
    wait_for_the_clock(Run("evaluate-7").manifest)
    created("train")
    with pytest.raises(RunError) as refused:
        find(name)
    assert (str(refused.value), refused.value.hint) == (f"there is no run named {name!r}", hint)


def test_without_runs_a_name_is_told_how_to_start_one():
    with pytest.raises(RunError) as refused:
        find("train")
    assert refused.value.hint == "start one: shoal run FILE"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../other", "train/../../other", "/etc", "a/b", "train/", ".hidden", "a\0b"]
)
def test_no_name_leads_out_of_the_folder_of_runs(home, name):
    created()
    (home / "other").mkdir()
    for folder in (home, home / "runs", home / "other"):
        (folder / "manifest.yaml").touch()
    with pytest.raises(RunError, match="there is no run named"):
        find(name)


def test_what_is_removed_is_gone(home):
    run = created()
    (run.volumes / "data").mkdir()
    (run.volumes / "data/x").write_text("x")
    created("other")
    run.remove()
    assert not run.exists
    assert [path.name for path in (home / "runs").iterdir()] == ["other"]
    created()


def test_a_snapshot_is_read_back_as_it_was_written():
    run = created()
    run.write_snapshot(SNAPSHOT)
    assert run.snapshot() == SNAPSHOT
    assert run.run_id == "abc"
    assert json.loads(run.status_file.read_text())["status"]["phase"] == "Running"


@pytest.mark.parametrize(
    "content",
    ["", "{", "null", "[]", "7", "{}", '{"status": {}}', '{"status": {"phase": "Odd"}, "replicas": []}',
     '{"status": {}, "replicas": [{"name": "a"}]}', '{"status": {}, "replicas": [7]}', '{"status": 7, "replicas": []}',
     '{"status": {}, "replicas": [], "unknown": 1}', '{"status": {}, "replicas": null}'],
)  # fmt: skip
def test_a_damaged_status_is_named(content):
    run = created()
    run.status_file.write_text(content)
    with pytest.raises(DamagedRunError) as refused:
        run.snapshot()
    assert str(refused.value) == f"{run.status_file} is damaged"
    assert "shoal rm train" in refused.value.hint
    assert run.run_id == ""


def test_a_status_that_is_not_text_is_damaged():
    run = created()
    run.status_file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DamagedRunError):
        run.snapshot()


def test_a_damaged_run_does_not_hide_the_others():
    created("good").write_snapshot(Snapshot(JobStatus(phase=Phase.SUCCEEDED)))
    created("bad").status_file.write_text("{")
    assert {run.name: phase for run, _, phase in list_runs()} == {"good": "Succeeded", "bad": DAMAGED}


def test_a_run_that_nobody_looks_after_was_interrupted():
    run = created()
    run.write_snapshot(SNAPSHOT)
    assert [phase for _, _, phase in list_runs()] == [INTERRUPTED]
    with run.supervised():
        assert [phase for _, _, phase in list_runs()] == ["Running"]
    run.write_snapshot(Snapshot(JobStatus(phase=Phase.SUSPENDED)))
    assert [phase for _, _, phase in list_runs()] == ["Suspended"]


@pytest.mark.parametrize(("ended_ago", "kept"), [(5, True), (15, False)])
def test_a_run_is_listed_until_its_time_to_live_is_over(ended_ago, kept, monkeypatch):
    run = created(runPolicy={"ttlSecondsAfterFinished": 10})
    now = run.manifest.stat().st_mtime
    run.write_snapshot(Snapshot(JobStatus(phase=Phase.SUCCEEDED, completion_time=now - ended_ago)))
    assert len(list_runs()) == kept
    assert run.exists is kept


def test_a_run_has_one_supervisor():
    run = created()
    with run.supervised():
        assert run.alive
        with pytest.raises(RunError, match="run 'train' is running"), Run("train").supervised():
            pass
        assert run.alive
    assert not run.alive


def test_who_reads_while_another_writes_sees_the_old_or_the_new(tmp_path):
    path = tmp_path / "status.json"
    texts = {letter * 200_000 for letter in "ab"}
    path.write_text("a" * 200_000)
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            for text in texts:
                replace_file(path, text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert {path.read_text() for _ in range(300)} <= texts
    finally:
        over.set()
        writer.join()
    assert list(tmp_path.iterdir()) == [path], "nothing is left beside it"


def test_a_manifest_keeps_the_documents_beside_the_job():
    """Text that looks like something else to one YAML reader or another stays text."""
    odd = {
        "a": "1e3",
        "b": "0E0",
        "c": "yes",
        "d": "012",
        "e": "22:22",
        "f": "2026-01-31",
        "g": "two\nlines\n",
        "h": "",
    }
    wanted = Wanted(parse(manifest()), (config_map("settings", odd),))
    run = Run("train")
    run.create(wanted.text(), Path("/src"))
    assert read(run) == wanted
    edit(run, lambda job: setattr(job.spec.run_policy, "suspend", True))
    assert read(run).job.spec.run_policy.suspend is True
    assert read(run).others == wanted.others


def test_every_job_of_a_file_has_the_other_documents(tmp_path):
    file = tmp_path / "jobs.yaml"
    texts = [Wanted(parse(changed(manifest(), "metadata.name", name))).text() for name in ("one", "two")]
    file.write_text("---\n".join([texts[0], "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", texts[1]]))
    wanted = jobs_in(load(file))
    assert [(each.job.name, [other.name for other in each.others]) for each in wanted] == [
        ("one", ["a"]),
        ("two", ["a"]),
    ]


def test_a_manifest_is_read_again_when_it_was_replaced():
    run = created()
    reader = ManifestReader(run)
    first = reader()
    assert reader() is first
    edit(run, lambda job: setattr(job.spec.run_policy, "suspend", True))
    assert reader().job.spec.run_policy.suspend is True


@pytest.mark.parametrize("text", ["", "{", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"])
def test_a_damaged_manifest_is_named(text):
    run = created()
    run.manifest.write_text(text)
    with pytest.raises(ManifestError) as refused:
        read(run)
    assert str(refused.value).startswith(str(run.manifest))
