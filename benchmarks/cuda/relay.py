"""A relay that keeps each byte for a while, both ways, as a longer way between client and server would: python relay.py
ADDRESS SECONDS prints where it listens. Bandwidth is that of loopback, less what this process costs."""

from __future__ import annotations

import asyncio
import contextlib
import sys


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    """Bytes in their order, each when it is due."""
    loop = asyncio.get_running_loop()
    due: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def take() -> None:
        while data := await reader.read(1 << 20):
            due.put_nowait((loop.time() + seconds, data))
        due.put_nowait((loop.time() + seconds, b""))

    taking = asyncio.create_task(take())
    with contextlib.suppress(ConnectionError):
        while True:
            when, data = await due.get()
            if (left := when - loop.time()) > 0:
                await asyncio.sleep(left)
            if not data:
                break
            writer.write(data)
            await writer.drain()
    taking.cancel()
    writer.close()


async def main(address: str, seconds: float) -> None:
    host, _, port = address.rpartition(":")

    async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(carry(reader, there_writer, seconds), carry(there_reader, writer, seconds))

    server = await asyncio.start_server(joined, "127.0.0.1", 0)
    print("127.0.0.1:{1}".format(*server.sockets[0].getsockname()), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
