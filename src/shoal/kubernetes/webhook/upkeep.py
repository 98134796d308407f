"""Keeps in step the Secret with the certificates, the one that is served, and whom the API server trusts.

Every operator does so, since every one serves. They share the Secret, and write it only as it was read: of two that
renew at once, one is refused and reads what the other has written. The bundle in the webhook configurations is written
by the operator that leads, and by it again whenever somebody has emptied or changed it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from datetime import UTC, datetime

import structlog
from cryptography import x509

from shoal import certificates
from shoal.certificates import Chain, renew, trusts, unpack
from shoal.kubernetes.operator.api import (
    API,
    AlreadyExistsError,
    APIError,
    ConflictError,
    NotFoundError,
    NotLeaderError,
    Object,
)
from shoal.kubernetes.operator.kinds import SECRETS, Kind
from shoal.kubernetes.operator.views import Secret
from shoal.kubernetes.webhook.names import SECRET
from shoal.kubernetes.webhook.server import WebhookServer
from shoal.kubernetes.webhook.views import CONFIGURATIONS, Configuration

log = structlog.get_logger(__name__)


class OwnCertificate:
    """Serves a certificate of an authority of our own, valid for `hosts`.

    `api` writes the Secret in `namespace`; `leading` writes the webhook configurations called `configuration` (none
    where that is empty), and raises NotLeaderError where it must not.
    """

    def __init__(
        self, server: WebhookServer, api: API, leading: API, namespace: str, hosts: Sequence[str], configuration: str
    ) -> None:
        self.trusted = False
        self._server = server
        self._api = api
        self._leading = leading
        self._namespace = namespace
        self._hosts = tuple(hosts)
        self._configuration = configuration
        self._served: x509.Certificate | None = None

    async def check(self) -> None:
        """Bring all three up to date. Raises APIError or UnreachableError where that cannot be done now."""
        chain = await self._chain()
        bundles = [await self._spread(kind, chain.bundle) for kind in CONFIGURATIONS] if self._configuration else []
        certificate = chain.serving.certificate
        known = all(trusts(bundle, certificate) for bundle in bundles if bundle is not None)
        # Another certificate waits until it is trusted, as long as there is one that may be.
        if certificate != self._served and (known or self._served is None):
            self._server.use(chain.serving.certificate_pem, chain.serving.key_pem)
            self._served = certificate
            log.info("serving a certificate", until=chain.serving.end.isoformat(), hosts=list(self._hosts))
        # Once is enough: a bundle that is damaged later is mended, and to be unready would help nobody meanwhile.
        self.trusted = self.trusted or (known and certificate == self._served)

    async def _chain(self) -> Chain:
        while True:
            stored = await self._stored()
            kept = _read(stored)
            wanted = renew(kept, self._hosts, datetime.now(UTC), certificates.LIVES)
            if wanted is kept:
                return wanted
            try:
                await self._write(stored, wanted)
            except (AlreadyExistsError, ConflictError):
                continue  # another operator was first
            log.info("renewed the certificates", secret=f"{self._namespace}/{SECRET}")
            return wanted

    async def _stored(self) -> Secret | None:
        try:
            return await self._api.get(SECRETS, self._namespace, SECRET)
        except NotFoundError:
            return None

    async def _write(self, stored: Secret | None, chain: Chain) -> None:
        data = {name: base64.b64encode(part).decode() for name, part in chain.pack().items()}
        if stored is None:
            about = {"name": SECRET, "namespace": self._namespace}
            secret: Object = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": about, "data": data}
            await self._api.create(SECRETS, secret)
        else:
            version = stored.metadata.resource_version
            await self._api.patch(
                SECRETS, self._namespace, SECRET, {"metadata": {"resourceVersion": version}, "data": data}
            )

    async def _spread(self, kind: Kind[Configuration], bundle: bytes) -> bytes | None:
        """What the configuration has the API server trust; None where there is no configuration, or none of ours to
        write: then nobody here can bring it about, and nobody waits for it."""
        try:
            found = await self._api.get(kind, None, self._configuration)
        except NotFoundError:
            return None
        except APIError as fault:
            log.warning("cannot read who is trusted", kind=kind.name, name=self._configuration, fault=str(fault))
            return None
        wanted = base64.b64encode(bundle).decode()
        if all(webhook.client_config.ca_bundle == wanted for webhook in found.webhooks):
            return bundle
        trusted = [{"name": each.name, "clientConfig": {"caBundle": wanted}} for each in found.webhooks]
        about = {"name": self._configuration}
        try:
            await self._leading.apply(
                kind,
                {"apiVersion": kind.api_version, "kind": kind.name, "metadata": about, "webhooks": trusted},
            )
        except NotLeaderError:
            return min((_decode(each.client_config.ca_bundle) for each in found.webhooks), key=len)
        except APIError as fault:
            log.warning("cannot tell whom to trust", kind=kind.name, name=self._configuration, fault=str(fault))
            return None
        log.info("told the API server whom to trust", kind=kind.name, name=self._configuration)
        return bundle


def _read(stored: Secret | None) -> Chain | None:
    if stored is None or not stored.data:
        return None
    try:
        return unpack({name: base64.b64decode(part, validate=True) for name, part in stored.data.items()})
    except ValueError as fault:
        log.warning("the Secret is none of ours, or damaged; it is replaced", secret=SECRET, fault=str(fault))
        return None


def _decode(bundle: str) -> bytes:
    try:
        return base64.b64decode(bundle, validate=True)
    except binascii.Error:
        return b""
