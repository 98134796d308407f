"""One client that keeps all pods and TFJobs of a cluster in memory, each in its plainest use.

Run with a Python that has the library: `python candidates.py NAME KUBECONFIG`. For each line on stdin it prints what it
knows, as JSON. A watch that dies is begun anew after a second, as any operator would, and counted.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

GROUP, PLURAL = "kubeflow.org", "tfjobs"
AGAIN_SECONDS = 1.0

Cache = dict[tuple[str, str], object]


class Known:
    """What a candidate has been told."""

    def __init__(self) -> None:
        self.pods: Cache = {}
        self.jobs: Cache = {}
        self.deaths: list[str] = []

    def told(self) -> dict[str, Any]:
        names = sorted(name for namespace, name in list(self.pods) if namespace == "probe")
        return {"pods": len(self.pods), "jobs": len(self.jobs), "probe": names, "deaths": self.deaths}


def note(cache: Cache, type: str, namespace: str, name: str, object: object) -> None:
    if type == "DELETED":
        cache.pop((namespace, name), None)
    elif type != "BOOKMARK":
        cache[namespace, name] = object


async def again_and_again(known: Known, follow: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await follow()
        except Exception as fault:
            known.deaths.append(f"{type(fault).__name__}: {str(fault)[:100]}")
            await asyncio.sleep(AGAIN_SECONDS)


async def kopf_events(known: Known, kubeconfig: str) -> None:
    import kopf

    @kopf.on.event("v1", "pods")
    def on_pod(type: str | None, body: Any, namespace: str, name: str, **_: Any) -> None:
        note(known.pods, type or "", namespace, name, body)

    @kopf.on.event(GROUP, "v1", PLURAL)
    def on_job(type: str | None, body: Any, namespace: str, name: str, **_: Any) -> None:
        note(known.jobs, type or "", namespace, name, body)

    await kopf.operator(clusterwide=True, standalone=True)


async def lightkube_watch(known: Known, kubeconfig: str) -> None:
    from lightkube import AsyncClient, KubeConfig
    from lightkube.generic_resource import create_namespaced_resource
    from lightkube.resources.core_v1 import Pod
    from lightkube.types import on_error_retry

    client = AsyncClient(config=KubeConfig.from_file(kubeconfig))
    jobs = create_namespaced_resource(GROUP, "v1", "TFJob", PLURAL)

    async def follow(resource: Any, cache: Cache) -> None:
        async for type, each in client.watch(resource, namespace="*", on_error=on_error_retry):
            note(cache, type, each.metadata.namespace, each.metadata.name, each)

    await asyncio.gather(
        again_and_again(known, lambda: follow(Pod, known.pods)),
        again_and_again(known, lambda: follow(jobs, known.jobs)),
    )


async def kubernetes_asyncio_watch(known: Known, kubeconfig: str) -> None:
    from kubernetes_asyncio import client, config, watch

    await config.load_kube_config(kubeconfig)
    core, custom = client.CoreV1Api(), client.CustomObjectsApi()

    async def pods() -> None:
        async with watch.Watch().stream(core.list_pod_for_all_namespaces) as stream:
            async for event in stream:
                about = event["object"].metadata
                note(known.pods, event["type"], about.namespace, about.name, event["object"])

    async def jobs() -> None:
        where = {"group": GROUP, "version": "v1", "resource_plural": PLURAL}
        async with watch.Watch().stream(custom.list_custom_object_for_all_namespaces, **where) as stream:
            async for event in stream:
                about = event["object"]["metadata"]
                note(known.jobs, event["type"], about["namespace"], about["name"], event["object"])

    await asyncio.gather(again_and_again(known, pods), again_and_again(known, jobs))


async def kr8s_watch(known: Known, kubeconfig: str) -> None:
    import kr8s.asyncio

    api = await kr8s.asyncio.api(kubeconfig=kubeconfig)

    async def follow(kind: str, cache: Cache) -> None:
        async for type, each in api.async_watch(kind, namespace=kr8s.ALL):
            note(cache, type, each.namespace or "", each.name, each)

    await asyncio.gather(
        again_and_again(known, lambda: follow("pods", known.pods)),
        again_and_again(known, lambda: follow(f"{PLURAL}.v1.{GROUP}", known.jobs)),
    )


async def shoal_reflector(known: Known, kubeconfig: str) -> None:
    from shoal.kubernetes.operator.client import Client
    from shoal.kubernetes.operator.kinds import JOBS, PODS
    from shoal.kubernetes.operator.kubeconfig import configuration
    from shoal.kubernetes.operator.reflector import Reflector
    from shoal.kubernetes.operator.store import Store
    from shoal.kubernetes.operator.views import Job, Pod

    client = Client(configuration([kubeconfig], None))
    pods: Store[Pod] = Store()
    jobs: Store[Job] = Store()
    known.told = lambda: {  # type: ignore[method-assign]
        "pods": len(pods),
        "jobs": len(jobs),
        "probe": sorted(each.metadata.name for each in pods.all() if each.metadata.namespace == "probe"),
        "deaths": [],
    }
    await asyncio.gather(Reflector(client, PODS, pods).run(), Reflector(client, JOBS[f"{GROUP}/v1"], jobs).run())


CANDIDATES: dict[str, Callable[[Known, str], Awaitable[None]]] = {
    "shoal": shoal_reflector,
    "lightkube": lightkube_watch,
    "kubernetes_asyncio": kubernetes_asyncio_watch,
    "kopf": kopf_events,
    "kr8s": kr8s_watch,
}


def main() -> None:
    name, kubeconfig = sys.argv[1:]
    os.environ["KUBECONFIG"] = kubeconfig
    known = Known()
    # Some libraries print.
    answers, sys.stdout = sys.stdout, sys.stderr

    def answer() -> None:
        for _ in sys.stdin:
            print(json.dumps(known.told()), file=answers, flush=True)

    threading.Thread(target=answer, daemon=True).start()
    asyncio.run(again_and_again(known, lambda: CANDIDATES[name](known, kubeconfig)))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
