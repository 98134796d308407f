"""What can be asked of a model server, over gRPC and over REST alike, and what it tells."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Protocol

import numpy as np

from shoal.serving import dtypes
from shoal.serving.client.address import Address
from shoal.serving.client.errors import ClientError, unknown

DEFAULT_SIGNATURE = "serving_default"
_INITIALISER = "__saved_model_init_op"
"""A signature in name only: TensorFlow keeps the model's initialiser there."""

_SHOWN = {"DT_FLOAT": "float32", "DT_DOUBLE": "float64", "DT_HALF": "float16"}


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input or output of a signature. `type` is what people call its type; `dtype` is None where such a tensor
    cannot be sent. A size that may vary is None in `shape`, and `shape` is None where even the rank may."""

    type: str
    dtype: np.dtype | None
    shape: tuple[int | None, ...] | None

    @property
    def shown_shape(self) -> str:
        """`[?, 28, 28]`, or `any`."""
        if self.shape is None:
            return "any"
        return f"[{', '.join('?' if size is None else str(size) for size in self.shape)}]"

    def takes(self, shape: Sequence[int]) -> bool:
        """Whether a tensor of that shape is one of these."""
        return self.shape is None or (
            len(shape) == len(self.shape)
            and all(size in (None, found) for size, found in zip(self.shape, shape, strict=True))
        )


def tensor_spec(data_type: int | str, sizes: Sequence[int] | None) -> TensorSpec:
    """A spec of what metadata tells: a `DataType` by number or name, and sizes, -1 for one that may vary."""
    if isinstance(data_type, str):
        name = data_type
        number = next((number for number, known in dtypes.DATA_TYPES.items() if known == name), 0)
    else:
        number = data_type
        name = dtypes.DATA_TYPES.get(number, f"DT_{number}")
    shape = None if sizes is None else tuple(None if size < 0 else size for size in sizes)
    shown = _SHOWN.get(name, name.removeprefix("DT_").lower())
    return TensorSpec(shown, dtypes.from_number(number), shape)


@dataclass(frozen=True, slots=True)
class Signature:
    """A function of a model. Inputs that are `optional` have a default in the model."""

    name: str
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Metadata:
    """The signatures of the version that answered."""

    version: int
    signatures: Mapping[str, Signature]

    @classmethod
    def of(cls, version: int, signatures: Iterable[Signature]) -> Metadata:
        """Those that can be asked, by name."""
        return cls(
            version,
            {each.name: each for each in sorted(signatures, key=attrgetter("name")) if each.name != _INITIALISER},
        )

    def find(self, name: str) -> Signature:
        """The signature of that name. Raises ClientError where there is none."""
        if name not in self.signatures:
            raise unknown("signature", name, self.signatures)
        return self.signatures[name]


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """Where a version stands. `labels` are known of a server of ours alone, and None otherwise."""

    version: int
    state: str
    error_code: str
    error_message: str
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The model that is asked: its newest version, or the one with that number or label."""

    name: str
    version: int | None = None
    label: str = ""

    def of(self, version: int) -> Asked:
        """That version of the model."""
        return replace(self, version=version, label="")


class Connection(Protocol):
    """A model server that is asked over one of its protocols. Every method raises ClientError."""

    def metadata(self, asked: Asked) -> Metadata:
        """The signatures of a model."""

    def predict(
        self, asked: Asked, signature: Signature, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """The outputs of those names."""

    def versions(self, asked: Asked) -> list[ModelVersion]:
        """The versions of a model that the server knows, the newest first."""

    def models(self) -> dict[str, list[ModelVersion]] | None:
        """Every model by name; None where the server is not ours and has no list."""

    def close(self) -> None: ...


def connect(address: Address, timeout: float, ca: Path | None = None) -> Connection:
    """A connection to that server, which need not be there before it is asked. `timeout`: seconds that each answer may
    take. `ca`: certificates in PEM to trust instead of the system's."""
    if ca is not None and not address.secure:
        raise ClientError(f"--ca, but {address} is asked without TLS", "name it as https:// or grpcs://")
    if ca is not None:
        try:
            ssl.create_default_context(cafile=ca)
        except OSError as fault:
            raise ClientError(f"--ca {ca}: {fault.strerror}", "a file of certificates in PEM") from None
    if address.rest:
        from shoal.serving.client.rest_client import RestConnection

        return RestConnection(address, timeout, ca)
    from shoal.serving.client.grpc_client import GrpcConnection

    return GrpcConnection(address, timeout, ca)


def listed(document: object) -> dict[str, list[ModelVersion]]:
    """The models of a listing of ours, read from its JSON. Raises KeyError or TypeError for any other document."""
    models = document["models"]  # type: ignore[index]
    return {
        model["name"]: [
            ModelVersion(
                each["version"], each["state"], each["error_code"], each["error_message"], tuple(each["labels"])
            )
            for each in model["versions"]
        ]
        for model in models
    }
