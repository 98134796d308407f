"""The nodes of the fake kubelet: registered, and kept alive by renewing their leases."""

from __future__ import annotations

import asyncio
import datetime
import time
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.cluster.fake_kubelet.api import AGAIN_AFTER, Api
from tests.cluster.fake_kubelet.container import timestamp
from tests.cluster.fake_kubelet.script import SILENT

PORT = 10250
RENEW_EVERY = 5.0
CAPACITY = {"cpu": "1000", "memory": "4Ti", "pods": "2000", "ephemeral-storage": "100Ti"}


@dataclass
class Node:
    """One node. `ip` is what its pods report, `address` where the API server reaches its kubelet.

    It is `silent` when a test has its kubelet vanish.
    """

    name: str
    ip: str
    address: str
    capacity: dict[str, str] = field(default_factory=dict)
    silent: bool = False

    async def register(self, api: Api) -> None:
        """Create the Node, or take over the one that is there."""
        labels = {
            "kubernetes.io/hostname": self.name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
        }
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name, "labels": labels}}
        try:
            await api.post("/api/v1/nodes", body)
        except httpx2.HTTPStatusError as fault:
            if fault.response.status_code != 409:
                raise
        await api.patch(f"/api/v1/nodes/{self.name}/status", {"status": self._status()})

    async def keep_alive(self, api: Api) -> None:
        """Renew the lease and report the node as ready, for ever."""
        while True:
            try:
                if not self.silent:
                    await self._renew(api)
                await asyncio.sleep(RENEW_EVERY)
            except httpx2.HTTPError:
                await asyncio.sleep(AGAIN_AFTER)

    async def _renew(self, api: Api) -> None:
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": 40, "renewTime": now}
        try:
            await api.patch(f"{leases}/{self.name}", {"spec": spec})
            # Whoever was silent for long was declared unknown by the controller manager.
            await api.patch(f"/api/v1/nodes/{self.name}/status", {"status": self._status()})
        except httpx2.HTTPStatusError as fault:
            if fault.response.status_code != 404:
                raise
            metadata = {"name": self.name, "namespace": "kube-node-lease"}
            body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            await api.post(leases, body)

    def _status(self) -> dict[str, Any]:
        now = timestamp(time.time())
        capacity = {**CAPACITY, **self.capacity}
        conditions = [("Ready", "True", "KubeletReady")]
        conditions += [(f"{each}Pressure", "False", "Sufficient") for each in ("Memory", "Disk", "PID")]
        return {
            "capacity": capacity,
            "allocatable": capacity,
            "addresses": [{"type": "InternalIP", "address": self.address}, {"type": "Hostname", "address": self.name}],
            "conditions": [
                {"type": kind, "status": status, "reason": reason, "lastHeartbeatTime": now}
                for kind, status, reason in conditions
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": PORT}},
            "nodeInfo": {
                **dict.fromkeys(("machineID", "systemUUID", "bootID", "kernelVersion", "osImage"), "fake"),
                "containerRuntimeVersion": "fake://1",
                "kubeletVersion": "v1.34.4-fake",
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        }

    def read(self, manifest: dict[str, Any]) -> None:
        """Take in what a test has said of the node."""
        self.silent = (manifest["metadata"].get("annotations") or {}).get(SILENT) == "true"
