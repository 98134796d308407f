from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.local.process import LaunchError
from shoal.local.volumes import Mounts, values_of
from shoal.resources import Role
from shoal.training import ReplicaId

from .replicas import config_map, mounted, secret

FOLDERS = {"/data": Path("/runs/a"), "/data/models/": Path("/runs/b"), "/data-2": Path("/runs/c"), "/": Path("/runs/d")}


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("/data", "/runs/a"),
        ("/data/", "/runs/a/"),
        ("/data/x.csv", "/runs/a/x.csv"),
        ("--dir=/data/x", "--dir=/runs/a/x"),
        ("a:/data", "a:/runs/a"),
        ("/data:/data/models", "/runs/a:/runs/b"),
        ("--in /data --out '/data/models/7'", "--in /runs/a --out '/runs/b/7'"),
        ("/data/models", "/runs/b"),
        ("/data/models2", "/runs/a/models2"),
        ("/data-2/x", "/runs/c/x"),
        ("/data2", "/data2"),
        ("/data_2", "/data_2"),
        ("/data.tar", "/data.tar"),
        ("/data-3", "/data-3"),
        ("/my/data", "/my/data"),
        ("./data", "./data"),
        ("data", "data"),
        ("gs://bucket/data", "gs://bucket/data"),
        ("https://host/data/models", "https://host/data/models"),
        ("/", "/"),
        ("", ""),
        ("a /b c", "a /b c"),
    ],
)
def test_mount_paths_are_translated_where_they_stand_for_themselves(text, translated):
    assert Mounts(FOLDERS).translate(text) == translated


def test_without_mounts_nothing_is_translated():
    assert Mounts({}).translate("/data /") == "/data /"


@given(st.text("/da2-. =:mol", max_size=40))
def test_translating_twice_is_translating_once(text):
    """A mount path may lie above the folder that all runs are in: `/data` where SHOAL_HOME is `/data/shoal`."""
    mounts = Mounts({"/d": Path("/d/shoal/runs/a/volumes/x"), "/data": Path("/d/shoal/runs/a/volumes/y")})
    once = mounts.translate(text)
    assert mounts.translate(once) == once


def test_a_claim_is_one_folder_for_all_replicas(tmp_path):
    claim = {"persistentVolumeClaim": {"claimName": "shared"}}, {"mountPath": "/data"}
    folders = {mounted(tmp_path, claim, id=ReplicaId(Role.WORKER, n)).folders["/data"] for n in range(3)}
    assert folders == {tmp_path / "shared"}
    assert (tmp_path / "shared").is_dir()


def test_two_volumes_of_one_claim_are_one_folder(tmp_path):
    claim = {"persistentVolumeClaim": {"claimName": "shared"}}
    mounts = mounted(tmp_path, (claim, {"mountPath": "/in"}), (claim, {"mountPath": "/out", "subPath": "results/new"}))
    assert mounts.folders == {"/in": tmp_path / "shared", "/out": tmp_path / "shared/results/new"}
    assert (tmp_path / "shared/results/new").is_dir()


@pytest.mark.parametrize("volume", [{"emptyDir": {}}, {}, {"ephemeral": {}}])
def test_scratch_space_is_a_replicas_own(tmp_path, volume):
    first, second = (
        mounted(tmp_path, (volume, {"mountPath": "/tmp"}), id=ReplicaId(Role.WORKER, n)).folders["/tmp"] for n in (0, 1)
    )
    assert first != second
    assert first.is_dir()
    assert second.is_dir()
    assert tmp_path in first.parents


@pytest.mark.parametrize(
    "volume",
    [{"nfs": {"server": "a", "path": "/b"}}, {"cephfs": {"monitors": ["a"]}}, {"csi": {"driver": "example.com/disk"}}],
)
def test_network_volumes_are_shared_folders_of_the_run(tmp_path, volume):
    mounts = mounted(tmp_path, (volume, {"mountPath": "/data"}))
    assert mounts.folders["/data"] == tmp_path / "v0"


def test_storage_of_the_job_is_seen_by_every_container(tmp_path):
    storage = [
        {"name": "data", "mountPath": "/data", "size": "1Gi"},
        {"name": "models", "mountPath": "/models", "existingClaim": "team-models"},
    ]
    mounts = mounted(tmp_path, storage=storage)
    assert mounts.folders == {"/data": tmp_path / "data", "/models": tmp_path / "team-models"}


def test_a_host_path_is_that_path(tmp_path):
    there, made = tmp_path / "there", tmp_path / "made"
    there.mkdir()
    mounts = mounted(
        tmp_path / "runs",
        ({"hostPath": {"path": str(there)}}, {"mountPath": "/there"}),
        ({"hostPath": {"path": str(made), "type": "DirectoryOrCreate"}}, {"mountPath": "/made"}),
    )
    assert mounts.folders == {"/there": there, "/made": made}
    assert made.is_dir()


def test_a_config_map_is_a_folder_of_files(tmp_path):
    others = [config_map("settings", {"a.cfg": "lr = 0.1\n", "b.cfg": "é"}), config_map("other", {"c": "d"})]
    all_keys = {"configMap": {"name": "settings"}}, {"mountPath": "/etc/train"}
    folder = mounted(tmp_path, all_keys, others=others).folders["/etc/train"]
    assert {file.name: file.read_text() for file in folder.iterdir()} == {"a.cfg": "lr = 0.1\n", "b.cfg": "é"}


def test_items_choose_keys_and_name_files(tmp_path):
    items = [{"key": "a", "path": "deep/er/a.cfg"}]
    volume = {"configMap": {"name": "settings", "items": items}}, {"mountPath": "/etc/train"}
    folder = mounted(tmp_path, volume, others=[config_map("settings", {"a": "1", "b": "2"})]).folders["/etc/train"]
    assert [file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()] == ["deep/er/a.cfg"]


def test_one_file_of_a_config_map_is_mounted_by_its_sub_path(tmp_path):
    volume = {"configMap": {"name": "settings"}}, {"mountPath": "/etc/train.cfg", "subPath": "a.cfg"}
    mounts = mounted(tmp_path, volume, others=[config_map("settings", {"a.cfg": "lr = 0.1\n"})])
    assert Path(mounts.translate("--config=/etc/train.cfg").removeprefix("--config=")).read_text() == "lr = 0.1\n"
    again = mounted(tmp_path, volume, others=[config_map("settings", {"a.cfg": "lr = 0.2\n"})])
    assert again.folders["/etc/train.cfg"].read_text() == "lr = 0.2\n"


def test_a_secret_is_for_its_owner_alone(tmp_path):
    others = [secret("token", data={"key": "czNj\ncmV0\n"}, stringData={"user": "me"})]
    folder = mounted(tmp_path, ({"secret": {"secretName": "token"}}, {"mountPath": "/secret"}), others=others).folders[
        "/secret"
    ]
    assert {file.name: file.read_text() for file in folder.iterdir()} == {"key": "s3cret", "user": "me"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_what_is_optional_may_be_missing(tmp_path):
    volume = {"configMap": {"name": "absent", "optional": True}}, {"mountPath": "/etc/train"}
    assert list(mounted(tmp_path, volume).folders["/etc/train"].iterdir()) == []


def test_values_of_a_document_that_is_not_there():
    others = [config_map("a", None), secret("b", data=None)]
    assert values_of("ConfigMap", "b", others) is None
    assert values_of("ConfigMap", "a", others) == {}
    assert values_of("Secret", "b", others) == {}


@pytest.mark.parametrize(
    ("volume", "others", "message", "hint"),
    [
        ({"configMap": {"name": "a"}}, [], "worker-0: the volume 'v0' is the configMap 'a', which is not in the manifest", "add it to the file"),
        ({"secret": {"secretName": "a"}}, [config_map("a", {})], "worker-0: the volume 'v0' is the secret 'a', which is not in the manifest", "add it to the file"),
        ({"hostPath": {"path": "/no/such/folder"}}, [], "worker-0: the volume 'v0' is /no/such/folder of this machine, and there is no such path", ""),
        ({"downwardAPI": {}}, [], "worker-0: the volume 'v0' is of kind downwardAPI, which only Kubernetes can fill", ""),
        ({"projected": {}}, [], "worker-0: the volume 'v0' is of kind projected, which only Kubernetes can fill", ""),
        ({"configMap": {"name": "a"}}, [config_map("a", {"lr": 0.1})], "ConfigMap 'a': data.lr is not text", 'put it in quotes: "0.1"'),
        ({"configMap": {"name": "a"}}, [config_map("a", ["lr"])], "ConfigMap 'a': data is not a mapping", "write each value as KEY: VALUE"),
        ({"secret": {"secretName": "a"}}, [secret("a", data={"key": "s3cret!"})], "Secret 'a': data.key is not base64", "write plain text under stringData"),
        ({"secret": {"secretName": "a"}}, [secret("a", stringData={"key": 7})], "Secret 'a': stringData.key is not text", 'put it in quotes: "7"'),
        ({"persistentVolumeClaim": {"claimName": "../../x"}}, [], "worker-0: claimName of the volume 'v0': '../../x' leads out of it", "without .."),
        ({"configMap": {"name": "a", "items": [{"key": "b", "path": "../b"}]}}, [config_map("a", {"b": ""})], "worker-0: items of the volume 'v0': '../b' leads out of it", "without .."),
        ({"hostPath": {"path": "/dev/null/x", "type": "DirectoryOrCreate"}}, [], "the folder /dev/null/x cannot be made: Not a directory", ""),
    ],
)  # fmt: skip
def test_volumes_that_this_machine_does_not_have(tmp_path, volume, others, message, hint):
    with pytest.raises(LaunchError) as refused:
        mounted(tmp_path, (volume, {"mountPath": "/data"}), others=others)
    assert str(refused.value) == message
    assert hint in refused.value.hint


@pytest.mark.parametrize("part", ["..", "a/../../b", "/etc"])
def test_a_sub_path_stays_within_its_volume(tmp_path, part):
    with pytest.raises(LaunchError, match="leads out of it"):
        mounted(tmp_path, ({"emptyDir": {}}, {"mountPath": "/data", "subPath": part}))
