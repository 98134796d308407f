"""python benchmarks/load.py     prints the table, and writes it to benchmarks/load.md

What `shoal bench serve` says of a model server against what `wrk` (REST) and `h2load` (gRPC) say of the same one: the
server on the first processor, the load on the last, closed loop, in turns: first one, then the other, so that what
changes on the machine meets both. Each cell is the median of the rounds' ratios, ours to the peer's.

Goals: requests a second within 10 %, the 99th percentile within 20 %.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
SHOAL = str(Path(sys.executable).with_name("shoal"))
PROCESSORS = sorted(os.sched_getaffinity(0))
CASES = ("half_plus_two", "mlp", "mlp-32")
GRPC_PATH = "/tensorflow.serving.PredictionService/Predict"
CONNECTIONS = 8
"""That gRPC's calls share, at most."""

LUA = """
local file = io.open("{body}", "rb")
wrk.method, wrk.body = "POST", file:read("*a")
wrk.headers["Content-Type"] = "application/json"
"""


class Found(NamedTuple):
    """Requests a second, and milliseconds."""

    rate: float
    p50: float
    p99: float


class Row(NamedTuple):
    protocol: str
    case: str
    in_flight: int
    ours: list[Found]
    theirs: list[Found]

    def ratio(self, read: Callable[[Found], float]) -> float:
        return statistics.median(read(mine) / read(other) for mine, other in zip(self.ours, self.theirs, strict=True))

    def median(self, whose: list[Found], read: Callable[[Found], float]) -> float:
        return statistics.median(map(read, whose))


class Bench:
    def __init__(self, chosen: argparse.Namespace, folder: Path, grpc: int, rest: int) -> None:
        self.chosen, self.folder, self.grpc, self.rest = chosen, folder, grpc, rest
        self.pinned = ["taskset", "-c", str(PROCESSORS[-1])]

    def row(self, protocol: str, case: str, in_flight: int) -> Row:
        theirs = self.wrk if protocol == "REST" else self.h2load
        pairs = []
        for number in range(self.chosen.rounds):
            turns: list[Callable[[], Found]] = [
                lambda: self.shoal(protocol, case, in_flight),
                lambda: theirs(case, in_flight),
            ]
            order = (0, 1) if number % 2 == 0 else (1, 0)
            found = {which: turns[which]() for which in order}
            pairs.append((found[0], found[1]))
        row = Row(protocol, case, in_flight, [ours for ours, _ in pairs], [other for _, other in pairs])
        print(f"{protocol} {case} {in_flight}: rate {row.ratio(rate):.3f}, p99 {row.ratio(p99):.3f}", file=sys.stderr)
        return row

    def shoal(self, protocol: str, case: str, in_flight: int) -> Found:
        at = f"http://127.0.0.1:{self.rest}" if protocol == "REST" else f"127.0.0.1:{self.grpc}"
        words = ["--at", at, "--model", model(case), "--input", f"x={self.folder / f'{case}.npy'}", "-o", "json"]
        words += ["--concurrency", str(in_flight), "--duration", f"{self.chosen.seconds}s", "--warmup", "1s"]
        told = json.loads(self._run([SHOAL, "bench", "serve", *words]))
        assert not told["failures"], told["failures"]
        return Found(told["requests_per_second"], told["latency_ms"]["p50"], told["latency_ms"]["p99"])

    def wrk(self, case: str, in_flight: int) -> Found:
        script = self.folder / f"{case}.lua"
        script.write_text(LUA.format(body=self.folder / f"{case}.body"))
        url = f"http://127.0.0.1:{self.rest}/v1/models/{model(case)}:predict"
        told = self._run(
            ["wrk", "-t1", f"-c{in_flight}", f"-d{self.chosen.seconds}s", "--latency", "-s", str(script), url]
        )
        assert "Non-2xx" not in told, told
        measured = re.search(r"Requests/sec:\s+([\d.]+)", told)
        assert measured, told
        return Found(float(measured[1]), _milliseconds(told, "50"), _milliseconds(told, "99"))

    def h2load(self, case: str, in_flight: int) -> Found:
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        clients = min(in_flight, CONNECTIONS)
        words = ["-c", str(clients), "-m", str(in_flight // clients), "-H", "te: trailers"]
        words += ["-H", "content-type: application/grpc", "-d", str(self.folder / f"{case}.grpc")]
        words += ["-D", str(self.chosen.seconds), "--warm-up-time", "1", f"--log-file={log}"]
        self._run(["h2load", *words, f"http://127.0.0.1:{self.grpc}{GRPC_PATH}"])
        lines = [line.split("\t") for line in log.read_text().splitlines()]
        taken = sorted(int(line[2]) / 1000 for line in lines if line[1] == "200")
        assert len(taken) == len(lines), "requests failed"
        return Found(len(taken) / self.chosen.seconds, statistics.median(taken), taken[int(0.99 * len(taken))])

    def _run(self, command: list[str]) -> str:
        return subprocess.run(
            [*self.pinned, *command], check=True, capture_output=True, text=True, timeout=60 + self.chosen.seconds
        ).stdout


def rate(found: Found) -> float:
    return found.rate


def p50(found: Found) -> float:
    return found.p50


def p99(found: Found) -> float:
    return found.p99


def model(case: str) -> str:
    return case.removesuffix("-32")


def _milliseconds(told: str, percent: str) -> float:
    found = re.search(rf"^\s+{percent}%\s+([\d.]+)(us|ms|s)$", told, re.MULTILINE)
    assert found, told
    return float(found[1]) * {"us": 0.001, "ms": 1, "s": 1000}[found[2]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=5, help="of each load, after one to warm up")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--in-flight", type=int, nargs="+", default=[1, 16, 64])
    chosen = parser.parse_args()
    for program, package in (("wrk", "wrk"), ("h2load", "nghttp2-client")):
        if shutil.which(program) is None:
            raise SystemExit(f"error: no {program} on the PATH\nhint: apt-get install {package}")
    os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        rows = measure(chosen, Path(name))
    text = table(rows, chosen, time.monotonic() - began)
    print(text)
    (HERE / "load.md").write_text(text)


def measure(chosen: argparse.Namespace, folder: Path) -> list[Row]:
    import numpy as np

    from shoal.local.ports import choose

    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    models = [sys.executable, str(HERE / "serving" / "models.py"), str(folder)]
    subprocess.run(models, check=True, capture_output=True, env=environment)
    for case in CASES:
        rows = json.loads((folder / f"{case}.instances").read_text())["instances"]
        np.save(folder / f"{case}.npy", np.asarray(rows, np.float32))
    served = "".join(
        f'config {{ name: "{each}" base_path: "{folder / each}" model_platform: "tensorflow" }}'
        for each in ("half_plus_two", "mlp")
    )
    (folder / "models.config").write_text(f"model_config_list {{ {served} }}")
    grpc, rest = choose(2)
    command = ["taskset", "-c", str(PROCESSORS[0]), SHOAL, "serve", "--port", str(grpc)]
    command += ["--rest_api_port", str(rest), "--model_config_file", str(folder / "models.config")]
    with (folder / "server.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            wait_until_ready(rest, "mlp")
            write_bodies(folder, rest)
            bench = Bench(chosen, folder, grpc, rest)
            return [
                bench.row(protocol, case, in_flight)
                for protocol in ("REST", "gRPC")
                for case in CASES
                for in_flight in chosen.in_flight
            ]
        finally:
            server.terminate()


def write_bodies(folder: Path, port: int) -> None:
    """What `bench serve` asks by REST, so that `wrk` asks the same: rows and columns cost a server differently."""
    import numpy as np

    from shoal.serving.client import address
    from shoal.serving.client.connection import DEFAULT_SIGNATURE, Asked
    from shoal.serving.client.rest_client import RestConnection, predict_body

    connection = RestConnection(address.parse(f"http://127.0.0.1:{port}"), timeout=30)
    for case in CASES:
        signature = connection.metadata(Asked(model(case))).find(DEFAULT_SIGNATURE)
        body = predict_body(signature, {"x": np.load(folder / f"{case}.npy")})
        (folder / f"{case}.body").write_bytes(body)
    connection.close()


def wait_until_ready(port: int, name: str) -> None:
    deadline = time.monotonic() + 90
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models/{name}", timeout=5) as answer:
                if b'"AVAILABLE"' in answer.read():
                    return
        except (urllib.error.URLError, ConnectionError):
            pass
        if time.monotonic() > deadline:
            raise SystemExit("error: the model server was not ready within 90 s")
        time.sleep(0.2)


def table(rows: list[Row], chosen: argparse.Namespace, seconds: float) -> str:
    lines = [
        "# `shoal bench serve` against `wrk` and `h2load`",
        "",
        f"{datetime.date.today()}, {os.cpu_count()} processors, `shoal serve` on the first, the load on the last, "
        f"{chosen.rounds} rounds of {chosen.seconds} s each; {seconds:.0f} s in all. REST is against `wrk`, gRPC "
        "against `h2load`, with one connection for each request in flight by REST, and at most "
        f"{CONNECTIONS} by gRPC. Ratios are the median of the rounds' own, ours / theirs. Milliseconds.",
        "",
        "| protocol | request | in flight | theirs: requests/s | p50 | p99 | ours: requests/s | p50 | p99 "
        "| requests/s ratio (goal 0.9–1.1) | p99 ratio (goal 0.8–1.2) |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        figures = []
        for whose in (row.theirs, row.ours):
            figures += [f"{row.median(whose, rate):,.0f}", f"{row.median(whose, p50):.2f}"]
            figures += [f"{row.median(whose, p99):.2f}"]
        ratios = [f"**{row.ratio(rate):.2f}**", f"**{row.ratio(p99):.2f}**"]
        lines.append(f"| {' | '.join([row.protocol, row.case, str(row.in_flight), *figures, *ratios])} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
