"""A broker with its tenants' file, and an agent that speaks to it as a real one does, without servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import yaml
from pydantic import TypeAdapter

from shoal.gpu.tenants import token_hash
from shoal.pool.holdings import Holdings, Start, Stop
from shoal.pool.inventory import GPU
from shoal.pool.report import Answer

TOKENS = {"vision": "v" * 43, "speech": "s" * 43, "h": "h" * 43, "g": "g" * 43, "ops": "o" * 43}
"""By name; real ones are random."""


def write_tenants(path: Path, **vision: Any) -> Path:
    def tokens(name: str) -> dict[str, Any]:
        return {"tokens": [token_hash(TOKENS[name])]}

    said = {
        "tenants": {"vision": {**tokens("vision"), **vision}, "speech": tokens("speech")},
        "agents": {"h": tokens("h"), "g": tokens("g")},
        "admins": {"ops": tokens("ops")},
    }
    path.write_text(yaml.safe_dump(said))
    return path


def bearer(name: str, lease_token: str = "") -> dict[str, str]:
    lease = {"Shoal-Lease-Token": lease_token} if lease_token else {}
    return {"Authorization": f"Bearer {TOKENS[name]}", **lease}


def states(client: httpx2.Client) -> list[str]:
    """Of the leases of vision."""
    return [lease["state"] for lease in client.get("/v1/leases", headers=bearer("vision")).json()]


class Agent:
    def __init__(self, name: str, gpus: int = 1) -> None:
        self.name = name
        self.holdings = Holdings(name, tuple(GPU("A", 16_000) for _ in range(gpus)), 0.0)

    def report(self) -> tuple[str, bytes]:
        """Path and body of the next one."""
        return f"/v1/hosts/{self.name}/report", TypeAdapter(type(said := self.holdings.report())).dump_json(said)

    def heed(self, response: httpx2.Response) -> None:
        assert response.status_code == 200, response.text
        for action in self.holdings.heed(TypeAdapter(Answer).validate_json(response.content), 0.0):
            match action:
                case Start(grant):
                    self.holdings.answers(grant.lease, f"{self.name}:1")
                case Stop(lease):
                    self.holdings.gone(lease)
