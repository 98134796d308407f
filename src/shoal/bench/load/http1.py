"""HTTP/1.1 with one request at a time on a connection that is kept."""

from __future__ import annotations

import re
import select

from shoal.bench.load.target import Target
from shoal.bench.load.wire import Answer, Broken, Wire

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[^\r]*chunked", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection:[ \t]*close", re.IGNORECASE)

SHOWN = 200
"""How many bytes of an answer that is an error are kept."""


class Http1(Wire):
    """See `Wire`."""

    def __init__(self, target: Target, address: tuple[int, tuple[object, ...]], poll: select.epoll) -> None:
        super().__init__(target, address, poll)
        head = f"POST {target.path} HTTP/1.1\r\nHost: {target.authority}\r\nContent-Type: application/json\r\n"
        self._request = f"{head}Content-Length: {len(target.body)}\r\n\r\n".encode() + target.body
        self._under_way: tuple[float, float] | None = None
        self._in = b""

    @property
    def slots(self) -> int:
        return 1

    def pending(self) -> list[tuple[float, float]]:
        return [self._under_way] if self._under_way else []

    def send(self, due: float, now: float) -> None:
        self._under_way = (due, now)
        self._write(self._request)

    def give_up(self, before: float) -> list[float]:
        if self._under_way and self._under_way[1] < before:
            raise Broken("timeout")  # the next answer here would be the one that is late
        return []

    def _opened(self) -> None:
        self.open = True

    def _received(self, data: bytes) -> list[Answer]:
        if self._in:
            data = self._in + data
        end = data.find(b"\r\n\r\n")
        if not data.startswith(b"HTTP/1."[: len(data)]):
            raise Broken("this is no HTTP/1.1")
        if end < 0:
            self._in = data
            return []
        status, head = data[9:12], data[: end + 2]
        if status[:1] == b"1":  # informational: the answer follows
            self._in = b""
            return self._received(data[end + 4 :]) if len(data) > end + 4 else []
        length = _LENGTH.search(head)
        if length is not None:
            whole = len(data) >= end + 4 + int(length[1])
        elif _CHUNKED.search(head):
            whole = _chunks_end(data, end + 4)
        else:
            raise Broken("an answer without a length")
        if not whole:
            self._in = data
            return []
        self._in = b""
        if self._under_way is None:
            raise Broken("an answer that nobody asked for")
        due, self._under_way = self._under_way[0], None
        if _CLOSE.search(head) or data.startswith(b"HTTP/1.0"):
            self.open = False
        if status == b"200":
            return [Answer(due)]
        said = data[end + 4 : end + 4 + SHOWN].decode(errors="replace").strip()
        return [Answer(due, f"HTTP {status.decode(errors='replace')}", said)]


def _chunks_end(data: bytes, at: int) -> bool:
    """Whether all chunks that begin `at` are there, up to the empty one and the trailer's end."""
    while (line := data.find(b"\r\n", at)) >= 0:
        try:
            size = int(data[at:line].partition(b";")[0], 16)
        except ValueError:
            raise Broken("a chunk without a size") from None
        if size == 0:
            return data.find(b"\r\n\r\n", line) >= 0
        at = line + 2 + size + 2
    return False
