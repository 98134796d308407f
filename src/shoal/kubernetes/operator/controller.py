"""The operator at work: reflectors fill the caches, their news fill the queue, workers empty it.

It begins once it leads, and reads everything anew then. Jobs are listed before their pods, as servers and their
likes are before their objects: a status that names a pod as seen is then never newer than the list in which that pod is
looked for.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from typing import Any

import structlog

from shoal.kubernetes.gpu_names import GPU_NAMES, GPUNames
from shoal.kubernetes.labels import OPERATOR, OPERATOR_NAME
from shoal.kubernetes.operator.api import API, APIError, ConflictError, NotLeaderError, UnreachableError
from shoal.kubernetes.operator.caches import Caches, DeployedKey, Key, key_of, owner_key
from shoal.kubernetes.operator.deployed.reconcile import DeployedReconciler
from shoal.kubernetes.operator.events import Recorder
from shoal.kubernetes.operator.job_metrics import JobMetrics
from shoal.kubernetes.operator.kinds import CONFIG_MAPS, DEPLOYED, DEPLOYMENTS, JOBS, PODS, SERVICES
from shoal.kubernetes.operator.metrics import Metrics
from shoal.kubernetes.operator.reconcile import Reconciler
from shoal.kubernetes.operator.reflector import Reflector
from shoal.kubernetes.operator.serving.reconcile import ServerReconciler
from shoal.kubernetes.operator.serving.served import ServedModels
from shoal.kubernetes.operator.tensorboards import TensorBoardReconciler
from shoal.kubernetes.operator.views import Deployed, Job, Named, Pod
from shoal.kubernetes.operator.volumes import delete_left_volumes
from shoal.kubernetes.operator.wanted import read_status
from shoal.kubernetes.operator.work_queue import WorkQueue
from shoal.kubernetes.operator.workbenches import WorkbenchReconciler
from shoal.kubernetes.pooled.broker import PoolSettings
from shoal.kubernetes.pooled.controller import PooledPods
from shoal.resources import ConditionType

RESYNC_SECONDS = 600.0
"""How often everything is looked at although nothing was heard of it."""

ENDED_PER_SECOND = 200.0
"""A pass over a job that has ended costs about a millisecond."""

SHORTEST_TIMER_SECONDS = 0.05
VOLUME_SECONDS = 3.0

PODS_PER_SECOND = 1000
LONGEST_GATHERING_SECONDS = 1.0
"""News of a job's pods is gathered for a while that grows with the job: a thousand pods that start would otherwise
be a thousand passes over a thousand pods, with a status written in each."""

log = structlog.get_logger(__name__)


class Controller:
    """Runs until it is cancelled, or until it may not write any more (NotLeaderError)."""

    def __init__(
        self,
        api: API,
        metrics: Metrics,
        instance: str,
        namespace: str | None = None,
        workers: int = 4,
        gpus: GPUNames = GPU_NAMES,
        pool: PoolSettings | None = None,
    ) -> None:
        self.caches = Caches()
        self.queue: WorkQueue[Key] = WorkQueue(metrics.queue_wait.observe)
        self.ready = False
        self._api = api
        self._metrics = metrics
        self._namespace = namespace
        self._workers = workers
        self._recorder = Recorder(api, instance)
        self._reconciler = Reconciler(api, self.caches, self._recorder, metrics, gpus=gpus)
        self._served = ServedModels(api, self.caches, self.queue.add)
        reconcilers: list[DeployedReconciler[Any, Any]] = [
            ServerReconciler(api, self.caches, self._recorder, self._served, gpus=gpus),
            TensorBoardReconciler(api, self.caches, self._recorder),
            WorkbenchReconciler(api, self.caches, self._recorder),
        ]
        self._deployed = {each.kind.name: each for each in reconcilers}
        self._owners: list[Reflector[Any]] = [
            *(Reflector(api, kind, self.caches.jobs[name], namespace) for name, kind in JOBS.items()),
            *(Reflector(api, kind, self.caches.deployed[kind], namespace) for kind in DEPLOYED),
        ]
        self._pooled = PooledPods(api, self.caches, self._recorder, pool, namespace, gpus) if pool else None
        selector = f"{OPERATOR_NAME}={OPERATOR}"
        self._owned: list[Reflector[Any]] = [
            Reflector(api, PODS, self.caches.pods, namespace, selector),
            Reflector(api, SERVICES, self.caches.services, namespace, selector),
            Reflector(api, CONFIG_MAPS, self.caches.config_maps, namespace, selector),
            Reflector(api, DEPLOYMENTS, self.caches.deployments, namespace, selector),
            *(
                Reflector(api, kind, store, namespace, selector)
                for kind, store in self.caches.beside_deployments.items()
            ),
        ]
        self._stopping = asyncio.Event()
        self._volumes_left = asyncio.Event()
        metrics.queue_depth.set_function(lambda: self.queue.depth)
        metrics.registry.register(JobMetrics(self.caches.all_jobs))

    async def run(self) -> None:
        """Work until `stop` is called, and leave no pass half done then."""
        async with asyncio.TaskGroup() as tasks:
            running = []
            for reflectors in (self._owners, self._owned):
                running += [tasks.create_task(reflector.run()) for reflector in reflectors]
                for reflector in reflectors:
                    await reflector.synced.wait()
            self._listen()
            self.look_at_all()
            self.ready = True
            counts = {kind.plural: len(store) for kind, store in self.caches.deployed.items()}
            log.info("ready", jobs=len(self.caches.all_jobs()), **counts, pods=len(self.caches.pods))
            running += map(tasks.create_task, (self._resync(), self._clean_volumes(), self._served.run()))
            if self._pooled is not None:
                running.append(tasks.create_task(self._pooled.run()))
            workers = [tasks.create_task(self._work()) for _ in range(self._workers)]
            await self._stopping.wait()
            self.queue.close()
            await asyncio.wait(workers)
            for task in running:
                task.cancel()

    async def stop(self, seconds: float) -> None:
        """Let passes that have begun end, but wait no longer than `seconds`, for events to arrive neither."""
        self._stopping.set()
        await self._recorder.flush(seconds)

    # --- what to look at --------------------------------------------------------------------------

    def _listen(self) -> None:
        for jobs in self.caches.jobs.values():
            jobs.listen(self._on_job)
        for deployed in self.caches.deployed.values():
            deployed.listen(self._on_deployed)
        self.caches.pods.listen(self._on_pod)
        self.caches.deployments.listen(self._on_deployment)
        for store in (self.caches.services, self.caches.config_maps, *self.caches.beside_deployments.values()):
            store.listen(self._on_object)

    def _on_job(self, before: Job | None, after: Job | None) -> None:
        if before is not None and (after is None or after.metadata.uid != before.metadata.uid):
            self._reconciler.forget(before)
            self._volumes_left.set()
            if read_status(before).condition(ConditionType.CREATED):
                self._metrics.count(self._metrics.jobs_deleted, before.metadata.namespace)
        if after is not None:
            self.queue.add(key_of(after))

    def _on_deployed(self, before: Deployed | None, after: Deployed | None) -> None:
        if before is not None and (after is None or after.metadata.uid != before.metadata.uid):
            self._deployed[before.kind].forget(before)
            self._volumes_left.set()
        if after is not None:
            self.queue.add(key_of(after))

    def _on_deployment(self, before: Named | None, after: Named | None) -> None:
        found = after or before
        if found is not None and isinstance(key := owner_key(found), DeployedKey):
            self.queue.add(key)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        pod = after or before
        key = owner_key(pod) if pod else None
        owner = pod.metadata.controller if pod else None
        if before is not None and (after is None or after.metadata.uid != before.metadata.uid):
            self._reconciler.pod_deleted(before)
        if key is not None and owner is not None:
            pods = self.caches.pods.count_owned_by(owner.uid)
            self.queue.add_after(key, min(pods / PODS_PER_SECOND, LONGEST_GATHERING_SECONDS))

    def _on_object(self, before: Named | None, after: Named | None) -> None:
        if before is not None and after is None and (key := owner_key(before)):
            self.queue.add(key)

    async def _resync(self) -> None:
        while True:
            for reflector in (*self._owners, *self._owned):
                self._metrics.lists.labels(resource=reflector.kind.plural).set(reflector.lists)
            self._metrics.objects.labels(resource="pods").set(len(self.caches.pods))
            self._metrics.objects.labels(resource="tfjobs").set(len(self.caches.all_jobs()))
            for kind, store in self.caches.deployed.items():
                self._metrics.objects.labels(resource=kind.plural).set(len(store))
            await asyncio.sleep(RESYNC_SECONDS * random.uniform(0.8, 1.2))
            self.look_at_all()

    def look_at_all(self) -> None:
        """Jobs that have ended come little by little: there may be thousands, few need anything, and none should hold
        up a job that runs."""
        ended = itertools.count()
        for job in self.caches.all_jobs():
            after = next(ended) / ENDED_PER_SECOND if read_status(job).phase.final else 0.0
            self.queue.add_after(key_of(job), after)
        for store in self.caches.deployed.values():
            for each in store.all():
                self.queue.add(key_of(each))

    async def _clean_volumes(self) -> None:
        """At the start, and some seconds after owners were deleted: many are often deleted at once."""
        while True:
            await delete_left_volumes(self._api, self.caches, self._namespace)
            await self._volumes_left.wait()
            await asyncio.sleep(VOLUME_SECONDS)
            self._volumes_left.clear()

    # --- looking at it ----------------------------------------------------------------------------

    async def _work(self) -> None:
        while (key := await self.queue.get()) is not None:
            began = time.monotonic()
            try:
                result = await self._pass(key)
            finally:
                self.queue.done(key)
            self._metrics.passes.labels(result=result).observe(time.monotonic() - began)

    async def _pass(self, key: Key) -> str:
        told = log.bind(name=key.name, namespace=key.namespace)
        try:
            if isinstance(key, DeployedKey):
                wake_at = await self._deployed[key.kind].reconcile(key)
            else:
                wake_at = await self._reconciler.reconcile(key)
        except NotLeaderError:
            raise
        except ConflictError as fault:
            told.debug("again, on newer objects", fault=str(fault))
            self.queue.retry(key)
            return "conflict"
        except (APIError, UnreachableError) as fault:
            told.warning("cannot do all now", fault=str(fault), again_in=round(self.queue.retry(key), 1))
            return "error"
        except Exception:
            told.exception("a fault in the operator", again_in=round(self.queue.retry(key), 1))
            return "fault"
        self.queue.forget_failures(key)
        if wake_at is not None:
            self.queue.add_after(key, max(wake_at - time.time(), SHORTEST_TIMER_SECONDS))
        return "done"
