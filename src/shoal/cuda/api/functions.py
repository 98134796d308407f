"""The functions of the driver API, as `tools/read_cuda_header.py` found them in the public header."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
LEGACY = "legacy"


@dataclass(frozen=True, slots=True)
class Parameter:
    """`type` is C's, as `unsigned int` or `CUstream*`."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Function:
    """`symbol` is what a linker finds; `name` and `version` are what `cuGetProcAddress` is asked for. `stream` tells
    how stream 0 is taken: `legacy`, or `ptsz` and `ptds` for the stream of the calling thread."""

    symbol: str
    name: str
    version: int
    stream: str
    parameters: tuple[Parameter, ...]

    @property
    def base(self) -> str:
        """The symbol without the suffix for per-thread streams."""
        return self.symbol if self.stream == LEGACY else self.symbol.removesuffix(f"_{self.stream}")


@cache
def functions() -> dict[str, Function]:
    """All, by symbol, in order of it."""
    lines = (FOLDER / "functions.tsv").read_text(encoding="utf-8").splitlines()
    found = (_read(*line.split("\t")) for line in lines)
    return {each.symbol: each for each in found}


@cache
def results() -> dict[int, str]:
    """The names of `CUresult`, by number."""
    lines = (FOLDER / "results.tsv").read_text(encoding="utf-8").splitlines()
    return {int(number): name for number, name in (line.split("\t") for line in lines)}


def _read(symbol: str, name: str, version: str, stream: str, parameters: str) -> Function:
    given = tuple(_parameter(each) for each in parameters.split(", ") if each)
    return Function(symbol, name, int(version), stream, given)


def _parameter(text: str) -> Parameter:
    type, _, name = text.rpartition(" ")
    return Parameter(type, name.removesuffix("[]")) if not name.endswith("[]") else Parameter(f"{type}*", name[:-2])
