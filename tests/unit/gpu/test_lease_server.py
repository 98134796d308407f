"""Whom the server of a lease turns away, and that it says so."""

from __future__ import annotations

import asyncio
import json

import pytest

from shoal.gpu import lease_server
from shoal.gpu.tenants import token_hash

TOKEN = "t" * 43


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        (b"\n", "no token"),
        (b"", "no token"),
        (b"u" * 43 + b"\n", "not the token of this lease"),
        (TOKEN[:-1].encode() + b"\n", "not the token of this lease"),
        (b"t" * (1 << 20), "no token, but what is none"),
        (b"\xff\n", "no token, but what is none"),
        (TOKEN.encode(), "no token within 0.2 s"),
    ],
)
async def test_who_does_not_show_the_token_is_refused_and_told_of(
    shown: bytes, why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lease_server, "TOKEN_SECONDS", 0.2)
    server = await asyncio.start_server(lease_server._Echo(token_hash(TOKEN)).serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(shown)
    if not shown:
        writer.write_eof()
    try:
        assert await asyncio.wait_for(reader.read(), 60) == b""
    except ConnectionResetError:
        assert len(shown) > 1 << 16, "what it did not read was thrown away"
    writer.close()
    server.close()
    assert json.loads(capsys.readouterr().out) == {"refused": why, "client": "127.0.0.1"}
