"""TLS: the certificate that the server shows, and whether clients must show one, from TensorFlow Serving's SSLConfig.

    server_key: "-----BEGIN PRIVATE KEY-----\\n…"
    server_cert: "-----BEGIN CERTIFICATE-----\\n…"
    custom_ca: "-----BEGIN CERTIFICATE-----\\n…"
    client_verify: true

The fields hold PEM text, not paths. `tensorflow-serving-api` lacks this one message, so it is described here
(tensorflow_serving/config/ssl_config.proto).
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from shoal.serving.status import ServingError, invalid

TEXT, SWITCH = descriptor_pb2.FieldDescriptorProto.TYPE_STRING, descriptor_pb2.FieldDescriptorProto.TYPE_BOOL
FIELDS = {"server_key": TEXT, "server_cert": TEXT, "custom_ca": TEXT, "client_verify": SWITCH}


@dataclass(frozen=True, slots=True)
class Tls:
    """What SSLConfig says, as PEM; `authority` is whose certificates clients must show, empty where they need none."""

    key: bytes
    certificate: bytes
    authority: bytes

    def context(self) -> ssl.SSLContext:
        """The same for Python's sockets, made anew in each process. Raises ServingError where a field holds no PEM."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            with NamedTemporaryFile() as file:  # the ssl module reads them from a file only; nobody else may read this
                file.write(self.key + b"\n" + self.certificate + b"\n")
                file.flush()
                context.load_cert_chain(file.name)
        except ssl.SSLError as fault:
            raise invalid(f"server_key and server_cert are no pair of PEM key and certificate: {fault}") from None
        if self.authority:
            context.verify_mode = ssl.CERT_REQUIRED
            try:
                context.load_verify_locations(cadata=self.authority.decode())
            except (ssl.SSLError, ValueError) as fault:
                raise invalid(f"custom_ca is no PEM certificate: {fault}") from None
        return context


def read(path: Path) -> Tls:
    """Read an SSLConfig in text form. Raises ServingError, which names the file and the field, and OSError."""
    config = _message()
    try:
        text_format.Parse(path.read_text(encoding="utf-8"), config)
    except (text_format.ParseError, UnicodeDecodeError) as fault:
        raise invalid(f"{path}: Error parsing text-format tensorflow.serving.SSLConfig: {fault}") from None
    for field in ("server_key", "server_cert", *(["custom_ca"] if config.client_verify else [])):
        if not getattr(config, field):
            raise invalid(f"{path}: {field} is missing; it holds the PEM text itself, not a path")
    authority = config.custom_ca if config.client_verify else ""
    tls = Tls(config.server_key.encode(), config.server_cert.encode(), authority.encode())
    try:
        tls.context()
    except ServingError as fault:
        raise invalid(f"{path}: {fault.message}") from None
    return tls


def _message() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="ssl_config", package="tensorflow.serving", syntax="proto3")
    message = file.message_type.add(name="SSLConfig")
    for number, (name, kind) in enumerate(FIELDS.items(), 1):
        message.field.add(name=name, number=number, type=kind, label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.serving.SSLConfig"))()
