"""PTX text to tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

from shoal.cuda.soft.ptx.tree import PtxError

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f\v]+|//[^\n]*|/\*.*?\*/)
    |(?P<newline>\n)
    |(?P<string>"[^"\n]*")
    |(?P<dot>\.[A-Za-z0-9_]+(?:::[A-Za-z0-9_]+)*)
    |(?P<real>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    |(?P<number>0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|[0-9]+U?)
    |(?P<name>[A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+|_)
    |(?P<mark>[][{}()<>,;:@!|+*=-])
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """`kind` is string, dot, real, number, name, mark or end."""

    kind: str
    text: str
    line: int


def tokens(text: str) -> list[Token]:
    found = []
    line = 1
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise PtxError(f"{text[at]!r} is not PTX", line)
        kind = match.lastgroup
        at = match.end()
        if kind == "newline":
            line += 1
        elif kind == "space":
            line += match.group().count("\n")
        else:
            found.append(Token(kind or "", match.group(), line))
    found.append(Token("end", "the end", line))
    return found
