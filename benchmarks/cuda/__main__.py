"""python -m benchmarks.cuda     prints the table, and writes it to benchmarks/cuda.md

What the CUDA wire costs a program in C, against what no wire can beat on this machine: a bare exchange of messages over
loopback, and memcpy. Client and server share the machine. The server's GPU is a software GPU, whose own time is told
beside: a small launch costs it far more than the wire.

Goals: a launch costs its caller 2 µs; a round trip 1.3 times a bare one; copies 0.9 of bare loopback. A loop as in
training is repeated with added latency, by a relay in between.
"""

from __future__ import annotations

import argparse
import datetime
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.integration.cuda.servers import HERE as TESTS
from tests.integration.cuda.servers import Server, serving

from shoal.cuda.environment import CLIENT, SERVERS

HERE = Path(__file__).parent
SIZES = (1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26, 1 << 28)
MEMORY_MIB = 2048
LATENCIES = (0.0, 0.0005, 0.005)


class Bench:
    """Programs are built into `folder`. Every method answers seconds."""

    def __init__(self, folder: Path) -> None:
        compiler = ["gcc", "-std=gnu11", "-O2", "-Wall", "-Werror"]
        self._wire, self._bare = folder / "wire", folder / "bare"
        subprocess.run([*compiler, HERE / "bare.c", "-o", self._bare], check=True)
        words = [f"-I{TESTS / 'programs'}", HERE / "wire.c", "-o", self._wire, f"-L{CLIENT}", "-l:libcuda.so.1"]
        subprocess.run([*compiler, *words], check=True)
        self._environment: dict[str, str] = {}

    @contextmanager
    def served(self, latency: float = 0.0) -> Iterator[None]:
        """With a server of one software GPU, and so much added to each round trip."""
        gpu = {"id": "software-0", "model": "software", "memory_mib": MEMORY_MIB}
        with serving(given=[gpu]) as server, _relayed(server, latency) as environment:
            self._environment = environment
            yield

    def wire(self, *words: object) -> list[float]:
        return _numbers([str(self._wire), *map(str, words)], self._environment)

    def bare(self, *words: object) -> list[float]:
        return _numbers([str(self._bare), *map(str, words)], dict(os.environ))


@contextmanager
def _relayed(server: Server, latency: float) -> Iterator[dict[str, str]]:
    environment = server.environment()
    if not latency:
        yield environment
        return
    command = [sys.executable, str(HERE / "relay.py"), server.address, str(latency / 2)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as relay:
        try:
            assert relay.stdout is not None
            yield environment | {SERVERS: relay.stdout.readline().strip()}
        finally:
            relay.kill()


def _numbers(command: list[str], environment: dict[str, str]) -> list[float]:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise SystemExit(f"error: {' '.join(command)}: {done.stderr}")
    return [float(line) for line in done.stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    lines = [
        "# The CUDA wire",
        "",
        f"{datetime.date.today()}, {os.cpu_count()} processors, client and server on them; medians of {rounds} rounds, "
        "bare and wire in turns. No real GPU has been at the other end.",
        "",
    ]
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name))
        with bench.served():
            lines += _calls(bench, rounds)
            lines += _copies(bench, rounds)
        lines += _loop(bench)
    text = "\n".join(lines) + "\n"
    print(text)
    HERE.with_suffix(".md").write_text(text)


def _calls(bench: Bench, rounds: int) -> list[str]:
    burst = [bench.wire("launches", 400) for _ in range(rounds)]
    sustained = [bench.wire("launches", 20_000) for _ in range(rounds)]
    pairs = [
        (statistics.median(bench.bare("trips", 5000)), statistics.median(bench.wire("trips", 5000)))
        for _ in range(rounds)
    ]
    starts = [bench.wire("start")[0] for _ in range(rounds)]
    caller, whole = statistics.median(each[0] for each in burst), statistics.median(each[1] for each in sustained)
    bare, wire = (statistics.median(each[at] for each in pairs) for at in (0, 1))
    return [
        "| | | |",
        "| --- | ---: | --- |",
        f"| a launch, for its caller, in a burst of 400 | {1e6 * caller:.2f} µs | goal 2 µs |",
        f"| launches a second, sustained over 20,000 | {1 / whole:,.0f} | the software GPU's own pace |",
        f"| a round trip, `cuMemGetInfo` | {1e6 * wire:.1f} µs | bare {1e6 * bare:.1f} µs, ratio "
        f"**{statistics.median(there / here for here, there in pairs):.2f}** (goal 1.3) |",
        f"| start of a program, up to its context | {1000 * statistics.median(starts):.1f} ms | |",
        "",
    ]


def _copies(bench: Bench, rounds: int) -> list[str]:
    lines = [
        "GB/s; ratios are to bare loopback TCP (goal 0.9).",
        "",
        "| bytes | memcpy | bare | to the GPU | ratio | from the GPU | ratio |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for size in SIZES:
        count = max(3, min(500, (1 << 28) // size))
        found = [
            [
                size / statistics.median(seconds)
                for seconds in (
                    bench.bare("memory", size, count),
                    bench.bare("copies", size, count),
                    bench.wire("upload", size, count),
                    bench.wire("download", size, count),
                )
            ]
            for _ in range(rounds)
        ]
        memory, bare, up, down = (statistics.median(each[at] for each in found) / 1e9 for at in range(4))
        ratios = [statistics.median(each[at] / each[1] for each in found) for at in (2, 3)]
        row = [f"{size:,}", f"{memory:.2f}", f"{bare:.3f}", f"{up:.3f}", f"**{ratios[0]:.2f}**", f"{down:.3f}"]
        lines.append(f"| {' | '.join([*row, f'**{ratios[1]:.2f}**'])} |")
    return [*lines, ""]


def _loop(bench: Bench) -> list[str]:
    lines = [
        "A step of 2,000 small launches, a copy of 64 KiB each way and one wait, with latency added to a round trip.",
        "",
        "| added | ms a step | against none |",
        "| ---: | ---: | ---: |",
    ]
    first = 0.0
    for latency in LATENCIES:
        with bench.served(latency):
            taken = statistics.median(bench.wire("steps", 8))
        first = first or taken
        lines.append(f"| {1000 * latency:g} ms | {1000 * taken:.1f} | **{taken / first:.2f}** |")
    return lines


if __name__ == "__main__":
    main()
