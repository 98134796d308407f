"""The text of --model_config_file, and what is said of one that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.serving.model_config import ModelConfig, read
from shoal.serving.status import ServingError
from shoal.serving.versions import VersionPolicy


def written(folder: Path, text: str) -> Path:
    file = folder / "models.config"
    file.write_text(text)
    return file


def test_models_with_policies_and_labels(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
        model_config_list {
          config { name: "a" base_path: "/models/a" model_platform: "tensorflow" }
          config {
            name: 'b' base_path: '/models/b'
            model_version_policy { specific { versions: 42 versions: 43 } }
            version_labels { key: 'stable' value: 42 }
            version_labels { key: 'canary' value: 43 }
          }
          config: { name: "c", base_path: "/models/c", model_version_policy: { latest: { num_versions: 2 } } }
          config { name: "d" base_path: "/models/d" model_version_policy { all {} } }
        }
        """,
    )
    assert read(file) == [
        ModelConfig("a", Path("/models/a")),
        ModelConfig("b", Path("/models/b"), VersionPolicy(specific=frozenset({42, 43})), {"stable": 42, "canary": 43}),
        ModelConfig("c", Path("/models/c"), VersionPolicy(latest=2)),
        ModelConfig("d", Path("/models/d"), VersionPolicy(latest=None)),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model_config_list { config { nam: 'x' } }", "Error parsing text-format tensorflow.serving.ModelServerConfig"),
        ("model_config_list { config { base_path: '/x' } }", "config[0]: a model needs a name"),
        ("model_config_list { config { name: 'x' base_path: 'x' } }", "Expected model x to have an absolute path"),
        (
            "model_config_list { config { name: 'x' base_path: '/x' } config { name: 'x' base_path: '/y' } }",
            "Illegal to list model x multiple times",
        ),
        (
            "model_config_list { config { name: 'x' base_path: '/x' model_platform: 'torch' } }",
            "Model x requests unsupported platform torch",
        ),
        (
            "model_config_list { config { name: 'x' base_path: '/x' model_version_policy { specific {} } } }",
            "model x: model_version_policy.specific",
        ),
        ("custom_model_config {}", "only model_config_list is supported"),
    ],
)
def test_what_is_wrong_is_said_with_the_file(tmp_path: Path, text: str, said: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ServingError) as refused:
        read(file)
    assert str(file) in refused.value.message
    assert said in refused.value.message


@pytest.mark.parametrize(("text", "found"), [("", None), ("# half wri", None), ("model_config_list {}", [])])
def test_a_file_that_is_being_written_is_no_wish_to_serve_nothing(
    tmp_path: Path, text: str, found: list[ModelConfig] | None
) -> None:
    assert read(written(tmp_path, text)) == found
