"""What the client sends, and what it makes of the answers. That a real server understands it is tested on one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import Cluster, User

from shoal.kubernetes.operator.api import (
    AlreadyExistsError,
    APIError,
    ConflictError,
    GoneError,
    NotFoundError,
    NotLeaderError,
    UnreachableError,
)
from shoal.kubernetes.operator.client import BUSY_TRIES, Client
from shoal.kubernetes.operator.kinds import PODS

pytestmark = pytest.mark.looptime


class Server(httpx2.AsyncBaseTransport):
    """Answers in turn, and remembers what it was asked."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def body(self) -> Any:
        return json.loads(self.asked[-1].content)


def client(server: Server, **options: Any) -> Client:
    config = KubeConfig.from_one(cluster=Cluster(server="http://api"), user=User()).get()
    assert config is not None
    return Client(config, transport=server, **options)


def pod(name: str = "a", version: str = "7") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "resourceVersion": version}}


def refusal(code: int, reason: str = "", **headers: str) -> httpx2.Response:
    status = {"kind": "Status", "code": code, "reason": reason, "message": "no"}
    return httpx2.Response(code, json=status, headers=headers)


def ok(answer: Any) -> httpx2.Response:
    return httpx2.Response(200, json=answer)


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (404, "NotFound", NotFoundError),
        (409, "AlreadyExists", AlreadyExistsError),
        (409, "Conflict", ConflictError),
        (410, "Expired", GoneError),
        (403, "Forbidden", APIError),
        (500, "InternalError", APIError),
    ],
)
async def test_a_refusal_is_told_by_its_kind(code: int, reason: str, expected: type[APIError]) -> None:
    with pytest.raises(APIError) as raised:
        await client(Server(refusal(code, reason))).get(PODS, "ns", "a")
    assert type(raised.value) is expected
    assert (raised.value.code, raised.value.reason, str(raised.value)) == (code, reason, "no")


async def test_an_answer_that_is_no_status_is_an_error_all_the_same() -> None:
    with pytest.raises(APIError, match="Bad gateway"):
        await client(Server(httpx2.Response(502, text="Bad gateway"))).get(PODS, "ns", "a")


async def test_no_answer_is_no_refusal() -> None:
    with pytest.raises(UnreachableError):
        await client(Server(httpx2.ConnectError("no route"))).create(PODS, pod())


async def test_a_busy_server_is_asked_again_but_not_for_ever() -> None:
    busy = [refusal(429, "TooManyRequests", **{"Retry-After": "1"}) for _ in range(BUSY_TRIES)]
    server = Server(*busy[:2], ok(pod()))
    assert (await client(server).create(PODS, pod())).metadata.name == "a"
    with pytest.raises(APIError, match="no"):
        await client(Server(*busy)).create(PODS, pod())


async def test_who_does_not_lead_writes_nothing() -> None:
    server = Server(ok(pod()))
    follower = client(server, may_write=lambda: False)
    for write in (follower.create(PODS, pod()), follower.delete(PODS, "ns", "a"), follower.patch(PODS, "ns", "a", {})):
        with pytest.raises(NotLeaderError):
            await write
    assert server.asked == []
    assert (await follower.get(PODS, "ns", "a")).metadata.name == "a"


async def test_a_deletion_is_of_this_very_object() -> None:
    server = Server(ok(pod()), ok({"kind": "Status", "status": "Success"}))
    deleting = client(server)
    left = await deleting.delete(PODS, "ns", "a", uid="u", grace_seconds=0)
    assert left is not None
    assert server.asked[-1].url.path == "/api/v1/namespaces/ns/pods/a"
    assert server.body()["preconditions"] == {"uid": "u"}
    assert server.body()["gracePeriodSeconds"] == 0
    assert await deleting.delete(PODS, "ns", "a") is None


async def test_what_is_written_is_written_in_our_name() -> None:
    server = Server(ok(pod()), ok(pod()), ok(pod()))
    writing = client(server)
    await writing.create(PODS, pod())
    await writing.apply(PODS, pod())
    await writing.patch(PODS, "ns", "a", {}, subresource="status")
    assert [request.url.params["fieldManager"] for request in server.asked] == ["shoal"] * 3
    assert [request.method for request in server.asked] == ["POST", "PATCH", "PATCH"]
    assert server.asked[1].headers["Content-Type"] == "application/apply-patch+yaml"
    assert server.asked[1].url.params["force"] == "true"
    assert server.asked[2].url.path.endswith("/pods/a/status")


async def test_a_list_is_read_page_by_page() -> None:
    pages = (
        {"metadata": {"resourceVersion": "9", "continue": "more"}, "items": [pod("a")]},
        {"metadata": {"resourceVersion": "9"}, "items": [pod("b")]},
    )
    server = Server(*map(ok, pages))
    found, version = await client(server).list(PODS, selector="x=y")
    assert ([each.metadata.name for each in found], version) == (["a", "b"], "9")
    assert server.asked[1].url.params["continue"] == "more"
    # An older state than the newest would look like pods that have vanished.
    assert "resourceVersion" not in server.asked[0].url.params


def watched(*chunks: str | Exception) -> httpx2.Response:
    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk.encode()

    return httpx2.Response(200, content=stream())


async def versions(server: Server) -> list[str]:
    return [f"{each.type} {each.object.metadata.resource_version}" async for each in client(server).watch(PODS, "5")]


async def test_a_watch_is_read_line_by_line_wherever_the_network_cuts() -> None:
    line = json.dumps({"type": "ADDED", "object": pod()})
    mark = json.dumps({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "8", "creationTimestamp": None}}})
    server = Server(watched(line[:10], line[10:] + "\n" + mark, "\n"))
    assert await versions(server) == ["ADDED 7", "BOOKMARK 8"]
    asked = server.asked[0].url.params
    assert (asked["resourceVersion"], asked["allowWatchBookmarks"]) == ("5", "true")
    assert 240 <= int(asked["timeoutSeconds"]) <= 480


async def test_a_watch_is_told_that_it_is_too_late() -> None:
    late = json.dumps({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}) + "\n"
    with pytest.raises(GoneError):
        await versions(Server(watched(late)))
    with pytest.raises(GoneError):
        await versions(Server(refusal(410, "Gone")))


async def test_a_watch_that_falls_silent_ends_and_one_that_breaks_fails() -> None:
    assert await versions(Server(watched(httpx2.ReadTimeout("silence")))) == []
    with pytest.raises(UnreachableError):
        await versions(Server(watched(httpx2.ReadError("reset"))))
