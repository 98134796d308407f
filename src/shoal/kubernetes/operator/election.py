"""Leader election: of several operators only the one that holds the Lease acts.

The holder trusts its lease for a shorter time than others must wait before they take it, and the difference is as
long as a write may take. So a holder that is cut off has stopped writing before another begins. Nobody compares
clocks of two machines: a lease has run out for an observer when it has not changed for its duration by the observer's
own clock.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import structlog

from shoal.kubernetes.operator.api import (
    API,
    AlreadyExistsError,
    APIError,
    ConflictError,
    NotFoundError,
    Object,
    UnreachableError,
)
from shoal.kubernetes.operator.client import WRITE_SECONDS
from shoal.kubernetes.operator.kinds import LEASES
from shoal.kubernetes.operator.views import Lease
from shoal.resources.base import format_time

LEASE_SECONDS = 20
TRUSTED_SECONDS = LEASE_SECONDS - WRITE_SECONDS
RETRY_SECONDS = 2.0

log = structlog.get_logger(__name__)


class LeadershipLostError(Exception):
    """The lease could not be renewed in time, or somebody else has it."""


class Election:
    """One candidate, known to the others as `identity`."""

    def __init__(
        self, api: API, namespace: str, name: str, identity: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._clock = clock
        self._trusted_until = float("-inf")
        self._seen: tuple[str, float] = ("", float("-inf"))
        self._lease: Lease | None = None

    def held(self) -> bool:
        """Whether a write that begins now is still ours to make."""
        return self._clock() < self._trusted_until

    async def acquire(self) -> None:
        """Wait until the lease is ours."""
        log.info("waiting for the lease", lease=f"{self._namespace}/{self._name}", identity=self._identity)
        while True:
            try:
                if await self._try():
                    return
            except (APIError, UnreachableError) as fault:
                log.warning("cannot take the lease", fault=str(fault))
            await asyncio.sleep(RETRY_SECONDS)

    async def hold(self) -> None:
        """Renew the lease until that fails. Raises LeadershipLostError."""
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            try:
                if not await self._try():
                    self._trusted_until = float("-inf")
                    raise LeadershipLostError("another operator has taken the lease")
            except (APIError, UnreachableError) as fault:
                log.warning("cannot renew the lease", fault=str(fault))
                if not self.held():
                    raise LeadershipLostError(f"the lease could not be renewed: {fault}") from fault

    async def release(self) -> None:
        """Give the lease back, so that the next operator need not wait for its end."""
        if not self.held() or self._lease is None:
            return
        self._trusted_until = float("-inf")
        try:
            await self._write(self._lease, {"holderIdentity": "", "leaseDurationSeconds": 1})
        except (APIError, UnreachableError) as fault:
            log.warning("cannot give the lease back", fault=str(fault))

    async def _try(self) -> bool:
        """Take or renew the lease; False where another holds it."""
        began = self._clock()
        try:
            lease = await self._api.get(LEASES, self._namespace, self._name)
        except NotFoundError:
            made = await self._create()
            if made is None:
                return False
            lease = made
        else:
            holder = lease.spec.holder_identity
            if holder and holder != self._identity and not self._run_out(lease):
                return False
            try:
                lease = await self._write(lease, self._claim(lease))
            except ConflictError:
                return False
        self._lease = lease
        self._trusted_until = began + TRUSTED_SECONDS
        return True

    def _run_out(self, lease: Lease) -> bool:
        """Whether the lease has not been renewed for its duration, for all that this candidate has seen."""
        version, now = lease.metadata.resource_version, self._clock()
        if version != self._seen[0]:
            self._seen = (version, now)
        return now - self._seen[1] >= (lease.spec.lease_duration_seconds or LEASE_SECONDS)

    def _claim(self, lease: Lease) -> Object:
        now = format_time(time.time())
        claim: Object = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": now,
        }
        if lease.spec.holder_identity != self._identity:
            claim |= {"acquireTime": now, "leaseTransitions": (lease.spec.lease_transitions or 0) + 1}
        return claim

    async def _create(self) -> Lease | None:
        now = format_time(time.time())
        made: Object = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.name,
            "metadata": {"namespace": self._namespace, "name": self._name},
            "spec": {
                "holderIdentity": self._identity,
                "leaseDurationSeconds": LEASE_SECONDS,
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": 0,
            },
        }
        try:
            return await self._api.create(LEASES, made)
        except AlreadyExistsError:
            return None

    async def _write(self, lease: Lease, spec: Object) -> Lease:
        about = lease.metadata
        body = {"metadata": {"resourceVersion": about.resource_version}, "spec": spec}
        return await self._api.patch(LEASES, about.namespace, about.name, body)
