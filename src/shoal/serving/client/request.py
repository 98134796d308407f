"""One request in bytes that was tried once, so that it can be sent many times by somebody who knows no models."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from shoal.serving.client import inputs as reading
from shoal.serving.client.address import Address
from shoal.serving.client.connection import DEFAULT_SIGNATURE, Asked, Connection
from shoal.serving.client.errors import ClientError
from shoal.serving.client.inputs import Given
from shoal.serving.client.made_up_input import made_up
from shoal.serving.client.prediction import explained


@dataclass(frozen=True, slots=True)
class Request:
    """`body` is JSON or a PredictRequest, to be sent to `path` of `host`:`port`. The `version` answered it once; `rows`
    is None where its tensors have no rows."""

    host: str
    port: int
    path: str
    body: bytes
    version: int
    signature: str
    rows: int | None


def prepare(
    server: Connection, address: Address, asked: Asked, given: Given, signature: str = "", rows: int = 1
) -> Request:
    """Make a request of what was given, or of `rows` made-up rows where nothing was, and try it. Raises ClientError
    where the server does not answer it as it should."""
    named = given.signature_name()
    if signature and named and signature != named:
        raise ClientError(f"--signature {signature}, but the file names {named}", "leave one of them out")
    metadata = explained(server, asked, lambda: server.metadata(asked))
    chosen = metadata.find(signature or named or DEFAULT_SIGNATURE)
    arrays = reading.read(given, chosen) if given.sources or given.settings else made_up(chosen, rows)
    server.predict(asked, chosen, arrays, list(chosen.outputs))
    place = urlsplit(address.target if address.rest else f"//{address.target}")
    if address.rest:
        from shoal.serving.client.rest_client import model_path, predict_body

        path, body = f"{place.path}{model_path(asked)}:predict", predict_body(chosen, arrays)
    else:
        from shoal.serving.client.grpc_client import PREDICT, predict_request

        path, body = PREDICT, predict_request(asked, chosen, arrays).SerializeToString()
    port = place.port or (443 if address.secure else 80)
    sizes = [len(array) for array in arrays.values() if array.ndim]
    return Request(place.hostname or "", port, path, body, metadata.version, chosen.name, sizes[0] if sizes else None)
