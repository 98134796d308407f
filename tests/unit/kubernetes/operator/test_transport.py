"""Requests against a server on a socket, which answers what a test tells it to."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest

from shoal.kubernetes.operator.transport import Transport


def answer(body: bytes, *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@dataclass
class Server:
    """Sends `sends` after each request, and then, where it `hangs_up`, closes the connection."""

    sends: bytes = answer(b"{}")
    hangs_up: bool = False
    asked: list[bytes] = field(default_factory=list)
    connections: int = 0
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if b"content-length" in line), 0)
                self.asked.append(head + await reader.readexactly(length))
                writer.write(self.sends)
                await writer.drain()
                if self.hangs_up:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self.closed.set()


@asynccontextmanager
async def asking(server: Server) -> AsyncIterator[httpx2.AsyncClient]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with (
        listening,
        httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", transport=Transport(False, 4), timeout=httpx2.Timeout(10, read=0.2)
        ) as client,
    ):
        yield client


async def test_a_request_arrives_as_it_was_made():
    server = Server()
    async with asking(server) as client:
        params = {"labelSelector": "a=b,c in (d)", "x": "é/+ &"}
        await client.post("/apis/a%2Fb", params=params, content=b'{"a": 1}', headers={"Content-Type": "application/x"})
        made = client.build_request("POST", "/apis/a%2Fb", params=params)
    head, _, body = server.asked[0].partition(b"\r\n\r\n")
    first, *headers = head.decode().split("\r\n")
    assert first == f"POST {made.url.raw_path.decode()} HTTP/1.1"
    names = [line.partition(":")[0].lower() for line in headers]
    assert len(names) == len(set(names))
    assert "Content-Type: application/x" in headers
    assert body == b'{"a": 1}'


async def test_a_connection_serves_one_request_after_another():
    server = Server()
    async with asking(server) as client:
        for _ in range(3):
            assert (await client.get("/")).json() == {}
    assert server.connections == 1


async def test_requests_at_the_same_time_have_connections_of_their_own():
    server = Server()
    async with asking(server) as client:
        await asyncio.gather(*(client.get("/") for _ in range(4)))
    assert server.connections == 4


async def test_an_answer_is_unpacked():
    server = Server(answer(gzip.compress(b'{"kind": "Pod"}'), "Content-Encoding: gzip"))
    async with asking(server) as client:
        assert (await client.get("/")).json() == {"kind": "Pod"}


async def test_a_redirect_is_an_answer():
    server = Server(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")
    async with asking(server) as client:
        assert (await client.get("/")).status_code == 307


async def test_nobody_listens():
    async with asking(Server()) as client:
        client.base_url = "http://127.0.0.1:1"
        with pytest.raises(httpx2.ConnectError, match="Connect call failed"):
            await client.get("/")


@pytest.mark.parametrize("sends", [b"", answer(b"long")[:-2]], ids=["before the answer", "within it"])
async def test_a_connection_that_is_cut(sends):
    async with asking(Server(sends, hangs_up=True)) as client:
        with pytest.raises(httpx2.ReadError):
            await client.post("/", content=b"{}")


@pytest.mark.parametrize("sends", [b"", answer(b"long")[:-2]], ids=["before the answer", "within it"])
async def test_a_server_that_falls_silent(sends):
    async with asking(Server(sends)) as client:
        with pytest.raises(httpx2.ReadTimeout):
            await client.get("/")


async def test_a_stream_is_read_as_it_comes_and_can_be_left():
    server = Server(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
    async with asking(server) as client:
        async with client.stream("GET", "/") as response:
            assert await anext(aiter(response.aiter_bytes())) == b"first"
        await asyncio.wait_for(server.closed.wait(), 10)
