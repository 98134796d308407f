"""A GPU pool beside a test cluster: the real broker, and the real agent of a host with software GPUs."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path
from typing import Any

import httpx2
import psutil

from shoal.kubernetes.pooled.gate import GATE, LEASE_ANNOTATION
from shoal.pool.lease import LIVE
from tests.cluster.api.webhooks import free_port
from tests.cluster.kubectl import Kubectl
from tests.cluster.programs import Program
from tests.integration.gpu.brokers import TOKENS, bearer, write_tenants

ENDED = ("Succeeded", "Failed")
SHOAL = (sys.executable, "-c", "from shoal.cli import main; main()")


class Pool:
    """Its files are in `folder`. Tenant of the cluster is `vision`, with the quota given. Servers of leases listen at
    `address`."""

    def __init__(self, folder: Path, installed: int, address: str = "127.0.0.1", **quota: Any) -> None:
        self.folder = folder
        self._tenants = write_tenants(folder / "tenants.yaml", **quota)
        self._port = free_port("127.0.0.1")
        for name in ("vision", "h"):
            (folder / f"{name}.token").write_text(TOKENS[name])
        self.start_broker()
        self._installed, self._servers_at = installed, address
        self.start_agent()

    @property
    def ca(self) -> Path:
        return self.folder / "tls" / "ca.crt"

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self._port}"

    @property
    def options(self) -> list[str]:
        """Of the operator."""
        files = [f"--pool-token-file={self.folder / 'vision.token'}", f"--pool-ca={self.ca}"]
        return [f"--pool-broker={self.address}", *files]

    def start_broker(self) -> None:
        command = [*SHOAL, "gpu", "broker", f"--tenants={self._tenants}", "--host=127.0.0.1", f"--port={self._port}"]
        self._broker = Program("broker", [*command, f"--tls-folder={self.folder / 'tls'}"], self.folder / "broker.log")
        self._broker.wait_until(self._answers, 60)
        self._client = httpx2.Client(base_url=self.address, verify=ssl.create_default_context(cafile=str(self.ca)))

    def start_agent(self) -> None:
        words = [f"--broker={self.address}", f"--token-file={self.folder / 'h.token'}", f"--ca={self.ca}"]
        words += [f"--state={self.folder / 'state'}", "--name=h", f"--software-gpus={self._installed}"]
        words += [f"--address={self._servers_at}"]
        self._agent = Program("agent", [*SHOAL, "gpu", "serve", *words], self.folder / "agent.log")

    def kill_agent(self) -> None:
        self._agent.kill()

    def kill_broker(self) -> None:
        self._broker.kill()

    def leases(self, whose: str = "vision") -> list[dict[str, Any]]:
        """Those that live, as a tenant or admin sees them."""
        found = self._client.get("/v1/leases", headers=bearer(whose)).json()
        return [lease for lease in found if lease["state"] in LIVE]

    def states(self) -> list[str]:
        return sorted(lease["state"] for lease in self.leases())

    def release(self, lease: str) -> None:
        self._client.delete(f"/v1/leases/{lease}", headers=bearer("vision")).raise_for_status()

    def servers(self) -> int:
        """How many processes of the agent serve leases."""
        found = psutil.Process(self._agent.pid).children() if self._agent.running else []
        return sum("shoal.cuda.server" in each.cmdline() for each in found if each.status() != psutil.STATUS_ZOMBIE)

    def agrees(self, namespace: Kubectl) -> bool:
        """Whether the broker's leases, the agent's servers and the namespace's pods, each of which asks by itself, tell
        the same: one lease and one server for each pod past the gate, one in the queue for each that waits there."""
        pods = [each for each in namespace.json("get", "pods")["items"] if each["status"]["phase"] not in ENDED]
        waiting = [each for each in pods if {"name": GATE} in each["spec"].get("schedulingGates", [])]
        lent = [each["metadata"].get("annotations", {}).get(LEASE_ANNOTATION) for each in pods if each not in waiting]
        leases = self.leases()
        running = [each["id"] for each in leases if each["state"] == "running"]
        return (
            sorted(map(str, lent)) == sorted(running)
            and len(leases) - len(running) == len(waiting)
            and self.servers() == len(running)
        )

    def stop(self) -> None:
        self._agent.stop()
        self._broker.stop()

    def _answers(self) -> bool:
        try:
            trust = ssl.create_default_context(cafile=str(self.ca))
            return httpx2.get(f"{self.address}/healthz", verify=trust).is_success
        except (OSError, httpx2.HTTPError):
            return False
