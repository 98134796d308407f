"""What travels. A message has a number, fields of fixed size and perhaps data behind them; so has what is answered.

A request's header is four little-endian words: bytes that follow it, the message's number, a sequence number, and the
context that it is for (0: none). A reply's header: bytes that follow, the result (a `CUresult`), the sequence number
of what it answers, and how many of the bytes are what kernels have printed. Behind the token and a line's end the
server sends a reply with what it has, before any request.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache

from shoal.cuda.api.answers import REMOTE, Mode
from shoal.cuda.api.functions import Parameter, functions

PROTOCOL = 2
"""Told by the server; a client of another one does not go on."""

HEADER = struct.Struct("<IIII")

FIELD_TYPES = {
    "CUdeviceptr": "Q",
    "size_t": "Q",
    "CUstream": "Q",
    "CUevent": "Q",
    "CUfunction": "Q",
    "unsigned int": "I",
    "unsigned short": "I",
    "unsigned char": "I",
    "int": "i",
    "float": "f",
}
"""The layout of a field, as the `struct` module writes it, by C's type."""


@dataclass(frozen=True, slots=True)
class Message:
    """`fields` and `gives` are layouts as the `struct` module writes them. `data` tells that bytes follow the fields;
    a message whose reply has no fixed layout gives `...`. One that `waits` is answered when what it is about has come,
    and others before it."""

    name: str
    fields: str = ""
    gives: str = ""
    mode: Mode = Mode.SYNC
    data: bool = False
    waits: bool = False

    @property
    def layout(self) -> struct.Struct:
        return struct.Struct("<" + self.fields)


WRITTEN = (
    Message("open", "I", "I"),
    Message("close"),
    Message("synchronize", waits=True),
    Message("allocate", "Q", "Q"),
    Message("free", "Q", mode=Mode.POSTED),
    Message("write", "QQ", mode=Mode.POSTED, data=True),
    Message("write_and_wait", "QQ", data=True, waits=True),
    Message("read", "QQQ", "...", waits=True),
    Message("load_known", "QQ", "..."),
    Message("load", "QQI", "...", data=True),
    Message("unload", "I", mode=Mode.POSTED),
    Message("variable", "I", "QQ", data=True),
    Message("set_attribute", "Qii"),
    Message("launch", "QIIIIIIIQ", mode=Mode.POSTED, data=True),
    Message("call", "QQ", mode=Mode.POSTED),
    Message("next_call", "", "...", waits=True),
    Message("called", "Q"),
)
"""Those of C code that is written by hand."""


WAITING = ("synchronize_event", "synchronize_stream")


def is_output(parameter: Parameter) -> bool:
    return parameter.type.endswith("*")


@cache
def messages() -> dict[int, Message]:
    """All, by number; 0 is none."""
    generated = [_of(symbol) for symbol in sorted(REMOTE)]
    return dict(enumerate((*WRITTEN, *generated), start=1))


def _of(symbol: str) -> Message:
    given = functions()[symbol].parameters
    fields = "".join(FIELD_TYPES[each.type] for each in given if not is_output(each))
    gives = "".join(FIELD_TYPES[each.type.removesuffix("*")] for each in given if is_output(each))
    told = REMOTE[symbol].message
    return Message(told, fields, gives, REMOTE[symbol].mode, waits=told in WAITING)
