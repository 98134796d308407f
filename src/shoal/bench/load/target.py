"""What is asked, where: an address, and the bytes of one request."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Target:
    """A request that is made over and over. `body` is a JSON document for HTTP/1.1 and a message for gRPC, which
    `grpc` tells apart; `secure`: by TLS, which trusts the certificates in `ca`, or the system's."""

    host: str
    port: int
    path: str
    body: bytes
    grpc: bool = False
    secure: bool = False
    ca: Path | None = None

    @property
    def authority(self) -> str:
        """`host:port` as HTTP writes it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def tls(self) -> ssl.SSLContext | None:
        """What its connections are wrapped in."""
        if not self.secure:
            return None
        context = ssl.create_default_context(cafile=str(self.ca) if self.ca else None)
        context.set_alpn_protocols(["h2" if self.grpc else "http/1.1"])
        return context
