"""The broker as its clients ask it."""

from __future__ import annotations

import ssl
from typing import Any

import httpx2

from shoal.runs import RunError

POLL_SECONDS = 20
ANSWER_SECONDS = POLL_SECONDS + 10.0
RENEW_SECONDS = 5.0
"""How long a poll lasts, and how long an answer to it, or to a renewal, may take."""


class BrokerError(RunError):
    """The broker has refused. `code` is its status."""

    def __init__(self, code: int, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.code = code


class Unreachable(BrokerError):
    """No broker has answered."""


class BrokerClient:
    """Asks the broker at `url` with a tenant's token."""

    def __init__(self, url: str, token: str, trusted: ssl.SSLContext) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._url = url
        self._http = httpx2.Client(base_url=url, headers=headers, verify=trusted, timeout=ANSWER_SECONDS)

    def ask(self, requests: list[dict[str, Any]], priority: int) -> dict[str, Any]:
        """The lease, with its token."""
        return self._lease("POST", "/v1/leases", json={"requests": requests, "priority": priority})

    def wait(self, lease: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The lease when its state is another than here, or after so many seconds. It is renewed."""
        query = {"wait": f"{seconds:.3f}", "state": lease["state"]}
        return self._lease("GET", f"/v1/leases/{lease['id']}", params=query, headers=_token(lease)) | {
            "token": lease["token"]
        }

    def renew(self, lease: dict[str, Any]) -> dict[str, Any]:
        return self._lease("POST", f"/v1/leases/{lease['id']}/renew", headers=_token(lease), timeout=RENEW_SECONDS)

    def release(self, id: str) -> dict[str, Any]:
        return self._lease("DELETE", f"/v1/leases/{id}")

    def leases(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._call("GET", "/v1/leases")
        return found

    def hosts(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._call("GET", "/v1/hosts")
        return found

    def quotas(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._call("GET", "/v1/quotas")
        return found

    def grant(
        self, tenant: str, hash: str, gpus: float, gpu_memory_mib: int | None, max_priority: int
    ) -> dict[str, Any]:
        """Make a tenant with this hash of its token, or change what it may hold, as an admin. Answers its quota."""
        body = {"tokens": [hash], "gpus": gpus, "gpu_memory_mib": gpu_memory_mib, "max_priority": max_priority}
        found: dict[str, Any] = self._call("PUT", f"/v1/tenants/{tenant}", json=body)
        return found

    def withdraw(self, tenant: str) -> None:
        """End a tenant's leases, and have the broker forget it."""
        self._call("DELETE", f"/v1/tenants/{tenant}")

    def _lease(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._call(method, path, **sent)
        return found

    def _call(self, method: str, path: str, **sent: Any) -> Any:
        try:
            response = self._http.request(method, path, **sent)
        except httpx2.HTTPError as fault:
            hint = "is it running, is --broker its URL, and --ca its ca.crt?"
            raise Unreachable(0, f"no answer from the broker at {self._url}: {fault}", hint) from fault
        if response.is_success:
            return response.json() if response.content else None
        try:
            message = response.json()["error"]
        except (ValueError, KeyError, TypeError):
            message = f"{self._url} answers {response.status_code}, and not as a broker does"
        hint = "--token-file names a file with a token that it knows" if response.status_code == 401 else ""
        raise BrokerError(response.status_code, message, hint)


def _token(lease: dict[str, Any]) -> dict[str, str]:
    return {"Shoal-Lease-Token": lease["token"]}
