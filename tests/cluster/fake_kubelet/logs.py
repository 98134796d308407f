"""The one thing the API server asks a kubelet for that jobs need: a container's log, which an annotation holds."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.cluster.fake_kubelet.script import PREFIX

# What the log of one container says; None when there is no such pod.
Annotations = Callable[[str, str], Mapping[str, str] | None]


class LogServer:
    """Answers `kubectl logs` out of annotations: log.CONTAINER, or else log."""

    def __init__(self, certificate: Path, key: Path, annotations: Annotations) -> None:
        """`annotations` finds those of a pod by its namespace and name."""
        self._annotations = annotations
        self._trust = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._trust.load_cert_chain(certificate, key)

    async def serve(self, address: str, port: int) -> None:
        """Serve until cancelled."""
        server = await asyncio.start_server(self._answer, address, port, ssl=self._trust)
        async with server:
            await server.serve_forever()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = (await reader.readuntil(b"\r\n\r\n")).decode()
            status, text = self._reply(request.split()[1])
            body = text.encode()
            head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close"
            writer.write(f"{head}\r\n\r\n".encode() + body)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _reply(self, target: str) -> tuple[str, str]:
        place = urlsplit(target)
        match place.path.strip("/").split("/"):
            case ["containerLogs", namespace, pod, container]:
                annotations = self._annotations(namespace, pod)
                if annotations is None:
                    return "404 Not Found", f"pod {namespace}/{pod} is not here\n"
                text = annotations.get(f"{PREFIX}log.{container}", annotations.get(f"{PREFIX}log", ""))
                lines = text.splitlines(keepends=True)
                if wanted := parse_qs(place.query).get("tailLines"):
                    lines = lines[-int(wanted[0]) :] if int(wanted[0]) else []
                return "200 OK", "".join(lines)
            case _:
                return "501 Not Implemented", "the fake kubelet can do no more than show logs\n"
