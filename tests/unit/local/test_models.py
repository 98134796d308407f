from __future__ import annotations

import shlex

from shoal.local.models import ExportedModel, exported_models


def exported(volumes, *paths: str) -> None:
    for path in paths:
        (volumes / path).mkdir(parents=True)
        (volumes / path / "saved_model.pb").touch()


def test_each_model_is_told_with_its_newest_version(tmp_path):
    exported(
        tmp_path, "a/models/1", "a/models/2", "a/models/10", "b/7", "c/deep/er/3", "c/latest", "c/too/deep/er/by/1"
    )
    (tmp_path / "b/9").mkdir()
    assert exported_models(tmp_path) == [
        ExportedModel(tmp_path / "a/models", 10),
        ExportedModel(tmp_path / "b", 7),
        ExportedModel(tmp_path / "c/deep/er", 3),
    ]


def test_without_models_or_volumes_there_are_none(tmp_path):
    assert exported_models(tmp_path) == []
    assert exported_models(tmp_path / "absent") == []


def test_the_serving_command_survives_a_shell(tmp_path):
    words = shlex.split(ExportedModel(tmp_path / "two words", 1).serving_command("job"))
    assert words == ["shoal", "serve", f"{tmp_path}/two words", "--name", "job"]
