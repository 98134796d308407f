"""A model server asked over REST: TensorFlow Serving's `/v1/models`."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import numpy as np

from shoal.serving import json_tensor, listing
from shoal.serving.client import json_values
from shoal.serving.client.address import GRPC_PORT, Address
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
from shoal.serving.client.number_types import plain
from shoal.serving.json_tensor import base64_of, jsonable
from shoal.serving.status import Code

# The API has one status for several codes; these are the commonest.
_CODES = {each.http: each for each in reversed(Code)} | {400: Code.INVALID_ARGUMENT, 500: Code.INTERNAL}


class RestConnection:
    """See `Connection`."""

    def __init__(self, address: Address, timeout: float, ca: Path | None = None) -> None:
        self._address = address
        self._timeout = timeout
        trusted = ssl.create_default_context(cafile=str(ca) if ca else None) if address.secure else True
        self._http = httpx2.Client(timeout=timeout, verify=trusted)

    def metadata(self, asked: Asked) -> Metadata:
        told = self._model(asked, "/metadata")
        try:
            signatures = told["metadata"]["signature_def"]["signature_def"]
            found = [_signature(name, definition) for name, definition in signatures.items()]
            return Metadata.of(int(told["model_spec"]["version"]), found)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise self._no_model_server() from None

    def predict(
        self, asked: Asked, signature: Signature, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]
    ) -> dict[str, np.ndarray]:
        told = self._model(asked, ":predict", predict_body(signature, inputs))
        if not isinstance(told, dict) or "outputs" not in told:
            raise self._no_model_server()
        values = told["outputs"] if len(signature.outputs) > 1 else dict.fromkeys(outputs, told["outputs"])
        if not isinstance(values, dict):
            raise self._no_model_server()
        return {name: self._array(name, values.get(name), signature.outputs[name]) for name in outputs}

    def versions(self, asked: Asked) -> list[ModelVersion]:
        told = self._model(asked, "")
        try:
            versions = [
                ModelVersion(
                    int(each["version"]), each["state"], each["status"]["error_code"], each["status"]["error_message"]
                )
                for each in told["model_version_status"]
            ]
        except (KeyError, TypeError, ValueError):
            raise self._no_model_server() from None
        return sorted(versions, key=lambda each: -each.version)

    def models(self) -> dict[str, list[ModelVersion]] | None:
        answer = self._ask(listing.PATH)
        try:
            return listed(answer.json()) if answer.status_code == 200 else None
        except (KeyError, TypeError, ValueError):
            return None

    def close(self) -> None:
        self._http.close()

    def _model(self, asked: Asked, rest: str, body: bytes | None = None) -> Any:
        answer = self._ask(model_path(asked) + rest, body)
        try:
            document = json_tensor.parse(answer.content)
        except Exception:
            document = {}
        if answer.status_code == 200 and document:
            return document
        code = _CODES.get(answer.status_code, Code.UNKNOWN)
        if "error" not in document:
            raise self._no_model_server(f"HTTP status {answer.status_code}")
        if code is Code.DEADLINE_EXCEEDED:
            raise Unanswered(f"{self._address}: {document['error']}")
        raise Refused(code, f"the server refused: {document['error']} (HTTP status {answer.status_code})")

    def _ask(self, path: str, body: bytes | None = None) -> httpx2.Response:
        url = self._address.target + path
        try:
            if body is None:
                return self._http.get(url)
            return self._http.post(url, content=body, headers={"Content-Type": "application/json"})
        except httpx2.TimeoutException:
            raise Unanswered(
                f"{self._address}: no answer within {self._timeout:g} s", "--timeout gives it longer"
            ) from None
        except httpx2.RemoteProtocolError:
            host = self._address.target.partition("://")[2]
            raise ClientError(
                f"{self._address}: this is no HTTP", f"gRPC is asked as --at {host}, usually at port {GRPC_PORT}"
            ) from None
        except (httpx2.RequestError, httpx2.InvalidURL) as fault:
            raise ClientError(f"{self._address}: no answer: {fault}", self._address.no_answer) from None

    def _array(self, name: str, value: object, spec: TensorSpec) -> np.ndarray:
        array = None if spec.dtype is None else json_values.read(value, spec.dtype)
        if array is None:
            raise ClientError(
                f"{self._address}: output {name} cannot be read as {spec.type}", "gRPC has a form for more types"
            )
        return array

    def _no_model_server(self, found: str = "another answer") -> ClientError:
        return ClientError(
            f"{self._address}: {found}, where a model server was expected", "name what stands before /v1/models"
        )


def model_path(asked: Asked) -> str:
    """The path of a model, or of a version of it."""
    path = f"/v1/models/{quote(asked.name, safe='')}"
    if asked.version is not None:
        return f"{path}/versions/{asked.version}"
    return f"{path}/labels/{quote(asked.label, safe='')}" if asked.label else path


def predict_body(signature: Signature, inputs: Mapping[str, np.ndarray]) -> bytes:
    """What is posted for a prediction."""
    body = {
        "signature_name": signature.name,
        "inputs": {name: jsonable(plain(array), base64_of) for name, array in inputs.items()},
    }
    return json_tensor.dump(body, map(plain, inputs.values()))


def _signature(name: str, definition: Any) -> Signature:
    return Signature(
        name,
        {each: _tensor(info) for each, info in sorted(definition["inputs"].items())},
        {each: _tensor(info) for each, info in sorted(definition["outputs"].items())},
        frozenset(definition.get("defaults", {})),
    )


def _tensor(info: Any) -> TensorSpec:
    shape = info["tensor_shape"]
    return tensor_spec(info["dtype"], None if shape["unknown_rank"] else [int(dim["size"]) for dim in shape["dim"]])
