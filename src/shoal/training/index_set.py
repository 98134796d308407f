"""Sets of replica indices as text, the way Kubernetes' indexed Jobs write them: `0-3,7`.

A status that listed a thousand finished workers one by one would outgrow the object it lives in.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby


def parse_indices(text: str) -> set[int]:
    """`0-3,7` → {0, 1, 2, 3, 7}. Raises ValueError on anything else; the empty text is the empty set."""
    indices: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        indices.update(range(int(first), int(last or first) + 1))
    return indices


def format_indices(indices: Iterable[int]) -> str:
    """{0, 1, 2, 3, 7} → `0-3,7`."""
    runs = groupby(enumerate(sorted(set(indices))), key=lambda pair: pair[1] - pair[0])
    spans = ([index for _, index in run] for _, run in runs)
    return ",".join(str(span[0]) if len(span) == 1 else f"{span[0]}-{span[-1]}" for span in spans)
