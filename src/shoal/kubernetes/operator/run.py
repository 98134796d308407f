"""Being an operator: connect, wait for the lease, work, and hand over cleanly when told to end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
from dataclasses import dataclass

import structlog

from shoal.kubernetes.gpu_names import GPU_NAMES, GPUNames
from shoal.kubernetes.operator.api import NotLeaderError
from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.controller import Controller
from shoal.kubernetes.operator.election import Election, LeadershipLostError
from shoal.kubernetes.operator.health import HealthServer
from shoal.kubernetes.operator.kubeconfig import configuration
from shoal.kubernetes.operator.lease_name import LEASE
from shoal.kubernetes.operator.metrics import Metrics
from shoal.kubernetes.pooled.admission import PATH as GATE_PATH
from shoal.kubernetes.pooled.admission import gate_for
from shoal.kubernetes.pooled.broker import PoolSettings
from shoal.kubernetes.webhook.review import PATHS
from shoal.kubernetes.webhook.webhook import Webhook, WebhookSettings

LAST_SECONDS = 5.0
"""How long passes that have begun, and events that are being sent, may take once the operator is to end."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says. `namespace` None: all namespaces; `webhook` None: no webhook; `pool` None: GPUs are
    those of the cluster alone."""

    namespace: str | None = None
    kubeconfig: str | None = None
    context: str | None = None
    workers: int = 4
    leader_elect: bool = True
    metrics_port: int = 8080
    gpus: GPUNames = GPU_NAMES
    webhook: WebhookSettings | None = None
    pool: PoolSettings | None = None


async def run_operator(settings: Settings) -> bool:
    """Run until SIGTERM or SIGINT. Answers whether it ended because it was told to; False where the lease was lost.

    Raises lightkube's ConfigError where there is no cluster to connect to.
    """
    told_to_end = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told_to_end.set)
    return await Operator(settings).run(told_to_end)


class Operator:
    """One process: the client of the work, the client of the lease (which must not wait behind the work), health, and
    the webhook, which serves whether the process leads or waits."""

    def __init__(self, settings: Settings) -> None:
        config = configuration([settings.kubeconfig] if settings.kubeconfig else [], settings.context)
        identity = _identity()
        self._settings = settings
        self.metrics = metrics = Metrics()
        self._lease_client = Client(config)
        home = _home(config.namespace)
        self._election = Election(self._lease_client, settings.namespace or home, LEASE, identity)
        self._client = Client(
            config,
            may_write=self._election.held if settings.leader_elect else lambda: True,
            wrote=lambda verb, plural: metrics.writes.labels(verb=verb, resource=plural).inc(),
        )
        self._controller = Controller(
            self._client, metrics, identity, settings.namespace, settings.workers, settings.gpus, settings.pool
        )
        self._webhook: Webhook | None = None
        if settings.webhook:
            gate = {GATE_PATH: gate_for(settings.pool.resources)} if settings.pool else {}
            self._webhook = Webhook(
                settings.webhook, self._lease_client, self._client, home, metrics.webhook_certified, PATHS | gate
            )
        self._leading = False

    async def run(self, told_to_end: asyncio.Event) -> bool:
        """Until `told_to_end` is set or the lease is lost (False)."""
        health = HealthServer(self._settings.metrics_port, self.metrics.registry, self._ready)
        log.info("serving /healthz, /readyz and /metrics", port=health.port)
        serving = [asyncio.create_task(health.start())]
        if self._webhook:
            log.info("serving /validate and /default", webhook_port=self._webhook.port)
            serving.insert(0, asyncio.create_task(self._webhook.run()))
        ending = asyncio.create_task(told_to_end.wait())
        try:
            if not await self._lead(ending):
                return True
            return await self._work(ending)
        finally:
            if self._settings.leader_elect:
                await self._election.release()
            for task in (*serving, ending):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            await self._client.close()
            await self._lease_client.close()

    def _ready(self) -> bool:
        """One that waits for the lease does all that is asked of it, once its webhook can be reached."""
        return (self._controller.ready or not self._leading) and (self._webhook is None or self._webhook.ready)

    async def _lead(self, ending: asyncio.Task[bool]) -> bool:
        """Wait for the lease; False where the operator is to end before."""
        if self._settings.leader_elect:
            acquiring = asyncio.create_task(self._election.acquire())
            await asyncio.wait((acquiring, ending), return_when=asyncio.FIRST_COMPLETED)
            if not acquiring.done():
                acquiring.cancel()
                return False
            acquiring.result()
        self._leading = True
        self.metrics.leader.set(1)
        return True

    async def _work(self, ending: asyncio.Task[bool]) -> bool:
        working = asyncio.create_task(self._controller.run())
        tasks: set[asyncio.Task[object]] = {working, ending}
        if self._settings.leader_elect:
            tasks.add(asyncio.create_task(self._election.hold()))
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        self.metrics.leader.set(0)
        if ending.done() and not working.done():
            log.info("ending")
            await self._controller.stop(LAST_SECONDS)
            await asyncio.wait((working,), timeout=LAST_SECONDS)
        for task in tasks - {ending}:
            task.cancel()
        results = await asyncio.gather(*(tasks - {ending}), return_exceptions=True)
        faults = [fault for fault in results if isinstance(fault, Exception | BaseExceptionGroup)]
        lost = [fault for fault in faults if _is_loss(fault)]
        for fault in faults:
            if fault not in lost:
                raise fault
        for fault in lost:
            log.error("no longer leading", fault=str(fault))
        return not lost


def _is_loss(fault: BaseException) -> bool:
    if isinstance(fault, BaseExceptionGroup):
        return all(_is_loss(each) for each in fault.exceptions)
    return isinstance(fault, LeadershipLostError | NotLeaderError)


def _identity() -> str:
    """The pod's name, under which a restarted container finds its own lease again; else a name that nobody has."""
    return os.environ.get("POD_NAME") or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"


def _home(namespace: str | None) -> str:
    return os.environ.get("POD_NAMESPACE") or namespace or "default"
