"""Kubernetes quantities: `500m`, `2`, `4Gi`.

The grammar and the suffixes are those of
https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Final

from pydantic import AfterValidator, StrictInt, StrictStr, WithJsonSchema

PATTERN: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$"

_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_NUMBER_AND_SUFFIX = re.compile(r"([+-]?[0-9.]+)(.*)")


def parse_quantity(text: int | str) -> Decimal:
    """The number that a quantity stands for: bytes for memory, cores for CPU. Raises ValueError if it is none."""
    match = re.match(PATTERN, str(text)) and _NUMBER_AND_SUFFIX.fullmatch(str(text))
    if not match:
        raise ValueError(f"{text!r} is not a quantity such as 500m, 2 or 4Gi")
    number, suffix = Decimal(match[1]), match[2]
    if suffix in _BINARY_SUFFIXES:
        return number * Decimal(1024) ** _BINARY_SUFFIXES[suffix]
    return number.scaleb(_SUFFIXES[suffix] if suffix in _SUFFIXES else int(suffix[1:]))


def _check(value: int | str) -> int | str:
    parse_quantity(value)
    return value


Quantity = Annotated[
    StrictInt | StrictStr,
    AfterValidator(_check),
    WithJsonSchema({"x-kubernetes-int-or-string": True, "pattern": PATTERN}),
]
"""As written: `2` stays the number, `4Gi` the text."""
