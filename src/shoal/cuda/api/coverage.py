"""The page that says what of the driver API is answered, and why the rest is not."""

from __future__ import annotations

from collections import defaultdict

from shoal.cuda.api.answers import Mode, answers
from shoal.cuda.api.functions import LEGACY, functions

MEANS = {
    Mode.SYNC: "asks the server, and waits",
    Mode.POSTED: "is sent, and not waited for; its fault is the result of a later call",
    Mode.LOCAL: "is answered in the program's own process",
}


def coverage() -> str:
    """`docs/cuda-coverage.md`."""
    told = answers()
    answered: dict[Mode, list[str]] = defaultdict(list)
    refused: dict[str, list[str]] = defaultdict(list)
    for symbol, function in functions().items():
        if function.stream != LEGACY:
            continue
        if (mode := told[symbol].mode) is not None:
            answered[mode].append(symbol)
        else:
            refused[told[symbol].why].append(symbol)
    count = sum(map(len, answered.values()))
    every = count + sum(map(len, refused.values()))
    lines = [
        "# What of the CUDA driver API is answered",
        "",
        "<!-- Written by python -m shoal.cuda.api; change src/shoal/cuda/api/answers.py. -->",
        "",
        f"`libcuda.so.1` has {len(functions())} symbols: {every} functions with their older versions, and variants for",
        f"per-thread default streams. {count} of the functions are answered. The others answer",
        "`CUDA_ERROR_NOT_SUPPORTED`, and the first call of each is named on standard error. A variant is answered as",
        "its function is. How it works is in [cuda-wire.md](cuda-wire.md).",
    ]
    for mode, meaning in MEANS.items():
        lines += ["", f"## {mode.value.capitalize()}: {len(answered[mode])}", "", f"Each {meaning}.", ""]
        lines += [_list(answered[mode])]
    lines += ["", f"## Refused: {sum(map(len, refused.values()))}"]
    for why, symbols in sorted(refused.items()):
        lines += ["", f"**{why[0].upper()}{why[1:]}** ({len(symbols)}):", _list(symbols)]
    return "\n".join(lines) + "\n"


def _list(symbols: list[str]) -> str:
    return ", ".join(f"`{symbol}`" for symbol in symbols)
