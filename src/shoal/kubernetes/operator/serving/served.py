"""Which versions model servers serve, as their pods tell.

Both servers answer this over REST. Pods are asked between passes, since one that is silent must hold up nobody, and a
pass takes what was heard last. While something is on its way they are asked often, then seldom: a version may be
published at any time, and no event tells of it.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp
import structlog

from shoal.kubernetes.labels import MODEL_SERVER
from shoal.kubernetes.operator.api import API, APIError, UnreachableError
from shoal.kubernetes.operator.caches import Caches, DeployedKey
from shoal.kubernetes.operator.kinds import PODS, SERVERS
from shoal.kubernetes.operator.store import ObjectKey
from shoal.kubernetes.operator.views import Pod, Server
from shoal.kubernetes.serving.pods import REST
from shoal.resources.model_server import ModelStatus, VersionStatus
from shoal.resources.served_models import model_status, path_of, read_versions, settled

CHANGING_SECONDS, SETTLED_SECONDS = 5.0, 30.0
"""How long until a server is asked again, give or take a fifth."""

PATIENCE_SECONDS = 3.0
"""For a pod's answer."""

AT_ONCE = 32
"""Pods that are asked at a time, of all servers together."""

LOOK_SECONDS = 0.5
LARGEST_ANSWER = 1 << 20

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Served:
    """What the ready pods of a server have told. `silent` of them did not answer."""

    models: list[ModelStatus]
    silent: int


class ServedModels:
    """Remembers what was heard of each server, by its uid. All of it can be heard again, so it may be lost. `news` is
    called with each server of which something else was heard than before."""

    def __init__(
        self,
        api: API,
        caches: Caches,
        news: Callable[[DeployedKey], None],
        port: int = REST,
        pause: float = LOOK_SECONDS,
    ) -> None:
        self._api = api
        self._caches = caches
        self._news = news
        self._port = port
        self._pause = pause
        self._heard: dict[str, Served] = {}
        self._due: dict[str, tuple[int, float]] = {}
        self._asking: set[str] = set()
        self._few = asyncio.Semaphore(AT_ONCE)

    def of(self, uid: str) -> Served | None:
        """What was heard last; None where nobody has been asked."""
        return self._heard.get(uid)

    def forget(self, uid: str) -> None:
        self._heard.pop(uid, None)
        self._due.pop(uid, None)

    async def run(self) -> None:
        """Ask until cancelled."""
        timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session,
            asyncio.TaskGroup() as tasks,
        ):
            while True:
                for server in self._caches.servers.all():
                    if self._is_due(server):
                        self._asking.add(server.metadata.uid)
                        tasks.create_task(self._ask_and_tell(session, server))
                await asyncio.sleep(self._pause)

    def _is_due(self, server: Server) -> bool:
        """A server whose spec has changed is due at once, as is one that has its first replica ready. Without any there
        is nobody to ask, and nothing holds of what was heard before."""
        about = server.metadata
        if about.uid in self._asking:
            return False
        deployment = self._caches.deployments.get(ObjectKey(about.namespace, about.name))
        if deployment is None or not deployment.status.ready_replicas:
            self.forget(about.uid)
            return False
        generation, due = self._due.get(about.uid, (0, 0.0))
        return generation != about.generation or time.monotonic() >= due

    async def _ask_and_tell(self, session: aiohttp.ClientSession, server: Server) -> None:
        about = server.metadata
        rests = False
        try:
            served, rests = await self._ask(session, server)
            before = self._heard.get(about.uid)
            current = self._caches.servers.get(ObjectKey(about.namespace, about.name))
            if current is not None and current.metadata.uid == about.uid and served != before:
                self._heard[about.uid] = served
                self._news(DeployedKey(SERVERS.name, about.namespace, about.name))
        except (APIError, UnreachableError) as fault:
            log.debug("cannot list the pods of a server", name=about.name, namespace=about.namespace, fault=str(fault))
        except Exception:  # one server's oddities must not end the work on all others
            log.exception("a fault in the operator", name=about.name, namespace=about.namespace)
        finally:
            self._asking.discard(about.uid)
            pause = (SETTLED_SECONDS if rests else CHANGING_SECONDS) * random.uniform(0.8, 1.2)
            self._due[about.uid] = (about.generation, time.monotonic() + pause)

    async def _ask(self, session: aiohttp.ClientSession, server: Server) -> tuple[Served, bool]:
        """What the ready pods tell, and whether it will stay so for a while."""
        about = server.metadata
        names = [str(model["name"]) for model in server.spec.get("models", [])]
        pods, _ = await self._api.list(PODS, about.namespace, f"{MODEL_SERVER}={about.name}")
        ready = [pod for pod in pods if _answers(pod)]
        answers = await asyncio.gather(*(self._ask_pod(session, pod, names) for pod in ready))
        told = [answer for answer in answers if answer is not None]
        models = [model_status(name, [answer[name] for answer in told]) for name in names] if told else []
        rests = len(told) == len(pods) > 0 and settled(models, len(told))
        return Served(models, len(ready) - len(told)), rests

    async def _ask_pod(
        self, session: aiohttp.ClientSession, pod: Pod, names: list[str]
    ) -> dict[str, list[VersionStatus]] | None:
        """The versions of each model; None of a pod that does not tell."""
        address = f"[{pod.status.pod_ip}]" if ":" in pod.status.pod_ip else pod.status.pod_ip
        found: dict[str, list[VersionStatus]] = {}
        try:
            async with self._few:
                for name in names:
                    url = f"http://{address}:{self._port}{path_of(name)}"
                    async with session.get(url, allow_redirects=False) as answer:
                        body = await answer.content.read(LARGEST_ANSWER)
                        found[name] = [] if _lacks(answer.status, body) else read_versions(body)
        except (aiohttp.ClientError, TimeoutError, ValueError) as fault:
            about = pod.metadata
            log.debug("a model server is silent", pod=about.name, namespace=about.namespace, fault=str(fault))
            return None
        return found


def _lacks(status: int, body: bytes) -> bool:
    """Whether a model server says that it has no such model: it has not read of it yet, or has none any more. Others
    say 404, too, where a pod's address leads astray."""
    if status != 404:
        return False
    told = json.loads(body)
    return isinstance(told, dict) and "error" in told


def _answers(pod: Pod) -> bool:
    ready = any((each.type, each.status) == ("Ready", "True") for each in pod.status.conditions)
    return ready and bool(pod.status.pod_ip) and pod.metadata.deletion_timestamp is None
