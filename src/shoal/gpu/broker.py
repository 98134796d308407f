"""The broker around its pure heart: one event loop that tells the ledger what has happened, has it decide, and wakes
those who wait for what was decided.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily

from shoal.gpu.audit import Audit
from shoal.gpu.tenants import Grant, Role, Tenants, TenantsError, granted_path, new_token, token_hash, write_granted
from shoal.pool.brokerage import asked_before, decide, settling
from shoal.pool.lease import Ask, Lease, LeaseState
from shoal.pool.ledger import Ledger, Refused, Terms
from shoal.pool.quota import UNLIMITED, Amount
from shoal.pool.report import Answer, Report
from shoal.pool.request import WHOLE, Request

LOOK_SECONDS = 1.0
"""How often the tenants' file is looked at, and what is due by time alone."""

MOST_WAITING = 20_000
"""Requests of one tenant in the queue."""

log = logging.getLogger(__name__)


class TooMany(ValueError):
    """A tenant has as many requests in the queue as it may."""


class Broker:
    """`tenants` is read again when it changes; a file that cannot be used leaves things as they are."""

    def __init__(self, tenants: Path, terms: Terms, audit: Audit, clock: Callable[[], float] = time.monotonic) -> None:
        self.tenants = Tenants(tenants)
        self.audit = audit
        self.now = clock
        self.ledger = Ledger(secrets.token_hex(8), clock(), terms, self.tenants.quotas)
        self.registry = CollectorRegistry()
        self.refusals = Counter("shoal_gpu_refused_requests", "Requests refused, by status.", ["code"], registry=None)
        self._path, self._read_at = tenants, _changed_at(tenants)
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._ended = Counter("shoal_gpu_lease_changes", "Leases that came into a state.", ["state"], registry=None)
        for state in LeaseState:  # from the start: of a counter that appears with 1, no increase is seen
            self._ended.labels(state.value)
        for metric in (self.refusals, self._ended, self):
            self.registry.register(metric)

    @property
    def settling(self) -> bool:
        """Whether agents may have leases that they had no time yet to tell of."""
        return settling(self.ledger, self.now())

    async def run(self) -> None:
        """Do what is due by time, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._read_tenants()
            self.decide()

    def ask(
        self, tenant: str, requests: tuple[Request, ...], priority: int, token: str | None = None
    ) -> tuple[Lease, str]:
        """Queue it, and grant it at once if there is room. The token is shown here and never again. Who brings a token
        has the lease that there is for it. Raises Refused for what is never granted, TooMany, and Settling."""
        if token is not None and (asked := asked_before(self.ledger, tenant, token_hash(token), self.now())):
            return asked, token
        waiting = self.ledger.waiting[tenant]
        if waiting >= MOST_WAITING:
            raise TooMany(f"tenant {tenant} has {waiting} requests in the queue already")
        if priority > (most := self.tenants.max_priority.get(tenant, 0)):
            raise Refused(f"tenant {tenant} asks with priority {priority}, and may with {most} at most")
        token = token or new_token()
        ask = Ask(f"lease-{secrets.token_hex(8)}", tenant, requests, priority, token_hash(token))
        lease = self.ledger.ask(ask, self.now())
        self.decide()
        return lease, token

    def renew(self, lease: Lease) -> None:
        self.ledger.renew(lease, self.now())

    def release(self, lease: Lease) -> None:
        self.ledger.end(lease, LeaseState.RELEASED, "", self.now())
        self.decide()

    def drain(self, host: str, drained: bool) -> None:
        self.ledger.drain(host, drained)
        self.decide()

    def grant(self, tenant: str, grant: Grant) -> None:
        """From now on, and after a restart. Raises Refused for one whom people have written down, and OSError where
        nothing can be written."""
        self._not_written(tenant)
        for hash in grant.tokens:
            if (bearer := self.tenants.bearer(hash)) and (bearer.role, bearer.name) != (Role.TENANT, tenant):
                raise Refused(f"a token of {bearer.role.value} {bearer.name} cannot be tenant {tenant}'s, too")
        self._write_granted({**self.tenants.granted, tenant: grant})

    def withdraw(self, tenant: str) -> bool:
        """End what it holds and forget it; False where it was never granted. Raises as `grant`."""
        self._not_written(tenant)
        if tenant not in self.tenants.granted:
            return False
        self._write_granted({name: grant for name, grant in self.tenants.granted.items() if name != tenant})
        for lease in list(self.ledger.leases.values()):
            if lease.tenant == tenant:
                self.ledger.end(lease, LeaseState.RELEASED, "its tenant was deleted", self.now())
        self.ledger.quotas.pop(tenant, None)
        self.decide()
        return True

    async def hear(self, report: Report, patience: float) -> Answer:
        """Answer a report: at once if its host is to change something, else when it is, or after `patience` seconds."""
        until = self.now() + patience
        answer = self.ledger.hear(report, self.now())
        self.decide()
        self._wake(report.host)  # an earlier report has no use for its answer any more
        if answer.grants is None:
            return answer
        held = {each.grant.lease for each in report.held}
        while True:
            if report.host in self.ledger.hosts:
                answer = self.ledger.answer(report)
            news = {grant.lease for grant in answer.grants or ()} != held or answer.drained != report.drained
            if news or not await self.wait(report.host, until):
                return answer
            if not self.ledger.latest(report):
                return Answer(report.number, report.session)

    async def wait(self, key: str, until: float) -> bool:
        """Whether something became of this host, this lease or a lease `of_tenant` in time."""
        event = asyncio.Event()
        self._waiting[key].add(event)
        try:
            await asyncio.wait_for(event.wait(), max(0.0, until - self.now()))
        except TimeoutError:
            return False
        finally:
            self._waiting[key].discard(event)
            if not self._waiting[key]:
                del self._waiting[key]
        return True

    def decide(self) -> None:
        """Let the rules speak, write down what they said, and wake whom it concerns."""
        decided = decide(self.ledger, self.now())
        for change in decided.changes:
            self._ended.labels(change.state.value).inc()
            self.audit.write(
                "lease", lease=change.lease, tenant=change.tenant, state=change.state.value, reason=change.reason
            )
            self._wake(change.lease)
            self._wake(of_tenant(change.tenant))
        for host in decided.hosts:
            self._wake(host)

    def free(self, host: str) -> list[int]:
        """Of each of its GPUs, in thousandths."""
        inventory = self.ledger.inventory
        return [int(n) for n in inventory.free[inventory.row[host]][: len(self.ledger.hosts[host].gpus)]]

    def collect(self) -> list[GaugeMetricFamily]:
        """Metrics that are counted when somebody asks."""
        leases = GaugeMetricFamily("shoal_gpu_leases", "Leases, by state.", labels=["state"])
        for state in (LeaseState.QUEUED, LeaseState.GRANTED, LeaseState.RUNNING):
            leases.add_metric([state.value], sum(each.state is state for each in self.ledger.leases.values()))
        inventory = self.ledger.inventory
        there = GaugeMetricFamily("shoal_gpu_capacity", "GPUs of the pool.", value=inventory.capacity / 1000)
        held = GaugeMetricFamily("shoal_gpu_held", "GPUs that are held.", value=inventory.allocated / 1000)
        hosts = GaugeMetricFamily("shoal_gpu_hosts", "Hosts, by whether they take leases.", labels=["taking"])
        for taking in (True, False):
            hosts.add_metric([str(taking).lower()], sum(h.taking is taking for h in self.ledger.hosts.values()))
        return [leases, there, held, hosts, self._longest_wait(), *self._of_hosts(), *self._of_tenants()]

    def _longest_wait(self) -> GaugeMetricFamily:
        first = [next(iter(alike.values())).asked_at for alike in self.ledger.queue.values()]
        age = self.now() - min(first) if first else 0.0
        return GaugeMetricFamily("shoal_gpu_longest_wait_seconds", "Age of the oldest queued lease.", value=age)

    def _of_hosts(self) -> tuple[GaugeMetricFamily, ...]:
        sick = GaugeMetricFamily("shoal_gpu_unhealthy", "GPUs of a host that are not healthy.", labels=["host"])
        silent = GaugeMetricFamily("shoal_gpu_host_silent", "1 while a host's agent is not heard.", labels=["host"])
        for name, host in self.ledger.hosts.items():
            sick.add_metric([name], sum(not gpu.healthy for gpu in host.gpus))
            silent.add_metric([name], host.silent)
        return sick, silent

    def _of_tenants(self) -> tuple[GaugeMetricFamily, ...]:
        held = GaugeMetricFamily("shoal_gpu_tenant_held", "GPUs that a tenant holds.", labels=["tenant"])
        waiting = GaugeMetricFamily("shoal_gpu_tenant_queued", "Leases of a tenant in the queue.", labels=["tenant"])
        for tenant in sorted(self.tenants.quotas.keys() | self.ledger.used.keys() | self.ledger.waiting.keys()):
            held.add_metric([tenant], self.ledger.used.get(tenant, Amount()).milli / WHOLE)
            waiting.add_metric([tenant], self.ledger.waiting.get(tenant, 0))
        return held, waiting

    def _wake(self, key: str) -> None:
        for event in self._waiting.get(key, ()):
            event.set()

    def _not_written(self, tenant: str) -> None:
        if tenant in self.tenants.written:
            raise Refused(f"tenant {tenant} is written down in {self._path.name}, and changed there")

    def _write_granted(self, tenants: dict[str, Grant]) -> None:
        write_granted(self._path, tenants)
        self._read_tenants()
        if self.tenants.granted != tenants:
            raise Refused(
                f"{self._path.name} cannot be used as it is, so that nothing has changed yet; the log says why"
            )

    def _read_tenants(self) -> None:
        changed_at = _changed_at(self._path)
        if changed_at in (self._read_at, None):
            return
        self._read_at = changed_at
        try:
            self.tenants = Tenants(self._path)
        except (TenantsError, OSError) as fault:
            log.error("%s; what was read before holds on", fault)
            return
        for tenant in self.ledger.quotas.keys() | self.tenants.quotas.keys():
            self.ledger.set_quota(tenant, self.tenants.quotas.get(tenant, UNLIMITED))
        log.info("%s was read again", self._path)


def of_tenant(name: str) -> str:
    """The key by which all leases of a tenant are waited for."""
    return f"tenant {name}"


def _changed_at(path: Path) -> tuple[object, object] | None:
    """Other than before when one of the files has changed; None while the first is away."""
    first, granted = _stamp(path), _stamp(granted_path(path))
    return None if first is None else (first, granted)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino
