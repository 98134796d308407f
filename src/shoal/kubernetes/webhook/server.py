"""HTTPS for the webhook.

In threads, like the health server: a manifest of a thousand lines that is being checked must not keep the operator
from renewing its lease. Each connection is given the certificate that is current when it begins, so one that is
rotated meanwhile disturbs nobody.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import structlog
from cryptography import x509

from shoal.kubernetes.webhook.review import PATHS, Decide, ReviewError, answer

LARGEST_BODY = 8 * 1024 * 1024
"""Bytes. The API server takes objects of 3 MiB at most, and a review of an edit holds two of them."""

IDLE_SECONDS = 120.0
"""How long a connection may be idle: longer than the API server keeps one, so that none is closed under a request."""

HANDSHAKE_SECONDS = 10.0
MOST_CONNECTIONS = 256
IN_HAND_SECONDS = 2.0
AT_ONCE = 4
"""How many reviews are worked on at a time. The others wait, for as long as the API server does."""

log = structlog.get_logger(__name__)


class WebhookServer:
    """Listens on `port` (0: any free one) from `start` to `stop`; answers once it was given a certificate.
    `certified` is told when that expires, in seconds since the epoch."""

    def __init__(self, port: int, certified: Callable[[float], None], paths: Mapping[str, Decide] = PATHS) -> None:
        self._certified = certified
        self._server = _Server(("::" if _Server.dual else "", port), paths)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True, name="webhook")

    def start(self) -> None:
        self._thread.start()

    def drain(self) -> None:
        """Answer on, but ask who has a connection to make the next one elsewhere."""
        self._server.draining = True

    def stop(self) -> None:
        """Accept nothing more, and let reviews that are being answered be answered."""
        self._server.shutdown()
        for _ in range(AT_ONCE):
            self._server.turns.acquire(timeout=IN_HAND_SECONDS)
        self._server.server_close()

    def use(self, certificate: bytes, key: bytes) -> None:
        """Serve new connections with this certificate, in PEM. Raises OSError (SSLError) where the two do not fit."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.set_alpn_protocols(["http/1.1"])
        # The ssl module reads files alone; these are in memory, since the operator's file system may be read-only.
        with _in_memory(certificate) as certificate_file, _in_memory(key) as key_file:
            context.load_cert_chain(certificate_file, key_file)
        self._server.context = context
        self._certified(x509.load_pem_x509_certificate(certificate).not_valid_after_utc.timestamp())


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    file = os.memfd_create("pem")
    try:
        os.write(file, content)
        yield f"/proc/self/fd/{file}"
    finally:
        os.close(file)


class _Server(ThreadingHTTPServer):
    dual = socket.has_dualstack_ipv6()
    address_family = socket.AF_INET6 if dual else ThreadingHTTPServer.address_family
    daemon_threads = True
    request_queue_size = 128
    context: ssl.SSLContext | None = None
    draining = False

    def __init__(self, address: tuple[str, int], paths: Mapping[str, Decide]) -> None:
        self.paths = paths
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self.turns = threading.BoundedSemaphore(AT_ONCE)
        super().__init__(address, _Handler)

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Accept no more than can be served: the rest waits in the kernel's queue."""
        if self._free.acquire(timeout=HANDSHAKE_SECONDS):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        try:
            assert isinstance(request, socket.socket)
            self._serve(request, client_address)
        finally:
            self._free.release()

    def _serve(self, request: socket.socket, client_address: object) -> None:
        """The handshake is made here, in the connection's own thread: who is slow at it keeps nobody else waiting."""
        request.settimeout(HANDSHAKE_SECONDS)
        if self.context is None:
            self.shutdown_request(request)
            return
        try:
            secure = self.context.wrap_socket(request, server_side=True)
        except OSError as fault:
            log.debug("no handshake", fault=str(fault))
            self.shutdown_request(request)
            return
        try:
            self.finish_request(secure, client_address)
        except OSError as fault:
            log.debug("the connection has ended", fault=str(fault))
        except Exception:
            log.exception("a fault in the webhook")
        finally:
            self.shutdown_request(secure)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True  # headers and body are written apart

    def do_POST(self) -> None:
        body = self._body()
        if body is None:
            return
        path = self.path.partition("?")[0]
        decide = self.server.paths.get(path)
        if decide is None:
            self._say(404, f"not found: {' and '.join(self.server.paths)} are")
            return
        try:
            with self.server.turns:
                self._answer(200, answer(decide, body), "application/json")
        except ReviewError as fault:
            self._say(400, str(fault))
        except OSError:
            raise  # who asked is gone
        except Exception:
            log.exception("a fault in the webhook")
            self._say(500, "a fault in the webhook; the operator's log has it")

    def do_GET(self) -> None:
        self._say(405, "reviews are sent by POST")

    def log_message(self, format: str, *args: object) -> None:
        pass  # the API server's own audit log tells of each request

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self._refuse(411, "a review has a Content-Length")
        elif len(length) > len(str(LARGEST_BODY)) or int(length) > LARGEST_BODY:
            self._refuse(413, f"a review has {LARGEST_BODY} bytes at most")
        else:
            return self.rfile.read(int(length))
        return None

    def _refuse(self, code: int, message: str) -> None:
        """Answer without having read the body, so that the connection cannot go on."""
        self.close_connection = True
        self._say(code, message)

    def _say(self, code: int, message: str) -> None:
        self._answer(code, f"{message}\n".encode(), "text/plain; charset=utf-8")

    def _answer(self, code: int, body: bytes, type: str) -> None:
        self.close_connection = self.close_connection or self.server.draining
        self.send_response(code)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
