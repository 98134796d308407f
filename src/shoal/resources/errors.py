"""What can be wrong with a manifest, and the exception that says all of it at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake: where it is, what is wrong and, where that can be told, what to do.

    `document` counts from 1 and is None where the source holds one document only; `line` counts from 1.
    """

    source: str
    document: int | None
    line: int | None
    path: str
    problem: str
    hint: str = ""

    def __str__(self) -> str:
        """`job.yaml:12 (document 2) spec.runPolicy.cleanPodPolcy: unknown field; did you mean cleanPodPolicy?`"""
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        document = "" if self.document is None else f"(document {self.document})"
        where = " ".join(part for part in (place, document, self.path) if part)
        what = f"{self.problem}; {self.hint}" if self.hint else self.problem
        return f"{where}: {what}" if where else what


class ManifestError(Exception):
    """A manifest that cannot be used as it is. `faults` are all that were found, in the order of the text."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))
