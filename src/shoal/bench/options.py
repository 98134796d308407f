"""What a training benchmark is asked to do.

Names and defaults are those of tf_cnn_benchmarks (https://github.com/tensorflow/benchmarks), whose users have command
lines and tables to compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum, StrEnum
from pathlib import Path


class Model(StrEnum):
    RESNET50 = "resnet50"
    RESNET152 = "resnet152"
    INCEPTION3 = "inception3"
    VGG16 = "vgg16"
    GOOGLENET = "googlenet"
    ALEXNET = "alexnet"
    TRIVIAL = "trivial"


BATCH_SIZES = {
    Model.RESNET50: 64,
    Model.RESNET152: 32,
    Model.INCEPTION3: 32,
    Model.VGG16: 64,
    Model.GOOGLENET: 32,
    Model.ALEXNET: 512,
    Model.TRIVIAL: 32,
}
"""Images a device and step where nobody says."""


class VariableUpdate(StrEnum):
    """Where variables live, and how replicas agree on them."""

    PARAMETER_SERVER = "parameter_server"
    REPLICATED = "replicated"
    COLLECTIVE_ALL_REDUCE = "collective_all_reduce"
    INDEPENDENT = "independent"


class Device(StrEnum):
    CPU = "cpu"
    GPU = "gpu"


class DataFormat(StrEnum):
    NHWC = "NHWC"
    NCHW = "NCHW"


class DataName(StrEnum):
    SYNTHETIC = "synthetic"
    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"


class Optimizer(StrEnum):
    SGD = "sgd"
    MOMENTUM = "momentum"
    RMSPROP = "rmsprop"
    ADAM = "adam"


class OptionError(ValueError):
    """Options that cannot be had together, or not here. The message says which, `hint` what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """One training benchmark. `batch_size` counts images a device and step; 0 is the model's own. `device` is None
    where whatever there is will do. `learning_rate` and `weight_decay` are plain numbers, `data_dir` a folder."""

    model: Model = Model.TRIVIAL
    batch_size: int = 0
    num_batches: int = 100
    num_warmup_batches: int = 10
    display_every: int = 10
    variable_update: VariableUpdate = VariableUpdate.PARAMETER_SERVER
    local_parameter_device: Device | None = None
    device: Device | None = None
    num_gpus: int = 1
    data_format: DataFormat = DataFormat.NHWC
    use_fp16: bool = False
    xla: bool = False
    forward_only: bool = False
    optimizer: Optimizer = Optimizer.SGD
    learning_rate: float = 0.005
    momentum: float = 0.9
    weight_decay: float = 0.00004
    data_dir: Path | None = None
    data_name: DataName = DataName.SYNTHETIC

    def __post_init__(self) -> None:
        if self.data_name is not DataName.SYNTHETIC and self.data_dir is None:
            raise OptionError(
                f"--data-name {self.data_name} needs --data-dir", "or leave it out for images that are made up"
            )
        if self.data_name is DataName.SYNTHETIC and self.data_dir is not None:
            raise OptionError(
                "--data-dir is not read with synthetic data",
                f"add --data-name {DataName.IMAGENET} or {DataName.CIFAR10}",
            )

    @property
    def batch(self) -> int:
        """Images a device and step."""
        return self.batch_size or BATCH_SIZES[self.model]

    @property
    def flags(self) -> list[str]:
        """The command line that says this; what is as by default is left out."""
        return [
            f"--{field.name.replace('_', '-')}{_said(self, field.name)}"
            for field in fields(self)
            if _changed(self, field)
        ]


def _changed(options: TrainOptions, field: object) -> bool:
    return bool(getattr(options, field.name) != field.default)  # type: ignore[attr-defined]


def _said(options: TrainOptions, name: str) -> str:
    value = getattr(options, name)
    if value is True:
        return ""
    return f"={value.value if isinstance(value, Enum) else value}"


def parse_roles(text: str) -> dict[str, int]:
    """`ps=1,worker=2` as numbers by role. Raises OptionError."""
    roles: dict[str, int] = {}
    for part in text.split(","):
        role, _, number = part.strip().partition("=")
        if role not in ("ps", "worker", "chief") or not number.isdigit() or int(number) < 1 or role in roles:
            raise OptionError(f"--job {text}: cannot read {part.strip()!r}", "write it like --job ps=1,worker=2")
        roles[role] = int(number)
    if "worker" not in roles:
        raise OptionError(f"--job {text}: there is no worker to train", "write it like --job ps=1,worker=2")
    if roles.get("chief", 1) > 1:
        raise OptionError(f"--job {text}: there is one chief at most")
    return roles


def check_roles(update: VariableUpdate, roles: Sequence[str]) -> None:
    """Refuse roles of a job that its way to update variables has no use for, or that it lacks. Raises OptionError."""
    match update:
        case VariableUpdate.PARAMETER_SERVER if "ps" not in roles:
            raise OptionError(
                "parameter_server over several processes needs a ps",
                "--job ps=1,worker=2, or another --variable-update",
            )
        case VariableUpdate.PARAMETER_SERVER:
            return
        case VariableUpdate.REPLICATED:
            raise OptionError(
                "replicated copies variables over the GPUs of one process", "over several it is collective_all_reduce"
            )
        case _ if "ps" in roles:
            raise OptionError(f"{update} has no parameter servers", "leave ps out, or use parameter_server")
