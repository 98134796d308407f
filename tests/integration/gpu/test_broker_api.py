"""The broker's API on loopback, in this process: who may do what, and what is told."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from shoal.gpu import broker_requests, broker_server
from shoal.gpu.audit import Audit
from shoal.gpu.broker import Broker
from shoal.gpu.broker_server import BrokerServer
from shoal.gpu.tenants import Tenants, token_hash
from shoal.pool.ledger import Ledger, Terms
from shoal.pool.quota import Quota
from tests.integration.gpu.brokers import TOKENS, Agent, bearer, write_tenants

ONE = {"requests": [{}]}


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker(write_tenants(tmp_path / "tenants.yaml", gpus=2), Terms(silence=1200), Audit(tmp_path / "audit"))


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[httpx2.AsyncClient]:
    server = BrokerServer(broker, "0", "127.0.0.1", 0, None)
    task = asyncio.create_task(server.run())
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=60) as made:
        yield made
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def talk(client: httpx2.AsyncClient, agent: Agent, times: int = 2) -> None:
    for _ in range(times):
        path, body = agent.report()
        agent.heed(await client.post(path, content=body, headers=bearer(agent.name)))


async def ask(client: httpx2.AsyncClient, tenant: str = "vision", **body: object) -> dict[str, str]:
    response = await client.post("/v1/leases", json={**ONE, **body}, headers=bearer(tenant))
    assert response.status_code == 201, response.text
    return dict(response.json())


async def waited_for(broker: Broker, key: str) -> None:
    """Until a long poll on this lease or host has come in."""
    while key not in broker._waiting:
        await asyncio.sleep(0.01)


def refused(tmp_path: Path) -> list[tuple[int, str]]:
    lines = (json.loads(line) for line in (tmp_path / "audit").read_text().splitlines())
    return [(line["status"], line["caller"]) for line in lines if line["event"] == "refused"]


async def test_a_lease_is_asked_for_waited_for_renewed_and_released(
    client: httpx2.AsyncClient, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_requests, "LONGEST_WAIT_SECONDS", 600.0)  # what is not woken comes too late
    agent = Agent("h")
    lease = await ask(client)
    assert lease["state"] == "queued"
    assert len(lease["token"]) == 43
    where, key = f"/v1/leases/{lease['id']}", bearer("vision", lease["token"])
    waiting = asyncio.create_task(client.get(where, params={"wait": "600", "state": "queued"}, headers=key))
    await waited_for(broker, lease["id"])
    await talk(client, agent)
    assert (await asyncio.wait_for(waiting, 60)).json()["state"] == "granted"
    await talk(client, agent, 1)
    seen = (await client.post(f"{where}/renew", headers=key)).json()
    assert (seen["state"], seen["token"]) == ("running", None)
    assert seen["shares"] == [{"host": "h", "gpu": 0, "percent": 100.0, "address": "h:1"}]
    (host,) = (await client.get("/v1/hosts", headers=bearer("vision"))).json()
    assert host["gpus"] == [{"model": "A", "memory_mib": 16000, "healthy": True, "free_percent": 0.0}]
    path, body = agent.report()
    reporting = asyncio.create_task(client.post(f"{path}?wait=600", content=body, headers=bearer("h")))
    await waited_for(broker, "h")
    assert (await client.delete(where, headers=key)).json()["state"] == "released"
    agent.heed(await asyncio.wait_for(reporting, 60))
    assert agent.holdings.grants == ()
    gone = await client.post(f"{where}/renew", headers=key)
    assert (gone.status_code, gone.json()["error"]) == (410, f"{lease['id']} has ended: released")
    assert 'shoal_gpu_leases{state="running"} 0.0' in (await client.get("/metrics")).text


async def test_who_shows_the_wrong_token_or_none_is_refused_and_written_down(
    client: httpx2.AsyncClient, tmp_path: Path, broker: Broker
) -> None:
    agent = Agent("h")
    mine, other = await ask(client), await ask(client)
    theirs = await ask(client, "speech")
    where = f"/v1/leases/{mine['id']}"
    path, body = agent.report()
    renewals = [
        ({}, 401),
        ({"Authorization": "Bearer nobody"}, 401),
        ({"Authorization": "Basic dmlzaW9u"}, 401),
        (bearer("speech", mine["token"]), 404),
        (bearer("vision"), 403),
        (bearer("vision", other["token"]), 403),
        (bearer("vision", theirs["token"]), 403),
        (bearer("vision", mine["token"][:-1]), 403),
        (bearer("h", mine["token"]), 403),
        (bearer("ops", mine["token"]), 403),
    ]
    broker.ledger.started_at -= 10_000  # what is not known now is not there
    for headers, code in renewals:
        answer = await client.post(f"{where}/renew", headers=headers)
        assert (answer.status_code, list(answer.json())) == (code, ["error"]), headers
    others = [
        (await client.delete(where, headers=bearer("speech")), 404),
        (await client.get(where, headers=bearer("speech")), 404),
        (await client.post(path, content=body, headers=bearer("g")), 403),
        (await client.post("/v1/hosts/g/report", content=body, headers=bearer("g")), 403),
        (await client.post("/v1/hosts/g/report", content=body, headers=bearer("h")), 403),
        (await client.post(path, content=body, headers=bearer("vision")), 403),
        (await client.post("/v1/hosts/h/drain", json={"drained": True}, headers=bearer("vision")), 403),
        (await client.post("/v1/hosts/h/drain", json={"drained": True}, headers=bearer("ops")), 404),
    ]
    assert [answer.status_code for answer, _ in others] == [code for _, code in others]
    assert not broker.ledger.hosts
    assert [code for code, _ in refused(tmp_path)] == [code for _, code in renewals] + [code for _, code in others]
    assert refused(tmp_path)[3] == (404, "tenant speech")
    told = (tmp_path / "audit").read_text()
    assert not any(lease["token"] in told for lease in (mine, other, theirs))
    seen = (await client.get("/v1/leases", headers=bearer("speech"))).json()
    assert [lease["id"] for lease in seen] == [theirs["id"]]


async def test_a_token_is_good_for_its_own_lease_and_no_longer_than_that_lives(
    client: httpx2.AsyncClient, broker: Broker, tmp_path: Path
) -> None:
    agent = Agent("h")
    await talk(client, agent)
    expired = await ask(client)
    later = broker.now() + broker.ledger.terms.renewal
    broker.now = lambda: later
    broker.decide()
    fresh = await ask(client)
    for lease, token, code, told in (
        (expired, expired["token"], 410, f"{expired['id']} has ended: expired, not renewed for 30 s"),
        (fresh, expired["token"], 403, f"this is not the token of {fresh['id']}"),
        (expired, fresh["token"], 403, f"this is not the token of {expired['id']}"),
    ):
        answer = await client.post(f"/v1/leases/{lease['id']}/renew", headers=bearer("vision", token))
        assert (answer.status_code, answer.json()["error"][: len(told)]) == (code, told)
    assert refused(tmp_path) == [(code, "tenant vision") for code in (410, 403, 403)]


async def test_what_cannot_be_read_or_granted_says_where_and_why(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    bodies = [
        (b"{", 422, "body: Invalid JSON"),
        (b'{"requests": []}', 422, "requests: List should have at least 1 item"),
        (b'{"requests": [{"gpu": 1}]}', 422, "requests.0.gpu: Extra inputs are not permitted"),
        (b'{"requests": [{"percent": 50, "memory_mib": 1}]}', 422, "by percent or by memory_mib, not by both"),
        (b'{"requests": [{"gpus": 3}]}', 403, "tenant vision asks for 3 GPUs, and its quota is 2"),
        (b'{"requests": [{}], "priority": 1}', 403, "tenant vision asks with priority 1, and may with 0 at most"),
        (b" " * (broker_requests.BODY_BYTES + 1), 413, "a body has 1048576 bytes at most"),
    ]
    for body, code, message in bodies:
        answer = await client.post("/v1/leases", content=body, headers=bearer("vision"))
        assert answer.status_code == code, answer.text
        assert message in answer.json()["error"]

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * (1 << 16)

    answer = await client.post("/v1/leases", content=chunks(), headers=bearer("vision"))
    assert answer.status_code == 413, "nobody said how large it is"
    assert [code for code, _ in refused(tmp_path)] == [*(code for _, code, _ in bodies), 413]
    assert (await client.get("/v1/nothing")).json() == {"error": "there is no /v1/nothing; see /openapi.json"}
    wrong = await client.get("/v1/leases/x", params={"wait": "soon"}, headers=bearer("vision"))
    assert wrong.status_code == 503, "while agents may have yet to tell of it"


async def test_who_dawdles_is_cut_off_and_disturbs_nobody(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(broker_server, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(broker_requests, "BODY_SECONDS", 0.2)
    port = client.base_url.port
    assert port is not None
    whole = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    for before, sent in ((b"", b""), (b"", whole[:-2]), (whole, whole[:-2])):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        if before:
            writer.write(before)
            await reader.readuntil(b"ok\n")
        writer.write(sent)
        with contextlib.suppress(ConnectionResetError):
            answer = await asyncio.wait_for(reader.read(), 30)
            assert answer.startswith(b"HTTP/1.1 408 ") if sent else answer == b""
        writer.close()
    assert refused(tmp_path) == [(408, "")] * 2
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    token = bearer("vision")["Authorization"]
    head = f"POST /v1/leases HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\nContent-Length: 100\r\n\r\n{{"
    writer.write(head.encode())
    assert (await asyncio.wait_for(reader.read(), 60)).startswith(b"HTTP/1.1 408")
    writer.close()
    assert refused(tmp_path)[2:] == [(408, "tenant vision")]
    assert (await client.get("/healthz")).text == "ok\n"


async def test_the_description_names_every_endpoint_and_its_bodies(client: httpx2.AsyncClient) -> None:
    described = (await client.get("/openapi.json")).json()
    assert described["paths"].keys() == {
        "/v1/leases",
        "/v1/leases/{id}",
        "/v1/leases/{id}/renew",
        "/v1/renewals",
        "/v1/hosts",
        "/v1/hosts/{host}/report",
        "/v1/hosts/{host}/drain",
        "/v1/quotas",
        "/v1/tenants/{tenant}",
    }
    body = described["paths"]["/v1/leases"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/AskBody"}
    assert {"AskBody", "Wanted", "LeaseBody", "Report", "Answer", "ErrorBody"} <= described["components"][
        "schemas"
    ].keys()


async def test_quotas_and_tokens_are_read_again_when_the_file_changes(
    client: httpx2.AsyncClient, broker: Broker, tmp_path: Path
) -> None:
    async def quota() -> object:
        (told,) = (await client.get("/v1/quotas", headers=bearer("vision"))).json()
        return told["gpus"]

    assert await quota() == 2
    (tmp_path / "tenants.yaml").write_text("tenants: {vision: {tokens: [x]}}")
    broker._read_tenants()
    assert await quota() == 2
    write_tenants(tmp_path / "tenants.yaml", gpus=3, gpuMemory="1Gi")
    broker._read_tenants()
    assert await quota() == 3


async def test_a_drained_host_takes_nothing_and_its_agent_is_told(client: httpx2.AsyncClient, broker: Broker) -> None:
    agent = Agent("h")
    await talk(client, agent)
    path, body = agent.report()
    reporting = asyncio.create_task(client.post(f"{path}?wait=600", content=body, headers=bearer("h")))
    await waited_for(broker, "h")
    drained = await client.post("/v1/hosts/h/drain", json={"drained": True}, headers=bearer("ops"))
    assert drained.status_code == 204
    agent.heed(await asyncio.wait_for(reporting, 60))
    assert agent.holdings.drained
    assert (await ask(client))["reason"].endswith("(drained hosts: 1)")


OWN = "k" * 43
"""A token that who asks has made."""


async def test_asking_again_with_ones_own_token_answers_the_same_lease(
    client: httpx2.AsyncClient, broker: Broker
) -> None:
    ready(broker)
    agent = Agent("h", gpus=2)
    await talk(client, agent)
    first, again = [await ask(client, token=OWN) for _ in range(2)]
    assert first["id"] == again["id"]
    assert first["token"] == OWN
    other = await ask(client, "speech", token=OWN)
    assert other["id"] != first["id"], "another tenant's token of the same letters is another one"
    key = bearer("vision", OWN)
    assert (await client.post(f"/v1/leases/{first['id']}/renew", headers=key)).status_code == 200
    await client.delete(f"/v1/leases/{first['id']}", headers=bearer("vision"))
    assert (await ask(client, token=OWN))["id"] != first["id"], "one that has ended is not answered again"


async def test_a_broker_that_starts_takes_no_own_token_before_agents_have_told(
    client: httpx2.AsyncClient, broker: Broker
) -> None:
    """What the agents have yet to tell may be the lease that is asked for again."""
    agent = Agent("h")
    body = {**ONE, "token": OWN}
    early = await client.post("/v1/leases", json=body, headers=bearer("vision"))
    assert early.status_code == 503
    ready(broker)
    lease = await ask(client, token=OWN)
    await talk(client, agent, 3)
    broker.ledger = Ledger("next", broker.now(), broker.ledger.terms, broker.tenants.quotas)
    assert (await client.post("/v1/leases", json=body, headers=bearer("vision"))).status_code == 503
    await talk(client, agent)
    assert (await ask(client, token=OWN))["id"] == lease["id"]


async def test_all_leases_of_a_tenant_are_kept_by_one_request(client: httpx2.AsyncClient, broker: Broker) -> None:
    ready(broker)
    agent = Agent("h")
    mine = [await ask(client) for _ in range(3)]
    other = await ask(client, "speech")
    known = {token_hash(lease["token"]): "queued" for lease in mine}
    theirs, nobodys = token_hash(other["token"]), "0" * 64

    async def renew(leases: dict[str, str], wait: float = 0) -> dict[str, Any]:
        response = await client.post(
            "/v1/renewals", json={"leases": leases}, params={"wait": str(wait)}, headers=bearer("vision")
        )
        assert response.status_code == 200, response.text
        return dict(response.json())

    for lease in broker.ledger.leases.values():
        lease.renewed_at = -1000.0
    found = await renew(known | {theirs: "queued", nobodys: None})
    assert [found["leases"][key]["place"] for key in known] == [1, 2, 3]
    assert found["unknown"] == sorted([theirs, nobodys])
    assert broker.ledger.leases[other["id"]].renewed_at == -1000.0, "another tenant's is neither told nor kept"
    assert all(broker.ledger.leases[lease["id"]].renewed_at > -1000.0 for lease in mine)
    waiting = asyncio.create_task(renew(known, wait=30))
    await waited_for(broker, "tenant vision")
    await talk(client, agent)
    found = await asyncio.wait_for(waiting, 20)
    told = [(found["leases"][key]["state"], found["leases"][key]["place"]) for key in known]
    assert told == [("granted", None), ("queued", 1), ("queued", 2)]
    await client.delete(f"/v1/leases/{mine[0]['id']}", headers=bearer("vision"))
    ended = next(iter(known))
    assert (await renew({ended: "granted"}, wait=30))["leases"][ended]["state"] == "released"


async def test_what_is_unknown_to_a_broker_that_has_just_started_is_waited_for(
    client: httpx2.AsyncClient, broker: Broker
) -> None:
    body = {"leases": {"0" * 64: "running"}}
    response = await client.post("/v1/renewals", json=body, params={"wait": "0.2"}, headers=bearer("vision"))
    assert response.json() == {"leases": {}, "unknown": ["0" * 64], "settling": True}


def ready(broker: Broker) -> None:
    """As if it had started long ago."""
    broker.ledger.started_at = -1e6


async def test_an_admin_grants_a_tenant_and_withdraws_it(
    client: httpx2.AsyncClient, broker: Broker, tmp_path: Path
) -> None:
    first, second = "1" * 43, "2" * 43
    path, admin = "/v1/tenants/team-a", bearer("ops")

    def body(token: str, **more: object) -> dict[str, object]:
        return {"tokens": [token_hash(token)], "gpus": 2, **more}

    def shown(token: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {token}"}

    for name in ("vision", "h"):
        assert (await client.put(path, json=body(first), headers=bearer(name))).status_code == 403
    granted = await client.put(path, json=body(first, gpu_memory_mib=64_000), headers=admin)
    assert granted.json() == {
        "tenant": "team-a",
        "gpus": 2.0,
        "gpu_memory_mib": 64_000,
        "used_gpus": 0.0,
        "used_gpu_memory_mib": 0,
    }
    agent = Agent("h", gpus=2)
    await talk(client, agent)
    lease = (await client.post("/v1/leases", json=ONE, headers=shown(first))).json()
    await talk(client, agent)
    assert (await client.get(f"/v1/leases/{lease['id']}", headers=shown(first))).json()["state"] == "running"
    three = await client.post("/v1/leases", json={"requests": [{"gpus": 3}]}, headers=shown(first))
    assert (three.status_code, "its quota is 2" in three.text) == (403, True)

    assert Tenants(tmp_path / "tenants.yaml").quotas["team-a"] == Quota(
        2000, 64_000
    )  # as a broker that starts reads it
    assert (tmp_path / "tenants.granted.yaml").stat().st_mode & 0o777 == 0o600
    assert (await client.put(path, json=body(second, gpus=1), headers=admin)).json()["gpus"] == 1.0
    assert (await client.get("/v1/quotas", headers=shown(first))).status_code == 401
    assert (await client.get("/v1/quotas", headers=shown(second))).json()[0]["used_gpus"] == 1.0

    assert (await client.delete(path, headers=bearer("vision"))).status_code == 403
    assert (await client.delete(path, headers=admin)).status_code == 204
    assert (await client.get("/v1/quotas", headers=shown(second))).status_code == 401
    left = (await client.get(f"/v1/leases/{lease['id']}", headers=admin)).json()
    assert (left["state"], left["reason"]) == ("released", "its tenant was deleted")
    assert (await client.delete(path, headers=admin)).status_code == 404
    await talk(client, agent)  # what the agent held counted until now
    assert "team-a" not in [each["tenant"] for each in (await client.get("/v1/quotas", headers=admin)).json()]


async def test_what_is_no_grant(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    admin, hash = bearer("ops"), "0" * 64
    written = await client.put("/v1/tenants/vision", json={"tokens": [hash]}, headers=admin)
    assert (written.status_code, written.json()) == (
        409,
        {"error": "tenant vision is written down in tenants.yaml, and changed there"},
    )
    assert (await client.delete("/v1/tenants/vision", headers=admin)).status_code == 409
    for name in ("ops", "h", "speech"):
        taken = await client.put("/v1/tenants/new", json={"tokens": [token_hash(TOKENS[name])]}, headers=admin)
        assert (taken.status_code, "cannot be tenant new's, too" in taken.text) == (409, True)
    for body in ({}, {"tokens": []}, {"tokens": ["plain"]}, {"tokens": [hash], "gpus": -1}):
        assert (await client.put("/v1/tenants/new", json=body, headers=admin)).status_code == 422
    assert (await client.put("/v1/tenants/No", json={"tokens": [hash]}, headers=admin)).status_code == 422
    (tmp_path / "tenants.granted.yaml.new").mkdir()  # as if the folder could not be written
    barred = await client.put("/v1/tenants/new", json={"tokens": [hash]}, headers=admin)
    assert barred.status_code == 409
    assert "cannot write" in barred.json()["error"]
    assert not (tmp_path / "tenants.granted.yaml").exists()
    (tmp_path / "tenants.granted.yaml.new").rmdir()
    (tmp_path / "tenants.yaml").write_text("tenants: [")
    broken = await client.put("/v1/tenants/new", json={"tokens": [hash]}, headers=admin)
    assert (broken.status_code, "tenants.yaml cannot be used as it is" in broken.text) == (409, True)
