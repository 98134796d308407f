"""The pool's broker as the operator asks it, by the HTTP API that docs/gpu-pool.md describes.

Each lease has a token that follows from the operator's token at the broker and from what asks. So an operator that
starts, or that has lost an answer, knows by itself which lease is whose: it asks again, and takes nothing twice.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from shoal.pool.lease import LIVE

WAIT_SECONDS = 8.0
"""How long the broker may leave a renewal unanswered while there are no news. A lease lives for 30 s without one."""

ANSWER_SECONDS = 10.0
MOST_RENEWED = 5000
"""In one request."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Which broker to ask, with which tenant's token, and for which resources of pods. `trusted` is the broker's
    authority as PEM; None: those of the system."""

    url: str
    token: str
    resources: tuple[str, ...]
    trusted: str | None = None

    @classmethod
    def read(cls, url: str, token_file: Path, ca: Path | None, resources: tuple[str, ...]) -> PoolSettings:
        """With what stands in files. Raises SettingsError."""
        if not re.fullmatch(r"https?://[^/\s]+/?", url):
            raise SettingsError(f"{url!r} is no URL of a broker, such as https://gpus.example.com:8470")
        try:
            token = token_file.read_text(encoding="ascii").strip()
            trusted = ca.read_text(encoding="ascii") if ca else None
            ssl.create_default_context(cadata=trusted)
        except (OSError, ValueError) as fault:  # SSLError is an OSError
            told = fault.strerror if isinstance(fault, OSError) and fault.filename else str(fault)
            raise SettingsError(f"{getattr(fault, 'filename', None) or ca or token_file}: {told}") from fault
        if not re.fullmatch(r"[!-~]+", token):
            raise SettingsError(f"{token_file}: no token, which is one word")
        return cls(url.rstrip("/"), token, resources, trusted)


class SettingsError(ValueError):
    """What was given cannot be used; the message says which of it."""


class BrokerAway(Exception):
    """No broker has answered, or one that has just started cannot say yet."""


class BrokerRefused(Exception):
    """The broker says no. `code` is its status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Share(msgspec.Struct, frozen=True):
    host: str
    gpu: int
    percent: float
    address: str = ""


class Lease(msgspec.Struct, frozen=True):
    """As the broker tells of it."""

    id: str
    state: str
    reason: str = ""
    notice: str = ""
    place: int | None = None
    shares: tuple[Share, ...] = ()

    @property
    def live(self) -> bool:
        return self.state in LIVE

    @property
    def running(self) -> bool:
        return self.state == "running"

    @property
    def served(self) -> bool:
        """Whether all its servers can be reached: those of an agent that has just started again cannot yet."""
        return self.running and all(share.address for share in self.shares)


class Renewed(msgspec.Struct, frozen=True):
    """Of leases that were to be renewed, by the hashes of their tokens."""

    leases: dict[str, Lease]
    unknown: tuple[str, ...]
    settling: bool


class Broker:
    """Asks the broker of `settings`, each time with a tenant's token. Every request raises BrokerAway and
    BrokerRefused."""

    def __init__(self, settings: PoolSettings) -> None:
        self.url = settings.url
        self._secret = settings.token.encode()
        self._http = httpx2.AsyncClient(
            base_url=settings.url,
            verify=ssl.create_default_context(cadata=settings.trusted),
            timeout=httpx2.Timeout(ANSWER_SECONDS, connect=5.0),
            follow_redirects=False,
        )

    async def close(self) -> None:
        await self._http.aclose()

    def lease_token(self, key: str) -> str:
        """Of the lease that `key` asks for, whoever's token is shown: 256 bits that nobody without the operator's can
        find."""
        made = hmac.digest(self._secret, f"lease of {key}".encode(), "sha256")
        return base64.urlsafe_b64encode(made).decode().rstrip("=")

    async def ask(self, bearer: str, token: str, requests: list[dict[str, Any]], priority: int) -> Lease:
        """All as one gang, with this token of the lease. Asked again, what there is."""
        body = {"requests": requests, "token": token, "priority": priority}
        return msgspec.json.decode(await self._send(bearer, "POST", "/v1/leases", body), type=Lease)

    async def renew(self, bearer: str, known: Mapping[str, str | None], wait: float) -> Renewed:
        """By tokens' hashes, each with the state that is known: when one is another, or after so many seconds."""
        params = {"wait": f"{wait:.3f}"}
        return msgspec.json.decode(
            await self._send(bearer, "POST", "/v1/renewals", {"leases": dict(known)}, params, wait), type=Renewed
        )

    async def release(self, bearer: str, id: str) -> None:
        await self._send(bearer, "DELETE", f"/v1/leases/{id}")

    async def _send(
        self,
        bearer: str,
        method: str,
        path: str,
        body: object = None,
        params: dict[str, str] | None = None,
        wait: float = 0.0,
    ) -> bytes:
        timeout = httpx2.Timeout(ANSWER_SECONDS + wait, connect=5.0)
        headers = {"Authorization": f"Bearer {bearer}"}
        try:
            response = await self._http.request(
                method, path, json=body, params=params, headers=headers, timeout=timeout
            )
        except httpx2.HTTPError as fault:
            raise BrokerAway(f"no answer from the broker at {self.url}: {fault or type(fault).__name__}") from fault
        if response.is_success:
            return response.content
        told = _told(response)
        if response.status_code in (502, 503, 504):
            raise BrokerAway(told)
        raise BrokerRefused(response.status_code, told)


def hashed(token: str) -> str:
    """What a broker calls a token by."""
    return hashlib.sha256(token.encode()).hexdigest()


def _told(response: httpx2.Response) -> str:
    try:
        return str(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        return f"{response.url} answers {response.status_code}, and not as a broker does"
