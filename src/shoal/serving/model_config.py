"""Which models are served: the text of `--model_config_file`, a `ModelServerConfig` of TensorFlow Serving's.

    model_config_list {
      config { name: "mnist" base_path: "/models/mnist" model_platform: "tensorflow" }
    }

The protocol buffer is TensorFlow Serving's own, from `tensorflow-serving-api`, and so is its text format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.serving.status import ServingError, invalid
from shoal.serving.versions import VersionPolicy

if TYPE_CHECKING:
    from tensorflow_serving.config.model_server_config_pb2 import ModelConfig as ModelConfigProto
    from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

PLATFORM = "tensorflow"


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """One model: where its versions lie, which of them to serve, and the labels by which they may be asked for."""

    name: str
    base_path: Path
    policy: VersionPolicy = field(default_factory=VersionPolicy)
    labels: Mapping[str, int] = field(default_factory=dict)
    collects: bool = False
    """Whether it asks for its requests to be collected (`logging_config`), which is not done."""


def read(path: Path) -> list[ModelConfig] | None:
    """The models of a config file; None of one that has no list of them, as while it is being written: TensorFlow
    Serving takes no action for it. Raises ServingError, whose message names the file, and OSError."""
    from google.protobuf import text_format
    from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

    message = ModelServerConfig()
    try:
        text_format.Parse(path.read_text(encoding="utf-8"), message)
    except (text_format.ParseError, UnicodeDecodeError) as fault:
        raise invalid(f"{path}: Error parsing text-format tensorflow.serving.ModelServerConfig: {fault}") from None
    try:
        return from_message(message) if message.WhichOneof("config") else None
    except ServingError as fault:
        raise ServingError(fault.code, f"{path}: {fault.message}") from None


def from_message(message: ModelServerConfig) -> list[ModelConfig]:
    """The models of a `ModelServerConfig`. Raises ServingError, which names the model and the field."""
    if message.WhichOneof("config") == "custom_model_config":
        raise invalid("custom_model_config: only model_config_list is supported")
    names: set[str] = set()
    models = []
    for index, config in enumerate(message.model_config_list.config):
        if not config.name:
            raise invalid(f"model_config_list.config[{index}]: a model needs a name")
        if config.name in names:
            raise invalid(f"Illegal to list model {config.name} multiple times in config list")
        names.add(config.name)
        models.append(_model(config))
    return models


def _model(config: ModelConfigProto) -> ModelConfig:
    if config.model_type and config.model_platform:
        raise invalid(
            "Illegal setting both ModelServerConfig::model_type (deprecated) and ModelServerConfig::model_platform, "
            f"model name is {config.name}"
        )
    if config.model_platform not in ("", PLATFORM) or config.model_type not in (0, 1):
        platform = config.model_platform or f"model_type {config.model_type}"
        raise invalid(f"Model {config.name} requests unsupported platform {platform}; {PLATFORM} is the one there is")
    if not Path(config.base_path).is_absolute():
        raise invalid(
            f"Expected model {config.name} to have an absolute path or URI; got base_path()={config.base_path}"
        )
    collects = config.HasField("logging_config")
    return ModelConfig(config.name, Path(config.base_path), _policy(config), dict(config.version_labels), collects)


def _policy(config: ModelConfigProto) -> VersionPolicy:
    policy = config.model_version_policy
    match policy.WhichOneof("policy_choice"):
        case "all":
            return VersionPolicy(latest=None)
        case "specific":
            if not policy.specific.versions:
                raise invalid(f"model {config.name}: model_version_policy.specific: name the versions to serve")
            return VersionPolicy(specific=frozenset(policy.specific.versions))
        case _:
            return VersionPolicy(latest=max(policy.latest.num_versions, 1))
