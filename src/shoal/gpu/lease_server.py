"""The process that serves one lease: until the CUDA server takes its place, it echoes to who shows the lease's token.

    python -m shoal.gpu.lease_server     with one line of JSON on its standard input:
        {"host": ADDRESS, "token_hash": …, "gpus": [{"id": …, "model": …, "memory_mib": …}, …]}

`gpus` are those of the lease on this host, by NVML's UUIDs or as software-N, with as much memory of each as it may use.
It says on its standard output, a JSON object a line, `{"address": "HOST:PORT"}` once it answers, `{"used": true}` when
it was used, at most once a second, and `{"refused": WHY, "client": ADDRESS}` of each whom it turned away. A client
sends the lease's token as its first line. It ends with the agent that started it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import sys

from shoal.gpu.tenants import matches

PR_SET_PDEATHSIG = 1
"""prctl(2): the signal to get when the parent dies."""

TOKEN_SECONDS = 10.0
USE_SECONDS = 1.0


class _Echo:
    def __init__(self, token_hash: str) -> None:
        self._token_hash = token_hash
        self._said_at = 0.0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            if why := await self._refusal(reader):
                _say(refused=why, client=str(writer.get_extra_info("peername")[0]))
            else:
                while data := await reader.read(1 << 16):
                    self._used()
                    writer.write(data)
                    await writer.drain()
        writer.close()

    async def _refusal(self, reader: asyncio.StreamReader) -> str:
        """Why a client is turned away; empty for one that has shown the token."""
        try:
            async with asyncio.timeout(TOKEN_SECONDS):
                token = (await reader.readline()).decode().strip()
        except TimeoutError:
            return f"no token within {TOKEN_SECONDS:g} s"
        except ValueError:
            return "no token, but what is none"
        return "" if matches(token, self._token_hash) else "not the token of this lease" if token else "no token"

    def _used(self) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._said_at + USE_SECONDS:
            self._said_at = now
            _say(used=True)


def _say(**told: object) -> None:
    print(json.dumps(told), flush=True)


async def _run(host: str, token_hash: str) -> None:
    server = await asyncio.start_server(_Echo(token_hash).serve, host, 0)
    port = server.sockets[0].getsockname()[1]
    _say(address=f"{host}:{port}")
    await server.serve_forever()


def main() -> None:
    agent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    given = json.loads(sys.stdin.readline())
    if os.getppid() != agent:
        return  # it died before the signal was asked for
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    asyncio.run(_run(given["host"], given["token_hash"]))


if __name__ == "__main__":
    main()
