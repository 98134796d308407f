"""gRPC over HTTP/2: the same unary call over and over, many at once on one connection.

Frames are written and read here, since one call of grpcio's costs as much processor time as four of these: the header
block never changes, and without a dynamic table (RFC 7541, 4.2) neither does the meaning of a block that was seen.
"""

from __future__ import annotations

import select
import struct
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote

from hpack import Decoder, Encoder, HPACKError

from shoal.bench.load.target import Target
from shoal.bench.load.wire import Answer, Broken, Wire

# Types and flags of frames, settings, and limits: RFC 9113, sections 6 and 4.2.
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE, _CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
_END_STREAM, _ACK, _END_HEADERS, _PADDED, _PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
_HEADER_TABLE_SIZE, _ENABLE_PUSH, _MAX_CONCURRENT_STREAMS, _INITIAL_WINDOW_SIZE = 1, 2, 3, 4
_FRAME, _WINDOW, _WINDOW_MAX = 16384, 65535, 2**31 - 1
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_CANCEL = struct.pack(">I", 8)
_LAST_STREAM = 2**30
"""A connection is replaced when its streams have been numbered up to here: numbers end at twice that."""

_BLOCKS_KEPT = 1000

_CODES = """
    OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED
    RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS
    UNAUTHENTICATED
    """.split()  # noqa: SIM905  names in rows are read better
"""gRPC's status codes by number."""


class _Status(NamedTuple):
    """What a header block says of its call: HTTP's status, gRPC's, and its message."""

    http: str
    grpc: str
    message: str


class _Stream:
    """A call under way. `left` and `window` are the bytes of its message that have not been sent, and how many may."""

    __slots__ = ("due", "http", "left", "sent", "window")

    def __init__(self, due: float, sent: float, window: int) -> None:
        self.due, self.sent, self.window = due, sent, window
        self.left = 0
        self.http = "200"


class Http2(Wire):
    """See `Wire`."""

    def __init__(self, target: Target, address: tuple[int, tuple[object, ...]], poll: select.epoll, slots: int) -> None:
        super().__init__(target, address, poll)
        self._slots = slots
        headers = [
            (":method", "POST"),
            (":scheme", "https" if target.secure else "http"),
            (":path", target.path),
            (":authority", target.authority),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            ("user-agent", "shoal-bench"),
        ]
        encoder = Encoder()
        encoder.header_table_size = 0
        self._block = encoder.encode(headers)
        self._decoder = Decoder()
        self._decoder.header_table_size = 0
        self._seen: dict[bytes, _Status] = {}
        self._message = struct.pack(">BI", 0, len(target.body)) + target.body
        self._streams: dict[int, _Stream] = {}
        self._waiting: list[int] = []
        """Streams with a rest to send, oldest first."""
        self._next = 1
        self._window = self._stream_window = _WINDOW
        self._consumed = 0
        self._in = b""
        self._headers: tuple[int, int, bytes] | None = None
        """A block that goes on in CONTINUATION frames: stream, flags, and what there is."""

    @property
    def slots(self) -> int:
        return self._slots

    def pending(self) -> list[tuple[float, float]]:
        return [(stream.due, stream.sent) for stream in self._streams.values()]

    def send(self, due: float, now: float) -> None:
        number = self._next
        self._next += 2
        stream = self._streams[number] = _Stream(due, now, self._stream_window)
        self._write(_frame(_HEADERS, _END_HEADERS, number, self._block))
        size = len(self._message)
        if size <= min(_FRAME, self._window, self._stream_window) and not self._waiting:
            self._window -= size
            self._write(_frame(_DATA, _END_STREAM, number, self._message))
        else:
            stream.left = size
            self._waiting.append(number)
            self._pump()
        if number >= _LAST_STREAM:
            self.open = False

    def give_up(self, before: float) -> list[float]:
        late = [number for number, stream in self._streams.items() if stream.sent < before]
        for number in late:
            self._write(_frame(_RST_STREAM, 0, number, _CANCEL))
        if late:
            self._waiting = [number for number in self._waiting if number not in late]
            self.flush()
        return [self._streams.pop(number).due for number in late]

    def _opened(self) -> None:
        settings = {_HEADER_TABLE_SIZE: 0, _ENABLE_PUSH: 0, _INITIAL_WINDOW_SIZE: _WINDOW_MAX}
        self._write(_PREFACE + _frame(_SETTINGS, 0, 0, _settings(settings)))
        self._write(_frame(_WINDOW_UPDATE, 0, 0, struct.pack(">I", _WINDOW_MAX - _WINDOW)))

    def _received(self, data: bytes) -> list[Answer]:
        if self._in:
            data = self._in + data
        answers: list[Answer] = []
        at, size = 0, len(data)
        while size - at >= 9:
            length = int.from_bytes(data[at : at + 3])
            if not self.open and not self._streams and self._next == 1 and data[at + 3] != _SETTINGS:
                raise Broken("this is no HTTP/2")
            if size - at < 9 + length:
                break
            kind, flags = data[at + 3], data[at + 4]
            number = int.from_bytes(data[at + 5 : at + 9]) & _WINDOW_MAX
            self._take(kind, flags, number, data[at + 9 : at + 9 + length], answers)
            at += 9 + length
        self._in = data[at:]
        if self._consumed >= _WINDOW_MAX // 2:
            self._write(_frame(_WINDOW_UPDATE, 0, 0, struct.pack(">I", self._consumed)))
            self._consumed = 0
        if self._out:
            self.flush()
        return answers

    def _take(self, kind: int, flags: int, number: int, payload: bytes, answers: list[Answer]) -> None:
        match kind:
            case 0:  # DATA
                self._consumed += len(payload)
                if flags & _END_STREAM:  # gRPC ends with trailers
                    self._end(number, None, answers)
            case 1:  # HEADERS
                begin = (flags & _PADDED and 1) + (flags & _PRIORITY and 5)
                block = payload[begin : len(payload) - (payload[0] if flags & _PADDED else 0)]
                self._block_of(number, flags, block, answers)
            case 9 if self._headers is not None:  # CONTINUATION
                first, before, block = self._headers
                self._block_of(first, before | flags, block + payload, answers)
            case 3:  # RST_STREAM
                if (stream := self._forget(number)) is not None:
                    answers.append(Answer(stream.due, f"stream reset with code {int.from_bytes(payload)}"))
            case 4 if not flags & _ACK:  # SETTINGS
                self._set(payload)
            case 6 if not flags & _ACK:  # PING
                self._write(_frame(_PING, _ACK, 0, payload))
            case 7:  # GOAWAY
                self._leave(int.from_bytes(payload[:4]) & _WINDOW_MAX, payload, answers)
            case 8:  # WINDOW_UPDATE
                more = int.from_bytes(payload) & _WINDOW_MAX
                if number == 0:
                    self._window += more
                elif number in self._streams:
                    self._streams[number].window += more
                self._pump()

    def _block_of(self, number: int, flags: int, block: bytes, answers: list[Answer]) -> None:
        """A header block, perhaps not all of it yet: the answer's beginning, or its end."""
        if not flags & _END_HEADERS:
            self._headers = (number, flags, block)
            return
        self._headers = None
        status = self._seen.get(block) or self._read(block)
        stream = self._streams.get(number)
        if stream is not None and status.http:
            stream.http = status.http
        if flags & _END_STREAM:
            self._end(number, status, answers)

    def _read(self, block: bytes) -> _Status:
        try:
            found: Mapping[str, str] = {
                _text(name): _text(value) for name, value in self._decoder.decode(block, raw=True)
            }
        except HPACKError as fault:
            raise Broken(f"headers that cannot be read: {fault}") from None
        status = _Status(found.get(":status", ""), found.get("grpc-status", ""), unquote(found.get("grpc-message", "")))
        if len(self._seen) >= _BLOCKS_KEPT:  # such as those with the time of day in them
            self._seen.clear()
        self._seen[block] = status
        return status

    def _end(self, number: int, status: _Status | None, answers: list[Answer]) -> None:
        stream = self._forget(number)
        if stream is None:  # one that was given up
            return
        if status is not None and status.grpc == "0":
            answers.append(Answer(stream.due))
        elif status is not None and status.grpc:
            code = int(status.grpc) if status.grpc.isdecimal() else -1
            name = _CODES[code] if 0 <= code < len(_CODES) else status.grpc
            answers.append(Answer(stream.due, name, status.message))
        elif stream.http != "200":
            answers.append(Answer(stream.due, f"HTTP {stream.http}"))
        else:
            answers.append(Answer(stream.due, "an answer without gRPC's status"))

    def _forget(self, number: int) -> _Stream | None:
        stream = self._streams.pop(number, None)
        if stream is not None and stream.left:
            self._waiting.remove(number)
        return stream

    def _set(self, payload: bytes) -> None:
        for key, value in struct.iter_unpack(">HI", payload):
            if key == _MAX_CONCURRENT_STREAMS:
                self._slots = min(self._slots, value)
            elif key == _INITIAL_WINDOW_SIZE:
                for stream in self._streams.values():
                    stream.window += value - self._stream_window
                self._stream_window = value
        self._write(_frame(_SETTINGS, _ACK, 0, b""))
        if self._next == 1:
            self.open = True
        self._pump()

    def _leave(self, last: int, payload: bytes, answers: list[Answer]) -> None:
        """The server takes no more calls here, and has not taken those after `last`."""
        self.open = False
        said = payload[8:].decode(errors="replace")
        for number in [number for number in self._streams if number > last]:
            if (stream := self._forget(number)) is not None:
                answers.append(Answer(stream.due, "not taken before the server closed the connection", said))

    def _pump(self) -> None:
        """Send of the messages that wait what the windows allow."""
        while self._waiting and self._window > 0:
            for number in self._waiting:
                stream = self._streams[number]
                count = min(stream.left, _FRAME, self._window, stream.window)
                if count > 0:
                    break
            else:
                return
            begin = len(self._message) - stream.left
            stream.left -= count
            stream.window -= count
            self._window -= count
            flags = 0 if stream.left else _END_STREAM
            self._write(_frame(_DATA, flags, number, self._message[begin : begin + count]))
            if not stream.left:
                self._waiting.remove(number)


def _frame(kind: int, flags: int, number: int, payload: bytes) -> bytes:
    return struct.pack(">HBBBI", len(payload) >> 8, len(payload) & 0xFF, kind, flags, number) + payload


def _settings(values: Mapping[int, int]) -> bytes:
    return b"".join(struct.pack(">HI", key, value) for key, value in values.items())


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")
