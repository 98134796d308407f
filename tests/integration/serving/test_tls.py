"""gRPC and REST over TLS, and the other ways in: a Unix socket, arguments of gRPC's."""

from __future__ import annotations

import datetime
import ipaddress
import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import grpc
import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from tests.integration.harness import Shoal
from tests.integration.serving.server import ModelServer

CHANNEL = [("grpc.ssl_target_name_override", "127.0.0.1")]


class Authority:
    """Makes certificates for 127.0.0.1, as PEM."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._sign("authority", self._key, authority=True)

    def pair(self, name: str) -> tuple[str, str]:
        """A key and its certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return key.private_bytes(*form).decode(), self._sign(name, key)

    def _sign(self, name: str, key: ec.EllipticCurvePrivateKey, authority: bool = False) -> str:
        def called(name: str) -> x509.Name:
            return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])

        now = datetime.datetime.now(datetime.UTC)
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        return (
            x509.CertificateBuilder(called("authority"), called(name), key.public_key(), x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([address]), critical=False)
            .sign(self._key, hashes.SHA256())
            .public_bytes(serialization.Encoding.PEM)
            .decode()
        )


def write_config(path: Path, **fields: object) -> Path:
    path.write_text("".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items()))
    return path


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def secure(
    made: Path, authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ModelServer, Path]]:
    """A server that wants certificates of its clients, and the path of its Unix socket."""
    folder = tmp_path_factory.mktemp("secure")
    key, certificate = authority.pair("server")
    config = write_config(
        folder / "ssl.config",
        server_key=key,
        server_cert=certificate,
        custom_ca=authority.certificate,
        client_verify=True,
    )
    words = (f"--ssl_config_file={config}", "--rest-tls", f"--grpc_socket_path={folder / 'socket'}")
    arguments = "--grpc_channel_arguments=grpc.max_concurrent_streams=100,grpc.max_metadata_size=65536"
    server = ModelServer(folder / "log", str(made / "half_plus_two"), *words, arguments)
    server.http.close()
    server.http = https(server, authority, *authority.pair("client"))
    yield server.until_ready(), folder / "socket"
    server.close()


def https(server: ModelServer, authority: Authority, key: str = "", certificate: str = "") -> httpx2.Client:
    context = ssl.create_default_context(cadata=authority.certificate)
    if key:
        file = server.log.parent / "client.pem"
        file.write_text(key + certificate)
        context.load_cert_chain(file)
    return httpx2.Client(base_url=f"https://127.0.0.1:{server.rest_port}", verify=context)


def ask(address: str, credentials: grpc.ChannelCredentials | None, metadata: str = "") -> list[float]:
    """What `half_plus_two` makes of 2."""
    channel = grpc.secure_channel(address, credentials, CHANNEL) if credentials else grpc.insecure_channel(address)
    with channel:
        request = predict_pb2.PredictRequest()
        request.model_spec.name = "half_plus_two"
        request.inputs["x"].dtype = 1
        request.inputs["x"].tensor_shape.dim.add().size = 1
        request.inputs["x"].float_val.append(2.0)
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        return list(stub.Predict(request, 30, metadata=[("more", metadata)]).outputs["y"].float_val)


def credentials(authority: Authority, *pair: str) -> grpc.ChannelCredentials:
    key, certificate = (each.encode() for each in pair) if pair else (None, None)
    return grpc.ssl_channel_credentials(authority.certificate.encode(), key, certificate)


def test_who_shows_a_certificate_is_answered(secure: tuple[ModelServer, Path], authority: Authority) -> None:
    server, _ = secure
    assert ask(f"127.0.0.1:{server.grpc_port}", credentials(authority, *authority.pair("client"))) == [3.0]
    assert server.rest("/v1/models/half_plus_two:predict", {"instances": [2.0]}) == (200, {"predictions": [3.0]})
    assert "REST at https://127.0.0.1" in server.log.read_text()


def test_others_are_not(secure: tuple[ModelServer, Path], authority: Authority) -> None:
    server, _ = secure
    stranger = Authority()
    address = f"127.0.0.1:{server.grpc_port}"
    for each in (None, credentials(authority), credentials(authority, *stranger.pair("client"))):
        with pytest.raises(grpc.RpcError) as fault:
            ask(address, each)
        assert fault.value.code() is grpc.StatusCode.UNAVAILABLE
    with https(server, authority) as client, pytest.raises(httpx2.TransportError):
        client.get("/healthz")
    with httpx2.Client() as client, pytest.raises(httpx2.TransportError):
        client.get(f"http://127.0.0.1:{server.rest_port}/healthz")


def test_a_unix_socket_and_arguments_of_grpc(secure: tuple[ModelServer, Path], authority: Authority) -> None:
    """Metadata is held to 16 KB unless an argument says more."""
    _, socket = secure
    assert ask(f"unix:{socket}", credentials(authority, *authority.pair("client")), "x" * 40_000) == [3.0]


@pytest.mark.parametrize(
    ("fields", "words", "said"),
    [
        ({"server_key": "K"}, (), "server_cert is missing"),
        ({"server_key": "K", "server_cert": "C"}, (), "are no pair of PEM key and certificate"),
        ({"client_verify": True, "server_key": "K", "server_cert": "C"}, (), "custom_ca is missing"),
        ({"other": 1}, (), 'has no field named "other"'),
        (None, (), "No such file"),
        ({}, ("--grpc_channel_arguments=grpc.max_metadata_size",), "expected KEY=VALUE"),
    ],
)
def test_what_is_no_certificate(
    shoal: Shoal, made: Path, tmp_path: Path, fields: dict[str, object] | None, words: tuple[str, ...], said: str
) -> None:
    config = tmp_path / "ssl.config"
    if fields is not None:
        write_config(config, **fields)
    given = words or (f"--ssl_config_file={config}",)
    refused = shoal("serve", str(made / "half_plus_two"), *given)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert words or str(config) in refused.stderr
    assert "Traceback" not in refused.stderr
