"""Write `src/shoal/cuda/api/functions.tsv`, the driver API as data, from the facts of NVIDIA's public header.

    pip download --no-deps nvidia-cuda-runtime && unzip nvidia_cuda_runtime-*.whl
    python tools/read_cuda_header.py nvidia/cu13/include

A line is a symbol of libcuda.so.1: its name, the name by which `cuGetProcAddress` is asked for it, the CUDA version it
came with, how it takes stream 0 (`legacy`, or per thread: `ptsz`, `ptds`), and its parameters. `results.tsv` beside it
has the numbers and names of `CUresult`. The header itself is not kept.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "src/shoal/cuda/api"

UNTOLD = 12000
"""Taken for the version of functions of which the header's typedefs do not tell it; all of them are newer than 11."""

PROFILER = {
    "cuProfilerStart": ("cuProfilerStart", 4000, "legacy"),
    "cuProfilerStop": ("cuProfilerStop", 4000, "legacy"),
}
"""Of cudaProfiler.h, which is another package's; they take nothing."""


def functions(include: Path) -> list[str]:
    """The lines of functions.tsv."""
    defined = ("-D__CUDA_API_VERSION_INTERNAL", "-I", str(include))
    command = ["gcc", "-E", "-P", *defined, "-x", "c", str(include / "cuda.h")]
    header = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"CUresult\s+(cu\w+)\s*\(([^;{]*?)\)\s*;", header, re.S)
    parameters = {name: _tidy(text) for name, text in found}
    versions: dict[tuple[str, str], set[int]] = defaultdict(set)
    typedefs = (include / "cudaTypedefs.h").read_text()
    for base, version, stream in re.findall(r"\*PFN_(\w+?)_v(\d+)(_ptsz|_ptds)?\)\(", typedefs):
        versions[base, stream].add(int(version))
    parameters |= dict.fromkeys(PROFILER, "")
    told = dict(PROFILER)
    for (base, stream), known in versions.items():
        symbols = [f"{base}{suffix}{stream}" for suffix in ("", *(f"_v{i}" for i in range(2, 9)))]
        for symbol, version in zip((s for s in symbols if s in parameters), sorted(known), strict=True):
            told[symbol] = base, version, stream.removeprefix("_") or "legacy"
    return [
        "\t".join((symbol, base, str(version), stream, parameters[symbol]))
        for symbol in sorted(parameters)
        for base, version, stream in [told.get(symbol) or _untold(symbol)]
    ]


def results(include: Path) -> list[str]:
    """The lines of results.tsv."""
    header = (include / "cuda.h").read_text()
    found = dict(re.findall(r"\b(CUDA_(?:SUCCESS|ERROR_\w+))\s*=\s*(\d+)", header))
    return [f"{number}\t{name}" for name, number in sorted(found.items(), key=lambda each: int(each[1]))]


def _tidy(text: str) -> str:
    """Parameters as `type name, type name`, where a pointer's star belongs to its type."""
    text = " ".join(text.split())
    return "" if text == "void" else re.sub(r"\s*(\*+)\s*", r"\1 ", text).replace(" ,", ",").strip()


def _untold(symbol: str) -> tuple[str, int, str]:
    base, _, stream = symbol.partition("_")
    return base, UNTOLD, stream or "legacy"


def main() -> None:
    include = Path(sys.argv[1])
    for name, lines in (("functions.tsv", functions(include)), ("results.tsv", results(include))):
        (FOLDER / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
