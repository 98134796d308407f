from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shoal.local.command import argv_of, environment_of, expand, working_directory
from shoal.local.process import LaunchError
from shoal.local.volumes import Mounts
from shoal.resources import Role

from .replicas import WORKER, config_map, job_of, secret

NO_MOUNTS = Mounts({})
MOUNTS = Mounts({"/data": Path("/runs/job/volumes/data")})
VALUES = {"A": "a", "B_1": "b", "EMPTY": "", "REFERS": "$(A)", "WITH.DOT-DASH": "d"}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)", "a"),
        ("x$(A)y$(B_1)z", "xaybz"),
        ("$(A)$(A)", "aa"),
        ("[$(EMPTY)]", "[]"),
        ("$(WITH.DOT-DASH)", "d"),
        ("$(ABSENT)", "$(ABSENT)"),
        ("$(REFERS)", "$(A)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$a"),
        ("$$$$(A)", "$$(A)"),
        ("$$A and 5$$", "$A and 5$"),
        ("$A ${A} $", "$A ${A} $"),
        ("(A) $ (A)", "(A) $ (A)"),
        ("$(A", "$(A"),
        ("$(A$(A)", "$(A$(A)"),
        ("$(A$(A))", "$(A$(A))"),
        ("$(no$$name)", "$(no$$name)"),
        ("$()", "$()"),
        ("\\$(A)", "\\a"),
        ("$(a)", "$(a)"),
        ("echo $(date)", "echo $(date)"),
    ],
)
def test_references_are_expanded_as_kubernetes_does(text, expanded):
    assert expand(text, VALUES) == expanded


def words(container, env=None, mounts=NO_MOUNTS) -> list[str]:
    return list(argv_of(container, WORKER, env or {}, mounts))


@pytest.mark.parametrize(
    "program", ["python", "python3", "python3.11", "python3.9", "/usr/bin/python3", "/opt/conda/bin/python"]
)
def test_python_is_the_interpreter_that_shoal_runs_in(program):
    assert words({"command": [program, "-u", "train.py"]}) == [sys.executable, "-u", "train.py"]


@pytest.mark.parametrize(
    "program", ["python2", "python2.7", "pythonw", "ipython", "./train.py", "python3.11-config", "sh"]
)
def test_other_programs_stay(program):
    assert words({"command": [program, "a"]}) == [program, "a"]


def test_python_is_replaced_where_it_is_the_program_alone():
    assert words({"command": ["sh", "-c"], "args": ["python train.py", "python"]}) == [
        *("sh", "-c", "python train.py", "python")
    ]


def test_args_follow_the_command():
    assert words({"command": ["a", "b"], "args": ["c", "d e"]}) == ["a", "b", "c", "d e"]
    assert words({"command": ["a"], "args": None}) == ["a"]


def test_words_are_expanded_and_then_translated():
    env = {"DIR": "/data/in", "STEPS": "7"}
    container = {"command": ["train", "--steps=$(STEPS)", "--in=$(DIR)"], "args": ["--out", "/data/out", "$$(DIR)"]}
    assert words(container, env, MOUNTS) == [
        *("train", "--steps=7", "--in=/runs/job/volumes/data/in", "--out", "/runs/job/volumes/data/out", "$(DIR)")
    ]


def test_a_program_may_stand_in_args_alone_as_for_an_image_without_entry_point():
    assert words({"args": ["python", "train.py"]}) == [sys.executable, "train.py"]
    assert words({"args": ["sh", "-c", "true"]}) == ["sh", "-c", "true"]


@pytest.mark.parametrize(
    "container", [{}, {"command": []}, {"command": None}, {"args": ["train.py"]}, {"args": ["--x"]}]
)
def test_the_entry_point_of_an_image_is_not_known_here(container):
    with pytest.raises(LaunchError, match=r"^worker-0: the container has no command") as refused:
        words(container)
    assert 'command: ["python", "train.py"]' in refused.value.hint


def environment(container, others=(), mounts=NO_MOUNTS, given=None) -> dict[str, str]:
    return environment_of(
        job_of(container), WORKER, job_of(container).replicas[Role.WORKER].container, others, mounts, given or {}
    )


def test_the_users_environment_is_below_the_containers_and_shoals_is_above(monkeypatch):
    monkeypatch.setenv("FROM_USER", "user")
    monkeypatch.setenv("FROM_BOTH", "user")
    monkeypatch.setenv("TF_CONFIG", "of another job")
    monkeypatch.setenv("SHOAL_REPLICA", "of another job")
    monkeypatch.setenv("SHOAL_HOME", "/home/shoal")
    monkeypatch.setenv("PATH", "/bin")
    env = environment(
        {"env": [{"name": "FROM_BOTH", "value": "container"}, {"name": "SHOAL_JOB", "value": "container"}]},
        given={"SHOAL_JOB": "shoal"},
    )
    assert (env["FROM_USER"], env["FROM_BOTH"], env["SHOAL_JOB"]) == ("user", "container", "shoal")
    assert env["SHOAL_HOME"] == "/home/shoal"
    assert "TF_CONFIG" not in env
    assert "SHOAL_REPLICA" not in env
    assert env["PATH"].split(os.pathsep) == [str(Path(sys.executable).parent), "/bin"]
    assert env["PYTHONUNBUFFERED"] == "1"


def test_variables_see_those_before_them():
    env = environment(
        {
            "env": [
                {"name": "EARLY", "value": "$(LATE)"},
                {"name": "LATE", "value": "late"},
                {"name": "BOTH", "value": "$(EARLY)+$(LATE)+$$(LATE)"},
                {"name": "NONE"},
            ]
        }
    )
    assert {name: env[name] for name in ("EARLY", "LATE", "BOTH", "NONE")} == {
        "EARLY": "$(LATE)",
        "LATE": "late",
        "BOTH": "$(LATE)+late+$(LATE)",
        "NONE": "",
    }


def test_mount_paths_in_values_are_translated_wherever_the_value_comes_from():
    env = environment(
        {
            "envFrom": [{"configMapRef": {"name": "paths"}, "prefix": "P_"}],
            "env": [
                {"name": "PLAIN", "value": "/data/x"},
                {"name": "REFERRED", "valueFrom": {"configMapKeyRef": {"name": "paths", "key": "IN"}}},
            ],
        },
        [config_map("paths", {"IN": "/data/in"})],
        MOUNTS,
    )
    folder = "/runs/job/volumes/data"
    assert (env["PLAIN"], env["REFERRED"], env["P_IN"]) == (f"{folder}/x", f"{folder}/in", f"{folder}/in")


def test_values_come_from_config_maps_and_secrets_of_the_manifest():
    others = [config_map("settings", {"LR": "0.1", "EPOCHS": "3"}), secret("token", stringData={"KEY": "s3cret"})]
    env = environment(
        {
            "envFrom": [{"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "token"}}],
            "env": [
                {"name": "LR", "value": "0.2"},
                {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "token", "key": "KEY"}}},
                {"name": "MAYBE", "valueFrom": {"secretKeyRef": {"name": "absent", "key": "A", "optional": True}}},
            ],
        },
        others,
    )
    assert (env["LR"], env["EPOCHS"], env["KEY"], env["TOKEN"]) == ("0.2", "3", "s3cret", "s3cret")
    assert "MAYBE" not in env


def test_optional_sources_may_be_missing():
    assert environment({"envFrom": [{"configMapRef": {"name": "absent", "optional": True}}]})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "train-worker-0"),
        ("metadata.namespace", "default"),
        ("metadata.labels['team']", "vision"),
        ("metadata.annotations['example.com/run']", "7"),
        ("metadata.labels['absent']", ""),
        ("status.podIP", "127.0.0.1"),
        ("status.hostIP", "127.0.0.1"),
    ],
)
def test_fields_of_the_pod(path, value):
    env = environment({"env": [{"name": "FIELD", "valueFrom": {"fieldRef": {"fieldPath": path}}}]})
    assert env["FIELD"] == value


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "absent", "key": "k"}}}]}, "worker-0: A comes from key 'k' of the ConfigMap 'absent', which is not in the manifest"),
        ({"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "there", "key": "absent"}}}]}, "worker-0: A comes from key 'absent' of the ConfigMap 'there', which is not in the manifest"),
        ({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "there", "key": "k"}}}]}, "worker-0: A comes from key 'k' of the Secret 'there', which is not in the manifest"),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.priority"}}}]}, "worker-0: A comes from the field 'spec.priority', which only Kubernetes knows"),
        ({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]}, "worker-0: A comes from resourceFieldRef, which only Kubernetes knows"),
        ({"envFrom": [{"configMapRef": {"name": "absent"}}]}, "worker-0: envFrom names the ConfigMap 'absent', which is not in the manifest"),
        ({"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "number", "key": "k"}}}]}, "ConfigMap 'number': data.k is not text"),
    ],
)  # fmt: skip
def test_values_that_nobody_knows_here(container, message):
    with pytest.raises(LaunchError) as refused:
        environment(container, [config_map("there", {"k": "v"}), config_map("number", {"k": 7})])
    assert str(refused.value) == message
    assert refused.value.hint


def test_where_a_replica_starts(tmp_path):
    def begins(container):
        return working_directory(container, MOUNTS, tmp_path)

    assert begins({}) == tmp_path
    assert begins({"workingDir": ""}) == tmp_path
    assert begins({"workingDir": "/data/src"}) == Path("/runs/job/volumes/data/src")
    assert begins({"workingDir": "/workspace"}) == tmp_path, "a folder of the image is not there"
