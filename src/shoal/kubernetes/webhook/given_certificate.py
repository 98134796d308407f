"""A certificate that somebody else makes and renews, such as cert-manager: read from a folder."""

from __future__ import annotations

from pathlib import Path

import structlog

from shoal.kubernetes.webhook.server import WebhookServer

log = structlog.get_logger(__name__)


class GivenCertificate:
    """Serves `tls.crt` with `tls.key` of `folder`, and what replaces them."""

    def __init__(self, server: WebhookServer, folder: Path) -> None:
        self.trusted = False
        self._server = server
        self._folder = folder
        self._served: tuple[bytes, bytes] | None = None

    async def check(self) -> None:
        """Serve what is in the folder now. What cannot be used is told, and what was served before is served on."""
        try:
            found = (self._folder / "tls.crt").read_bytes(), (self._folder / "tls.key").read_bytes()
            if found == self._served:
                return
            self._server.use(*found)
        except OSError as fault:
            log.warning("cannot use the certificate", folder=str(self._folder), fault=str(fault))
            return
        self._served, self.trusted = found, True
        log.info("serving a certificate", folder=str(self._folder))
