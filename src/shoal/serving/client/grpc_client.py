"""A model server asked over gRPC: TensorFlow Serving's PredictionService and ModelService."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from google.protobuf.message import DecodeError

from shoal.serving import listing, tensor_proto
from shoal.serving.client.address import Address
from shoal.serving.client.connection import (
    Asked,
    Metadata,
    ModelVersion,
    Signature,
    TensorSpec,
    listed,
    tensor_spec,
)
from shoal.serving.client.errors import ClientError, Refused, Unanswered
from shoal.serving.client.protocol import CLASSES
from shoal.serving.status import Code, ServingError
from shoal.serving.versions import State

PREDICTION, MODELS = "/tensorflow.serving.PredictionService", "/tensorflow.serving.ModelService"
PREDICT = f"{PREDICTION}/Predict"
SIGNATURE_DEF = "signature_def"

Message = Any


class GrpcConnection:
    """See `Connection`."""

    def __init__(self, address: Address, timeout: float, ca: Path | None = None) -> None:
        self._address = address
        self._timeout = timeout
        any_size = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        if address.secure:
            trusted = grpc.ssl_channel_credentials(ca.read_bytes() if ca else None)
            self._channel = grpc.secure_channel(address.target, trusted, any_size)
        else:
            self._channel = grpc.insecure_channel(address.target, any_size)

    def metadata(self, asked: Asked) -> Metadata:
        request = CLASSES["GetModelMetadataRequest"](model_spec=_spec(asked), metadata_field=[SIGNATURE_DEF])
        answer = self._call(f"{PREDICTION}/GetModelMetadata", request, "GetModelMetadataResponse")
        try:
            signatures = CLASSES["SignatureDefMap"].FromString(answer.metadata[SIGNATURE_DEF].value)
        except DecodeError:
            raise ClientError(f"{self._address}: the signatures in the answer cannot be read") from None
        found = (_signature(name, definition) for name, definition in signatures.signature_def.items())
        return Metadata.of(answer.model_spec.version.value, found)

    def predict(
        self, asked: Asked, signature: Signature, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]
    ) -> dict[str, np.ndarray]:
        answer = self._call(PREDICT, predict_request(asked, signature, inputs, outputs), "PredictResponse")
        try:
            return {name: tensor_proto.to_array(answer.outputs[name], name) for name in outputs}
        except ServingError as fault:
            raise ClientError(f"{self._address}: the answer cannot be read: {fault.message}") from None

    def versions(self, asked: Asked) -> list[ModelVersion]:
        request = CLASSES["GetModelStatusRequest"](model_spec=_spec(asked))
        answer = self._call(f"{MODELS}/GetModelStatus", request, "GetModelStatusResponse")
        versions = [
            ModelVersion(
                each.version,
                State(each.state).name if each.state in list(State) else "UNKNOWN",
                Code(each.status.error_code).name,
                each.status.error_message,
            )
            for each in answer.model_version_status
        ]
        return sorted(versions, key=lambda each: -each.version)

    def models(self) -> dict[str, list[ModelVersion]] | None:
        call: Any = self._channel.unary_unary(f"/{listing.SERVICE}/{listing.METHOD}")
        try:
            return listed(json.loads(call(b"", timeout=self._timeout)))
        except grpc.RpcError as fault:
            if fault.code() is grpc.StatusCode.UNIMPLEMENTED:
                return None
            raise self._explain(fault) from None

    def close(self) -> None:
        self._channel.close()

    def _call(self, method: str, request: Message, answer: str) -> Message:
        call = self._channel.unary_unary(method, type(request).SerializeToString, CLASSES[answer].FromString)
        try:
            return call(request, timeout=self._timeout)
        except grpc.RpcError as fault:
            raise self._explain(fault) from None

    def _explain(self, fault: grpc.RpcError) -> ClientError:
        code, details = Code(fault.code().value[0]), fault.details() or ""
        match code:
            case Code.DEADLINE_EXCEEDED:
                return Unanswered(f"{self._address}: no answer within {self._timeout:g} s", "--timeout gives it longer")
            case Code.UNAVAILABLE if "http1" in details:
                return ClientError(
                    f"{self._address}: this is HTTP, and was asked over gRPC",
                    f"ask over REST: --at http://{self._address}",
                )
            case Code.UNAVAILABLE:
                said = details.rpartition("last error: ")[2].removeprefix("UNKNOWN: ")
                return ClientError(f"{self._address}: no answer: {said}", self._address.no_answer)
            case Code.UNIMPLEMENTED:
                return ClientError(f"{self._address}: this is no model server: {details}", "name one with --at")
            case _:
                return Refused(code, f"the server refused: {details} ({code.name})")


def predict_request(
    asked: Asked, signature: Signature, inputs: Mapping[str, np.ndarray], outputs: Sequence[str] = ()
) -> Message:
    """What is sent for a prediction; all outputs come back where none is named."""
    request = CLASSES["PredictRequest"](model_spec=_spec(asked, signature.name), output_filter=outputs)
    for name, array in inputs.items():
        tensor_proto.write(array, request.inputs[name], as_content=True)
    return request


def _spec(asked: Asked, signature: str = "") -> Message:
    spec = CLASSES["ModelSpec"](name=asked.name, signature_name=signature, version_label=asked.label)
    if asked.version is not None:
        spec.version.value = asked.version
    return spec


def _signature(name: str, definition: Message) -> Signature:
    return Signature(
        name,
        {each: _tensor(info) for each, info in sorted(definition.inputs.items())},
        {each: _tensor(info) for each, info in sorted(definition.outputs.items())},
        frozenset(definition.defaults),
    )


def _tensor(info: Message) -> TensorSpec:
    shape = info.tensor_shape
    return tensor_spec(info.dtype, None if shape.unknown_rank else [dim.size for dim in shape.dim])
