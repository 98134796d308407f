"""How requests travel: by aiohttp, beneath httpx2.

httpx2's own transport looks at every connection of its pool twice for each request, and parses in Python: with 64
requests on their way that was two thirds of the operator's time while it created a large job, and more than the server
needed for etcd (benchmarks/operator_scale). httpx2 stays above it for what lightkube builds on it: tokens, their
renewal, proxies.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import aiohttp
import httpx2
import yarl

IDLE_SECONDS = 60.0
"""How long a connection is kept for the next request; API servers close theirs after 90 s or more."""

_OWN_HEADERS = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""What aiohttp would add: httpx2 says these."""


class Transport(httpx2.AsyncBaseTransport):
    """`verify` is the TLS context, or whether certificates are checked at all; `connections` how many at most."""

    def __init__(self, verify: ssl.SSLContext | bool, connections: int) -> None:
        self._verify = verify
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        limits = request.extensions.get("timeout", {})
        with _faults():
            response = await self._open().request(
                request.method,
                yarl.URL(str(request.url), encoded=True),
                headers=[(name.decode(), value.decode()) for name, value in request.headers.raw],
                data=await request.aread() or None,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(
                    connect=limits.get("pool"), sock_connect=limits.get("connect"), sock_read=limits.get("read")
                ),
            )
        return httpx2.Response(response.status, headers=list(response.raw_headers), stream=_Body(response))

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        """The session, which must be made while the event loop runs."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=self._connections, ssl=self._verify, keepalive_timeout=IDLE_SECONDS)
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=_OWN_HEADERS,
            )
        return self._session


class _Body(httpx2.AsyncByteStream):
    """A connection whose answer was read to its end serves the next request; else it is closed."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _faults():
            async for chunk in self._response.content.iter_any():
                yield chunk

    async def aclose(self) -> None:
        self._response.close()


@contextmanager
def _faults() -> Iterator[None]:
    """aiohttp's errors as httpx2's."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as fault:
        raise httpx2.ConnectTimeout(_told(fault)) from fault
    except aiohttp.ServerTimeoutError as fault:
        raise httpx2.ReadTimeout(_told(fault)) from fault
    except aiohttp.ClientConnectorError as fault:
        raise httpx2.ConnectError(_told(fault)) from fault
    except (aiohttp.ClientError, ConnectionError) as fault:
        raise httpx2.ReadError(_told(fault)) from fault


def _told(fault: BaseException) -> str:
    return str(fault) or type(fault).__name__
