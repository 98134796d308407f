"""The broker's API on a port, by HTTPS: certificates of its own, and no patience with clients that dawdle."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from shoal import certificates
from shoal.gpu.broker import Broker
from shoal.gpu.broker_api import BrokerApi
from shoal.listening import listen

HEAD_SECONDS = 10.0
"""How long the head of a request may take to come, from the connection's start or the head's first byte on."""

IDLE_SECONDS = 60
"""How long a connection may be idle after an answer."""

MOST_CONNECTIONS = 4096
RENEWAL_SECONDS = 3600.0

FILES = ("ca.crt", "ca.key", "tls.crt", "tls.key")

log = logging.getLogger(__name__)


class _Hurried(H11Protocol):
    """Closes a connection whose next head does not come in time; uvicorn itself would wait for ever. `on_slow` is told
    the address of who began one."""

    _limit: asyncio.TimerHandle | None = None
    _begun = False

    def __init__(self, *args: Any, on_slow: Callable[[str], None], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._on_slow = on_slow

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        if self.conn.their_state is h11.IDLE and self._limit is None:
            self._start()
        self._begun = True
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        self._begun = False
        self._limit = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _give_up(self) -> None:
        if self._begun:
            self._on_slow(self.client[0] if self.client else "")
            self.transport.write(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            self.transport.close()
            self.loop.call_later(HEAD_SECONDS, self.transport.abort)  # of who does not read either
        else:
            self.transport.abort()

    def _stop(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None


class OwnCertificate:
    """Made in `folder` for `hosts`, kept there, and renewed. Clients trust its `ca.crt`."""

    def __init__(self, folder: Path, hosts: Sequence[str]) -> None:
        self._folder, self._hosts = folder, hosts
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._chain = self._kept()
        self.renew()

    @property
    def files(self) -> tuple[Path, Path]:
        """Certificate and key."""
        return self._folder / "tls.crt", self._folder / "tls.key"

    def renew(self) -> bool:
        """Whether there is another certificate than before."""
        chain = certificates.renew(self._chain, self._hosts, datetime.now(UTC), certificates.LIVES)
        if chain is self._chain:
            return False
        self._chain = chain
        for name, content in chain.pack().items():
            fresh = self._folder / f".{name}"
            fresh.unlink(missing_ok=True)
            fresh.touch(mode=0o600)
            fresh.write_bytes(content)
            fresh.replace(self._folder / name)
        return True

    def _kept(self) -> certificates.Chain | None:
        try:
            return certificates.unpack({name: (self._folder / name).read_bytes() for name in FILES})
        except FileNotFoundError:
            return None
        except ValueError as fault:
            log.warning("%s holds no certificates of ours, or damaged ones; they are replaced: %s", self._folder, fault)
            return None


class BrokerServer:
    """Listens at `host:port` (0: any free port) from its making. Without `certificate` it serves plain HTTP.

    `certificate` is a file and its key, or one of its own. Raises ListenError, or OSError where it cannot read.
    """

    def __init__(
        self, broker: Broker, version: str, host: str, port: int, certificate: OwnCertificate | tuple[Path, Path] | None
    ) -> None:
        self._broker, self._own = broker, certificate if isinstance(certificate, OwnCertificate) else None
        files = certificate.files if isinstance(certificate, OwnCertificate) else certificate
        self._files = files
        tls: dict[str, Any] = {} if files is None else {"ssl_certfile": files[0], "ssl_keyfile": files[1]}
        api = BrokerApi(broker, version)
        self._config = uvicorn.Config(
            api.app,
            http=cast("type[asyncio.Protocol]", partial(_Hurried, on_slow=api.slow)),
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=16 << 10,
            **tls,
        )
        self._config.load()
        if self._config.ssl is not None:
            self._config.ssl.minimum_version = ssl.TLSVersion.TLSv1_2
        self._socket = listen(host, port)
        self.port: int = self._socket.getsockname()[1]

    async def run(self) -> None:
        """Serve until SIGINT or SIGTERM."""
        server = uvicorn.Server(self._config)
        beside = [asyncio.create_task(self._broker.run()), asyncio.create_task(self._renew())]
        try:
            await server.serve([self._socket])
        finally:
            for task in beside:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL_SECONDS)
            if self._own is not None and self._own.renew() and self._config.ssl is not None:
                self._config.ssl.load_cert_chain(*self._own.files)
