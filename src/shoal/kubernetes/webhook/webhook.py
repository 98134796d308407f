"""The webhook beside the operator's work: a server in threads, and a task that looks after its certificate."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog

from shoal.kubernetes.operator.api import API, APIError, UnreachableError
from shoal.kubernetes.webhook.given_certificate import GivenCertificate
from shoal.kubernetes.webhook.review import PATHS, Decide
from shoal.kubernetes.webhook.server import WebhookServer
from shoal.kubernetes.webhook.upkeep import OwnCertificate

CHECK_SECONDS = 5.0
"""How often Secret and configurations are looked at: so long a damage lasts."""

DRAIN_SECONDS = 3.0
"""How long it serves on once it is to end: until nobody is sent to it any more."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """What the command line says. `folder`: a certificate that is given; otherwise one is made for `hosts`, and told
    to the webhook configurations called `configuration`."""

    port: int
    hosts: tuple[str, ...] = ()
    configuration: str = ""
    folder: str | None = None


class Webhook:
    """`api` may always write, `leading` while the operator leads; the certificates' Secret lies in `namespace`.
    `certified` is told when the certificate expires that is served from now on, in seconds since the epoch."""

    def __init__(
        self,
        settings: WebhookSettings,
        api: API,
        leading: API,
        namespace: str,
        certified: Callable[[float], None],
        paths: Mapping[str, Decide] = PATHS,
    ) -> None:
        self._server = WebhookServer(settings.port, certified, paths)
        self.port = self._server.port
        self._certificate: OwnCertificate | GivenCertificate = (
            GivenCertificate(self._server, Path(settings.folder))
            if settings.folder
            else OwnCertificate(self._server, api, leading, namespace, settings.hosts, settings.configuration)
        )

    @property
    def ready(self) -> bool:
        """Whether it was reachable by the API server once, as far as certificates go.

        This waits for the operator that leads, which waits for nobody's readiness, and for no answer of a webhook.
        """
        return self._certificate.trusted

    async def run(self) -> None:
        """Serve until cancelled, and for `DRAIN_SECONDS` more."""
        self._server.start()
        try:
            while True:
                try:
                    await self._certificate.check()
                except (APIError, UnreachableError) as fault:
                    log.warning("cannot look after the webhook's certificate", fault=str(fault))
                await asyncio.sleep(CHECK_SECONDS * random.uniform(0.5, 1.0))
        finally:
            self._server.drain()
            await asyncio.sleep(DRAIN_SECONDS)
            await asyncio.to_thread(self._server.stop)
