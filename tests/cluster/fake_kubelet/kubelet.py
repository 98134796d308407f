"""The fake kubelet at work: watches the pods of its nodes, and tells the API what becomes of them."""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import Mapping
from typing import Any

import httpx2

from tests.cluster.fake_kubelet.api import AGAIN_AFTER, Api
from tests.cluster.fake_kubelet.container import NEVER
from tests.cluster.fake_kubelet.nodes import Node
from tests.cluster.fake_kubelet.pod import Pod


class FakeKubelet:
    """One kubelet for all of `nodes`."""

    def __init__(self, api: Api, nodes: list[Node]) -> None:
        self._api = api
        self._nodes = {each.name: each for each in nodes}
        self._tended: dict[str, _Tended] = {}
        self._numbers = itertools.count(2)

    async def run(self) -> None:
        """Work until cancelled."""
        await asyncio.gather(*(each.register(self._api) for each in self._nodes.values()))
        async with asyncio.TaskGroup() as tasks:
            for each in self._nodes.values():
                tasks.create_task(each.keep_alive(self._api))
            tasks.create_task(self._watch_nodes())
            tasks.create_task(self._watch_pods())

    def annotations(self, namespace: str, name: str) -> Mapping[str, str] | None:
        """The annotations of a pod that is here, as last seen."""
        for each in self._tended.values():
            metadata = each.manifest["metadata"]
            if (metadata["namespace"], metadata["name"]) == (namespace, name):
                return metadata.get("annotations") or {}
        return None

    async def _watch_nodes(self) -> None:
        async for there, manifest in self._api.watch("/api/v1/nodes"):
            if there and (node := self._nodes.get(manifest["metadata"]["name"])):
                spoke_up = node.silent
                node.read(manifest)
                if spoke_up and not node.silent:
                    for each in self._tended.values():
                        each.changed.set()

    async def _watch_pods(self) -> None:
        async for there, manifest in self._api.watch("/api/v1/pods", fieldSelector="spec.nodeName!="):
            uid = manifest["metadata"]["uid"]
            node = self._nodes.get(manifest["spec"]["nodeName"])
            tended = self._tended.get(uid)
            if not there:
                if tended:
                    tended.task.cancel()
                    del self._tended[uid]
            elif tended:
                tended.manifest = manifest
                tended.pod.read(manifest, time.time())
                tended.changed.set()
            elif node and manifest["status"].get("phase") == "Pending":
                self._tended[uid] = _Tended(self._api, node, manifest, self._ip(manifest, node))
            elif node and manifest["metadata"].get("deletionTimestamp"):
                # A pod of an earlier fake kubelet: nothing of it runs any more.
                await _Tended.forget(self._api, manifest)

    def _ip(self, manifest: dict[str, Any], node: Node) -> str:
        if manifest["spec"].get("hostNetwork"):
            return node.ip
        number = next(self._numbers)
        return f"10.{244 + (number >> 16) % 8}.{number >> 8 & 255}.{number & 255}"


class _Tended:
    """A pod, and the task that tells its news to the API server."""

    def __init__(self, api: Api, node: Node, manifest: dict[str, Any], ip: str) -> None:
        self._api = api
        self._node = node
        self.manifest = manifest
        self.pod = Pod(manifest, ip, node.ip, time.time())
        self.changed = asyncio.Event()
        self.task = asyncio.create_task(self._tend())

    async def _tend(self) -> None:
        told: dict[str, Any] = {}
        while True:
            self.changed.clear()
            due = self.pod.advance(time.time())
            try:
                if not self._node.silent:
                    told = await self._tell(told)
                    if self.pod.deleted_at is not None and self.pod.ended:
                        await self.forget(self._api, self.manifest)
            except httpx2.HTTPStatusError as fault:
                if fault.response.status_code in (404, 409):
                    return
                print(f"{fault}: {fault.response.text}", file=sys.stderr, flush=True)
                due = time.time() + AGAIN_AFTER
            except httpx2.HTTPError:
                due = time.time() + AGAIN_AFTER
            try:
                async with asyncio.timeout(None if due == NEVER else max(0.0, due - time.time())):
                    await self.changed.wait()
            except TimeoutError:
                pass

    async def _tell(self, told: dict[str, Any]) -> dict[str, Any]:
        """Report the status when it is news; what it reported."""
        status = self.pod.status(time.time())
        if status == told:
            return told
        uid = self.manifest["metadata"]["uid"]
        await self._api.patch(f"{_path(self.manifest)}/status", {"metadata": {"uid": uid}, "status": status})
        return status

    @staticmethod
    async def forget(api: Api, manifest: dict[str, Any]) -> None:
        """Remove the object of a pod that has ended; only now does the API server let it go."""
        preconditions = {"uid": manifest["metadata"]["uid"]}
        await api.delete(_path(manifest), {"gracePeriodSeconds": 0, "preconditions": preconditions})


def _path(manifest: dict[str, Any]) -> str:
    metadata = manifest["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
