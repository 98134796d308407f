"""`/healthz`, `/readyz` and `/metrics`.

They are answered by a thread of their own: an event loop that hangs could not say that it hangs.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6, has_dualstack_ipv6

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

BEAT_SECONDS = 1.0
LONGEST_SILENCE_SECONDS = 30.0
"""How long the event loop may be busy before the operator counts as hung."""


class HealthServer:
    """Serves on `port` (0: any free one) from `start` to `stop`."""

    def __init__(self, port: int, registry: CollectorRegistry, ready: Callable[[], bool]) -> None:
        self._beat = time.monotonic()
        handler = _handler(registry, ready, self._alive)
        self._server = _Server(("::" if _Server.dual else "", port), handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True, name="health")

    async def start(self) -> None:
        """Serve, and beat until cancelled."""
        self._thread.start()
        try:
            while True:
                self._beat = time.monotonic()
                await asyncio.sleep(BEAT_SECONDS)
        finally:
            self._server.shutdown()
            self._server.server_close()

    def _alive(self) -> bool:
        return time.monotonic() - self._beat < LONGEST_SILENCE_SECONDS


class _Server(ThreadingHTTPServer):
    dual = has_dualstack_ipv6()
    address_family = AF_INET6 if dual else ThreadingHTTPServer.address_family
    daemon_threads = True


def _handler(
    registry: CollectorRegistry, ready: Callable[[], bool], alive: Callable[[], bool]
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            match self.path.partition("?")[0]:
                case "/metrics":
                    self._answer(200, generate_latest(registry), CONTENT_TYPE_LATEST)
                case "/healthz":
                    self._say(alive(), "the event loop hangs")
                case "/readyz":
                    self._say(ready(), "the caches are not filled yet, or nobody trusts the webhook yet")
                case _:
                    self._answer(404, b"not found: /healthz, /readyz and /metrics are\n")

        def log_message(self, format: str, *args: object) -> None:
            pass  # probes come every few seconds

        def _say(self, well: bool, otherwise: str) -> None:
            self._answer(200, b"ok\n") if well else self._answer(503, f"{otherwise}\n".encode())

        def _answer(self, code: int, body: bytes, type: str = "text/plain; charset=utf-8") -> None:
            self.send_response(code)
            self.send_header("Content-Type", type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
