"""The measurements. Each has a fresh cluster, so that none finds what another left behind."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from benchmarks.operator_scale.contenders import Bare, Operator, Running
from benchmarks.operator_scale.jobs import NAMESPACE, TFJOBS, finished, made_of, tfjob
from benchmarks.operator_scale.processes import Spent, cluster_pids, peak_megabytes
from benchmarks.operator_scale.watching import PODS, Pods, Seen, TooSlowError, until, watched
from tests.cluster.api_level import ApiCluster
from tests.cluster.binaries import binaries

from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.concurrently import concurrently
from shoal.kubernetes.operator.kubeconfig import configuration
from shoal.kubernetes.operator.views import Job

SUBMITTED_AT_ONCE = 16
KILLED_AT_ONCE = 32
RECOVERY_SECONDS = 30.0
"""How long successors of killed pods are waited for."""


@dataclass
class Measured:
    """One operator, one load. Seconds from a job's creation to its last pod, for each job that got so far."""

    created: list[float]
    asked: int
    recovered: list[float] = field(default_factory=list)
    writes: int = -1
    events: int = -1
    spent: Spent = field(default_factory=lambda: Spent({}))
    wall: float = 0.0
    peak: float = 0.0

    @property
    def whole(self) -> bool:
        return len(self.created) == self.asked


async def bare(replicas: int, at_once: int, of: Operator) -> float:
    """Seconds in which a client creates what the operator would of one job, and does nothing else."""
    with _cluster() as cluster:
        of.install(cluster)
        async with _connected(cluster) as (client, pods):
            manifest = tfjob("job", replicas)
            job = await client.create(TFJOBS, manifest)
            first, rest = made_of(manifest, job.metadata.uid)
            sender = Bare(cluster, at_once)
            began, _ = await asyncio.to_thread(sender.send, first)
            before_rest = time.time()
            again, _ = await asyncio.to_thread(sender.send, rest)
            # What lies between the two is the start of a process, which belongs to no client's work.
            began += again - before_rest
            await until(lambda: len(pods.seen) == replicas, 60, "pods of the bare client")
            return max(each.created for each in pods.seen.values()) - began


async def operated(
    operator: Operator, jobs: int, replicas: int, *, limit: float, finished_jobs: int = 0, kill: int = 0
) -> Measured:
    """What `operator` does with `jobs` jobs at once, beside `finished_jobs`, within `limit` seconds; then `kill` pods
    of the last one are deleted at once."""
    with _cluster() as cluster:
        operator.install(cluster)
        if finished_jobs:
            sender = Bare(cluster, SUBMITTED_AT_ONCE)
            for requests in finished(finished_jobs):
                await asyncio.to_thread(sender.send, requests)
        running = operator.start(cluster)
        try:
            async with _connected(cluster) as (client, pods):
                return await _measure(cluster, running, client, pods, jobs, replicas, limit, kill)
        finally:
            running.program.stop()


async def _measure(
    cluster: ApiCluster,
    running: Running,
    client: Client,
    pods: Pods,
    jobs: int,
    replicas: int,
    limit: float,
    kill: int,
) -> Measured:
    pids = {**cluster_pids(cluster), "operator": running.program.pid}
    before, (writes, events), began = Spent.so_far(pids), running.writes(), time.time()
    names = [f"job-{number}" for number in range(jobs)]
    submitted: dict[str, float] = {}

    async def submit(name: str) -> None:
        submitted[name] = time.time()
        await client.create(TFJOBS, tfjob(name, replicas))

    await concurrently((partial(submit, name) for name in names), SUBMITTED_AT_ONCE)
    recovered = []
    try:
        await until(lambda: pods.running == jobs * replicas, limit, "all pods running")
        await _until_told(client, names, limit)
    except TooSlowError:
        pass
    measured = Measured(
        [last - submitted[name] for name in names if (last := _last_of(pods.of(name), replicas))], asked=jobs
    )
    measured.wall = time.time() - began
    measured.spent = Spent.so_far(pids).since(before)
    total, of_events = running.writes()
    measured.writes, measured.events = total - writes, of_events - events if of_events >= 0 else -1
    if kill and measured.whole:
        recovered = await _recovery(client, pods, kill, jobs * replicas)
    measured.recovered = recovered
    measured.peak = peak_megabytes(running.program.pid)
    return measured


async def _recovery(client: Client, pods: Pods, kill: int, replicas: int) -> list[float]:
    """Seconds from the deletion of a worker's pod to its successor's running; inf where it did not within the time."""
    doomed = [(uid, each) for uid, each in pods.seen.items() if "worker" in each.name][:kill]
    killed: dict[str, float] = {}

    async def delete(uid: str, pod: Seen) -> None:
        killed[pod.name] = time.time()
        await client.delete(PODS, NAMESPACE, pod.name, uid=uid, grace_seconds=0)

    await concurrently((partial(delete, *each) for each in doomed), KILLED_AT_ONCE)
    with suppress(TooSlowError):
        await until(
            lambda: all(pods.seen[uid].gone for uid, _ in doomed) and pods.running == replicas,
            RECOVERY_SECONDS,
            "recovery of killed pods",
        )
    running = {each.name: each.running for each in pods.seen.values() if each.running and not each.gone}
    return [running.get(name, math.inf) - at for name, at in killed.items()]


def _last_of(pods: list[Seen], replicas: int) -> float:
    """When a job's last pod was created; 0.0 where some are missing."""
    return max(each.created for each in pods) if len(pods) >= replicas else 0.0


async def _until_told(client: Client, names: list[str], limit: float) -> None:
    """Until the status of each job says that it runs."""
    deadline = time.monotonic() + limit
    wanted = set(names)
    while True:
        jobs, _ = await client.list(TFJOBS, NAMESPACE)
        if wanted <= {job.metadata.name for job in jobs if _runs(job)}:
            return
        if time.monotonic() > deadline:
            raise TooSlowError(f"the status of jobs: not within {limit:.0f} s")
        await asyncio.sleep(0.5)


def _runs(job: Job) -> bool:
    conditions = job.status.get("conditions") or []
    return any((each["type"], each["status"]) == ("Running", "True") for each in conditions)


def _cluster() -> ApiCluster:
    return ApiCluster(binaries())


@asynccontextmanager
async def _connected(cluster: ApiCluster) -> AsyncIterator[tuple[Client, Pods]]:
    async with AsyncExitStack() as stack:
        client = Client(configuration([str(cluster.kubeconfig)], None))
        stack.push_async_callback(client.close)
        yield client, await stack.enter_async_context(watched(client, NAMESPACE))
