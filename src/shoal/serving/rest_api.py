"""The REST entrance: TensorFlow Serving's `/v1/models/…`, metrics, and `/healthz` and `/readyz` besides.

The event loop only moves bytes. JSON and inference run on threads, so a large body holds nobody else up.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import threading
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from urllib.parse import unquote

import numpy as np
import orjson
import uvicorn
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2, model_pb2

from shoal.listening import listen
from shoal.serving import deadline, examples, json_tensor, listing, metrics
from shoal.serving.catalog import Version
from shoal.serving.inference import SIGNATURE_DEF, Inference
from shoal.serving.model import DEFAULT_SIGNATURE, Model
from shoal.serving.settings import RestSettings
from shoal.serving.status import Code, ServingError, invalid

_WHO = r"/v1/models{name}(?:(?:/versions/(?P<version>\d+))|(?:/labels/(?P<label>[^/:]+)))?"
_POST = re.compile(_WHO.replace("{name}", r"/(?P<name>[^/:]+)") + r":(?P<api>classify|regress|predict)", re.I)
_GET = re.compile(_WHO.replace("{name}", r"(?:/(?P<name>[^/:]+))?") + r"(?P<metadata>/metadata)?", re.I)

CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}

GZIP_FROM_BYTES = 1024
"""Smaller answers are not worth compressing."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a path asks for."""

    spec: model_pb2.ModelSpec
    api: str


def parse_path(method: str, path: str) -> Asked:
    """Read the path of a request, still percent-encoded. Raises ServingError for one that asks for nothing we know."""
    match = {"POST": _POST, "GET": _GET}[method].fullmatch(path) if method in ("POST", "GET") else None
    if match is None:
        raise invalid(f"Malformed request: {method} {path}")
    parts = match.groupdict()
    if not parts["name"]:
        raise invalid("Missing model name in request.")
    spec = model_pb2.ModelSpec(name=unquote(parts["name"]))
    if parts["version"]:
        if int(parts["version"]) >= 2**63:
            raise invalid(f"Failed to convert version: {parts['version']} to numeric.")
        spec.version.value = int(parts["version"])
    if parts["label"]:
        spec.version_label = unquote(parts["label"])
    return Asked(spec, parts["api"].lower() if method == "POST" else "metadata" if parts["metadata"] else "status")


class RestApi:
    """Serves `inference`; `ready` says whether requests can come."""

    def __init__(self, inference: Inference, settings: RestSettings, ready: Callable[[], bool]) -> None:
        self._inference = inference
        self._settings = settings
        self._ready = ready
        self._pool = ThreadPoolExecutor(settings.threads, thread_name_prefix="rest")
        self._apis: Mapping[str, Callable[[model_pb2.ModelSpec, bytes], bytes]] = {
            "predict": self._predict,
            "classify": self._classify,
            "regress": self._regress,
            "status": self._status,
            "metadata": self._metadata,
        }
        self.app = Starlette(
            routes=[
                Route("/healthz", self._healthz),
                Route("/readyz", self._readyz),
                Route(metrics.PATH, self._metrics),
                Route(listing.PATH, self._models),
                Route("/{path:path}", _EveryMethod(self._answer)),
            ],
            middleware=[Middleware(GZipMiddleware, minimum_size=GZIP_FROM_BYTES, compresslevel=1)],
        )

    async def _answer(self, request: Request) -> Response:
        headers = CORS if self._settings.cors else {}
        status, body = await self._result(request)
        return Response(body, status, headers, media_type="application/json")

    async def _result(self, request: Request) -> tuple[int, bytes]:
        path = request.scope.get("raw_path", request.url.path.encode()).partition(b"?")[0].decode("latin-1")
        if not path.lower().startswith("/v1/"):
            return 404, json_tensor.write_error(f"Not found: {path}; models are under /v1/models")
        try:
            if request.method == "OPTIONS":
                if not re.search("https?://", request.headers.get("origin", "")):
                    raise ServingError(Code.FAILED_PRECONDITION, "Origin header is missing in CORS preflight")
                return 200, b""
            asked = parse_path(request.method, path)
            body = await self._body(request) if request.method == "POST" else b""
            return 200, await asyncio.get_running_loop().run_in_executor(self._pool, self._do, asked, body)
        except _TooLarge:
            return 413, json_tensor.write_error(
                f"the body is larger than {self._settings.body_bytes} bytes (--rest-body-bytes)"
            )
        except ServingError as error:
            return error.code.http, json_tensor.write_error(error.message)
        except ClientDisconnect:
            return Code.CANCELLED.http, b""

    def _do(self, asked: Asked, body: bytes) -> bytes:
        with deadline.within(self._settings.timeout):
            return self._apis[asked.api](asked.spec, body)

    async def _body(self, request: Request) -> bytes:
        limit = self._settings.body_bytes
        if int(request.headers.get("content-length", 0)) > limit:
            raise _TooLarge
        unzip = zlib.decompressobj(wbits=31) if request.headers.get("content-encoding", "").lower() == "gzip" else None
        body = bytearray()
        async for chunk in request.stream():
            try:
                body += unzip.decompress(chunk, limit + 1 - len(body)) if unzip else chunk
            except zlib.error as fault:
                raise invalid(f"the body is no gzip: {fault}") from None
            if len(body) > limit:
                raise _TooLarge
        return bytes(body)

    def _predict(self, spec: model_pb2.ModelSpec, body: bytes) -> bytes:
        def answer() -> bytes:
            with ExitStack() as held:
                answering: list[tuple[Version, Model]] = []

                def inputs_of(signature: str) -> Mapping[str, np.dtype]:
                    """Of the version that then answers: the next one may take other types."""
                    answering.append(held.enter_context(self._inference.model(spec)))
                    return _inputs(answering[0][1], signature or DEFAULT_SIGNATURE)

                asked = json_tensor.read_predict(body, inputs_of)
                outputs = self._inference.run(*answering[0], asked.signature, asked.inputs)
            return json_tensor.write_predict(outputs, asked.by_row)

        return self._inference.counted(spec.name, "predict", "REST", body.__len__, answer)

    def _classify(self, spec: model_pb2.ModelSpec, body: bytes) -> bytes:
        def answer() -> bytes:
            asked = json_tensor.read_examples(body)
            spec.signature_name = asked.signature
            _, result = self._inference.classify(spec, examples.input_of(asked))
            return json_tensor.write_classifications(
                [[(each.label, each.score) for each in row.classes] for row in result.classifications]
            )

        return self._inference.counted(spec.name, "classify", "REST", body.__len__, answer)

    def _regress(self, spec: model_pb2.ModelSpec, body: bytes) -> bytes:
        def answer() -> bytes:
            asked = json_tensor.read_examples(body)
            spec.signature_name = asked.signature
            _, result = self._inference.regress(spec, examples.input_of(asked))
            return json_tensor.write_regressions([each.value for each in result.regressions])

        return self._inference.counted(spec.name, "regress", "REST", body.__len__, answer)

    def _status(self, spec: model_pb2.ModelSpec, body: bytes) -> bytes:
        response = self._inference.status(get_model_status_pb2.GetModelStatusRequest(model_spec=spec))
        return _indented(MessageToDict(response, always_print_fields_with_no_presence=True))

    def _metadata(self, spec: model_pb2.ModelSpec, body: bytes) -> bytes:
        request = get_model_metadata_pb2.GetModelMetadataRequest(model_spec=spec, metadata_field=[SIGNATURE_DEF])
        response = self._inference.metadata(request)
        signatures = get_model_metadata_pb2.SignatureDefMap()
        response.metadata[SIGNATURE_DEF].Unpack(signatures)
        return _indented(
            {
                "model_spec": _fields(response.model_spec),
                "metadata": {SIGNATURE_DEF: _fields(signatures)},
            }
        )

    async def _healthz(self, request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _readyz(self, request: Request) -> Response:
        return PlainTextResponse("ok\n") if self._ready() else PlainTextResponse("no model is loaded yet\n", 503)

    async def _models(self, request: Request) -> Response:
        return Response(listing.listing(self._inference.catalog), media_type="application/json")

    async def _metrics(self, request: Request) -> Response:
        return Response(self._inference.metrics.page(), media_type=metrics.CONTENT_TYPE)


class RestServer:
    """Listens at `host:port` from its making, and answers from `start` to `stop`, over TLS where there is a `context`.
    Raises ListenError where the port is taken, unless by processes that all listen with `shared_port`."""

    def __init__(
        self,
        api: RestApi,
        host: str,
        port: int,
        grace: float,
        context: ssl.SSLContext | None = None,
        shared_port: bool = False,
    ) -> None:
        self._socket = listen(host, port, shared_port)
        config = uvicorn.Config(
            api.app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=max(1, round(grace)),
        )
        config.load()
        config.ssl = context  # its own arguments are paths, and our key is in no file
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=[[self._socket]], name="rest", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Take no more requests, and let those that are in here end within the grace."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


class _TooLarge(Exception):
    pass


class _EveryMethod:
    """An endpoint for any method: Starlette answers those of a plain function's that are not GET by itself."""

    def __init__(self, answer: Callable[[Request], object]) -> None:
        self._answer = answer

    async def __call__(self, scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        response = await self._answer(Request(scope, receive))  # type: ignore[misc]
        await response(scope, receive, send)


def _inputs(model: Model, signature: str) -> Mapping[str, np.dtype]:
    if signature not in model.signatures:
        raise invalid(f'Serving signature name: "{signature}" not found in signature def')
    inputs = model.signatures[signature].inputs
    for name, tensor in inputs.items():
        if tensor.dtype is None:
            raise ServingError(Code.UNIMPLEMENTED, f"input {name} has a type that JSON has no form for")
    return {name: tensor.dtype for name, tensor in inputs.items() if tensor.dtype is not None}


def _fields(message: Message) -> dict[str, object]:
    return MessageToDict(message, always_print_fields_with_no_presence=True, preserving_proto_field_name=True)


def _indented(document: object) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)
