"""One connection that never blocks, over TCP or TLS: what HTTP/1.1 and HTTP/2 have in common.

Sockets without asyncio, whose loop costs several times what a request does here.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import ssl
from typing import NamedTuple

from shoal.bench.load.target import Target

READ = 1 << 16
_WAIT = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Answer(NamedTuple):
    """The end of a request that was due then; `kind` names how it failed, and is empty where it did not."""

    due: float
    kind: str = ""
    message: str = ""


class Broken(Exception):
    """The connection is of no more use; says how."""


class Wire:
    """A connection from its opening on. Subclasses put requests into `_write` and find answers in `_received`."""

    def __init__(self, target: Target, address: tuple[int, tuple[object, ...]], poll: select.epoll) -> None:
        family, place = address
        self.target = target
        self.sent_bytes = self.received_bytes = 0
        self.open = False
        """Whether requests can be sent."""
        self._poll = poll
        plain = socket.socket(family, socket.SOCK_STREAM)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setblocking(False)
        context = target.tls()
        self._tls = context is not None
        self._socket: socket.socket = plain
        if context is not None:
            self._socket = context.wrap_socket(plain, server_hostname=target.host, do_handshake_on_connect=False)
        self._connected = False
        self._out: list[bytes] = []
        self._events = select.EPOLLIN | select.EPOLLOUT
        self.fd = self._socket.fileno()
        poll.register(self.fd, self._events)
        fault = self._socket.connect_ex(place)
        if fault not in (0, errno.EINPROGRESS):
            self.close()
            raise Broken(os.strerror(fault).lower())

    @property
    def slots(self) -> int:
        """How many requests may be under way at once."""
        raise NotImplementedError

    def pending(self) -> list[tuple[float, float]]:
        """Of each request under way, when it was due and when it was sent."""
        raise NotImplementedError

    def send(self, due: float, now: float) -> None:
        """Ask once more; the request leaves with `flush`."""
        raise NotImplementedError

    def give_up(self, before: float) -> list[float]:
        """When the requests were due that were sent before then and have no answer; they count as under way no more.
        Raises Broken where the connection cannot go on without them."""
        raise NotImplementedError

    def step(self) -> list[Answer]:
        """Go on after an event, and tell the answers that have come. Raises Broken."""
        try:
            if not self.open and not self._connect():
                return []
            if self._out:
                self.flush()
            data = self._socket.recv(READ)
            if self._tls:
                while self._socket.pending():  # type: ignore[attr-defined]
                    data += self._socket.recv(READ)
        except _WAIT:
            return []
        except OSError as fault:
            raise Broken(_name(fault)) from None
        if not data:
            raise Broken("connection closed by the server")
        self.received_bytes += len(data)
        return self._received(data)

    def flush(self) -> None:
        """Send what was written, as far as it goes; the rest follows when there is room. Raises Broken."""
        data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
        try:
            count = self._socket.send(data) if data else 0
        except _WAIT:
            count = 0
        except OSError as fault:
            raise Broken(_name(fault)) from None
        self.sent_bytes += count
        self._out = [data[count:]] if count < len(data) else []
        self._watch(select.EPOLLIN | select.EPOLLOUT if self._out else select.EPOLLIN)

    def close(self) -> None:
        self.open = False
        if self._socket.fileno() != -1:
            self._poll.unregister(self.fd)
            self._socket.close()

    def _write(self, data: bytes) -> None:
        self._out.append(data)

    def _opened(self) -> None:
        """Connected: greet, or say at once that requests can be sent."""
        raise NotImplementedError

    def _received(self, data: bytes) -> list[Answer]:
        raise NotImplementedError

    def _connect(self) -> bool:
        """Whether connection and handshake are done."""
        if self._connected:
            return True
        fault = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if fault:
            raise OSError(fault, os.strerror(fault))
        if isinstance(self._socket, ssl.SSLSocket):
            try:
                self._socket.do_handshake()
            except ssl.SSLWantReadError:
                self._watch(select.EPOLLIN)
                return False
            except OSError as unready:
                if unready.errno == errno.ENOTCONN:
                    return False
                raise
        else:
            try:
                self._socket.getpeername()
            except OSError:  # not yet
                return False
        self._connected = True
        self._opened()
        self.flush()
        return True

    def _watch(self, events: int) -> None:
        if events != self._events:
            self._poll.modify(self.fd, events)
            self._events = events


def _name(fault: OSError) -> str:
    """A kind of failure, without what differs from one to the next."""
    if isinstance(fault, ssl.SSLCertVerificationError):
        return f"certificate refused: {fault.verify_message}"
    if isinstance(fault, ssl.SSLError):
        return f"TLS: {fault.reason or fault}".lower()
    return os.strerror(fault.errno).lower() if fault.errno else str(fault)


def resolve(target: Target) -> tuple[int, tuple[object, ...]]:
    """The address family and the address of the target's host: the first that takes a connection. Raises OSError."""
    fault: OSError = OSError(errno.EHOSTUNREACH, "no address")
    for family, kind, protocol, _, place in socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM):
        with socket.socket(family, kind, protocol) as tried:
            tried.settimeout(5)
            try:
                tried.connect(place)
                return family, place
            except OSError as refused:
                fault = refused
    raise fault
