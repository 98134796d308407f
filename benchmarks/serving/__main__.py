"""python -m benchmarks.serving     prints the tables, and writes them to benchmarks/serving.md

The same models behind Shoal and behind others, one server at a time on the first processor, and `h2load` (nghttp2) on
the last one: a load generator that costs far less than a server in Python. A gRPC call and a REST request carry the
same rows. The echo answers a gRPC call with its own bytes; "inside" calls the model in a loop with no server.

Goals: by gRPC with one row at least 0.8 of the echo; at least 3 times the best of the peers; two workers at least 1.8
times one; batching on the 24 MB model at least twice as much as without.

Peers are installed in virtual environments of their own when missing; one that cannot be installed or does not answer
is named under the table.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from benchmarks.serving.peers import PEERS

from shoal.local.ports import choose

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GRPC_PATH = "/tensorflow.serving.PredictionService/Predict"
GRPC_CASES = ("half_plus_two", "mlp", "mlp-32", "mlp-24mb")
REST_CASES = ("half_plus_two", "mlp")
PACKAGES = {"KServe": "kserve", "MLServer": "mlserver", "LitServe": "litserve", "BentoML": "bentoml"}
READY_SECONDS = 90
PROCESSORS = sorted(os.sched_getaffinity(0))

BATCHING = "max_batch_size { value: 64 } num_batch_threads { value: 1 } max_enqueued_batches { value: 100 }"


@dataclass(frozen=True)
class Load:
    """What came of one load: requests a second, and milliseconds."""

    rate: float
    p50: float
    p99: float


@dataclass(frozen=True)
class Row:
    server: str
    case: str
    in_flight: int
    load: Load | None
    megabytes: float


class Bench:
    """Measures server after server; what did not work is in `notes`."""

    def __init__(self, chosen: argparse.Namespace, folder: Path) -> None:
        self.chosen = chosen
        self.folder = folder
        self.notes: list[str] = []
        self.rows: list[Row] = []

    def grpc(self, server: str, port: int, cases: tuple[str, ...], pid: int) -> None:
        for case in cases:
            for in_flight in self.chosen.in_flight:
                clients = min(in_flight, 8)
                words = ["-c", str(clients), "-m", str(in_flight // clients), "-H", "te: trailers"]
                words += ["-H", "content-type: application/grpc", "-d", str(self.folder / f"{case}.grpc")]
                self._load(server, case, in_flight, [*words, f"http://127.0.0.1:{port}{GRPC_PATH}"], pid)

    def rest(self, server: str, port: int, path: str, case: str, form: str, pid: int) -> None:
        for in_flight in self.chosen.in_flight:
            words = ["--h1", "-c", str(in_flight), "-H", "content-type: application/json"]
            words += ["-d", str(self.folder / f"{case}.{form}"), f"http://127.0.0.1:{port}{path}"]
            self._load(server, case, in_flight, words, pid)

    def _load(self, server: str, case: str, in_flight: int, words: list[str], pid: int) -> None:
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        command = ["taskset", "-c", str(PROCESSORS[-1]), self.chosen.h2load, f"--log-file={log}"]
        command += ["-D", str(self.chosen.seconds), "--warm-up-time", "1", *words]
        subprocess.run(command, check=True, capture_output=True, timeout=60 + self.chosen.seconds)
        lines = [line.split("\t") for line in log.read_text().splitlines()]
        taken = sorted(int(line[2]) / 1000 for line in lines if line[1] == "200")
        load = None
        if len(taken) < len(lines) or len(taken) < 2:
            self.notes.append(f"{server}, {case}, {in_flight} in flight: {len(lines) - len(taken)} requests failed")
        else:
            load = Load(len(taken) / self.chosen.seconds, statistics.median(taken), taken[int(0.99 * len(taken))])
        self.rows.append(Row(server, case, in_flight, load, _peak_megabytes(pid)))
        print(self.rows[-1], file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=2, help="of each load, after one to warm up")
    parser.add_argument("--in-flight", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--h2load", default=shutil.which("h2load"), help="the program, from nghttp2")
    chosen = parser.parse_args()
    if chosen.h2load is None:
        raise SystemExit("error: no h2load on the PATH\nhint: apt-get install nghttp2-client, or --h2load PROGRAM")
    os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", PYTHONPATH=str(ROOT))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(chosen, Path(name))
        subprocess.run([sys.executable, str(HERE / "models.py"), name], check=True, capture_output=True)
        inside = _measure(bench)
    text = table(bench, inside, time.monotonic() - began)
    print(text)
    HERE.with_suffix(".md").write_text(text)


def _measure(bench: Bench) -> dict[str, float]:
    pinned = ["taskset", "-c", str(PROCESSORS[0]), sys.executable]
    command = [*pinned, str(HERE / "bounds.py"), "inside", str(bench.folder), "1"]
    inside: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    (port,) = choose(1)
    with _process([*pinned, str(HERE / "bounds.py"), "echo", str(port)], bench.folder) as process:
        time.sleep(2)
        bench.grpc("echo", port, GRPC_CASES, process.pid)
    (bench.folder / "batching").write_text(BATCHING)
    joining = ("--enable_batching", f"--batching_parameters_file={bench.folder / 'batching'}")
    _measure_shoal(bench, "shoal", (), GRPC_CASES, REST_CASES)
    _measure_shoal(bench, "shoal, batching", joining, ("mlp", "mlp-24mb"))
    if len(PROCESSORS) > 2:
        _measure_shoal(bench, "shoal, 2 workers", ("--workers=2",), GRPC_CASES, processors=2)
    else:
        bench.notes.append("Two workers take two processors, and the load a third; there are 2 here.")
    for peer in bench.chosen.peers:
        _measure_peer(bench, peer)
    return inside


def _measure_shoal(
    bench: Bench,
    server: str,
    words: tuple[str, ...],
    grpc_cases: tuple[str, ...],
    rest_cases: tuple[str, ...] = (),
    processors: int = 1,
) -> None:
    names = ("half_plus_two", "mlp", "mlp-24mb")
    config = bench.folder / "models.config"
    models = "".join(f'config {{ name: "{name}" base_path: "{bench.folder / name}" }} ' for name in names)
    config.write_text(f"model_config_list {{ {models} }}")
    grpc_port, rest_port = choose(2)
    command = ["taskset", "-c", ",".join(map(str, PROCESSORS[:processors]))]
    command += [str(Path(sys.executable).with_name("shoal")), "serve", f"--model_config_file={config}", *words]
    command += [f"--port={grpc_port}", f"--rest-port={rest_port}"]
    with _process(command, bench.folder) as process:
        for name in names:
            _until_answered(
                f"http://127.0.0.1:{rest_port}/v1/models/{name}:predict", bench.folder / f"{name}.instances"
            )
        bench.grpc(f"{server}, gRPC", grpc_port, grpc_cases, process.pid)
        for case in rest_cases:
            path = f"/v1/models/{case}:predict"
            bench.rest(f"{server}, REST", rest_port, path, case, "instances", process.pid)


def _measure_peer(bench: Bench, peer: str) -> None:
    try:
        python = _environment(PACKAGES[peer])
    except subprocess.CalledProcessError as fault:
        bench.notes.append(f"{peer} could not be installed: {fault.stderr.strip().splitlines()[-1]}")
        return
    _, path, form = PEERS[peer]
    for case in REST_CASES:
        port = choose(3)[0]
        command = ["taskset", "-c", str(PROCESSORS[0]), str(python), str(HERE / "peers.py"), peer]
        with _process([*command, str(bench.folder / case), str(port)], bench.folder) as process:
            try:
                _until_answered(f"http://127.0.0.1:{port}{path}", bench.folder / f"{case}.{form}")
            except TimeoutError as fault:
                bench.notes.append(f"{peer}, {case}: {fault}; its output ended with {_last_line(bench.folder / 'out')}")
                continue
            bench.rest(f"{peer}, REST", port, path, case, form, process.pid)


def _environment(package: str) -> Path:
    """The Python that has a peer."""
    root = Path(os.environ.get("SHOAL_CACHE") or Path.home() / ".cache" / "shoal")
    folder = root / "benchmarks" / package
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        print(f"installing {package} …", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", package, "tensorflow-cpu>=2.21,<2.22"]
        subprocess.run(install, check=True, capture_output=True, text=True)
        (folder / "ready").touch()
    return python


@contextmanager
def _process(command: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server, ended with all its children."""
    with (folder / "out").open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        yield process
    finally:
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        process.terminate()
        _, alive = psutil.wait_procs(family, 5)
        for each in alive:
            each.kill()
        process.wait()


def _until_answered(url: str, body: Path) -> None:
    """Ask until there is an answer. Raises TimeoutError with what came instead."""
    deadline = time.monotonic() + READY_SECONDS
    request = urllib.request.Request(url, body.read_bytes(), {"Content-Type": "application/json"})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=10):
                return
        except OSError as fault:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no answer within {READY_SECONDS} s ({fault})") from None
        time.sleep(0.5)


def _peak_megabytes(pid: int) -> float:
    """Of a process and its children, the most that each of them has taken so far."""
    peak = 0.0
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak += sum(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    return peak


def _last_line(file: Path) -> str:
    return (file.read_text(errors="replace").strip().splitlines() or ["nothing"])[-1][:200]


def table(bench: Bench, inside: Mapping[str, float], seconds: float) -> str:
    bounds = {(row.case, row.in_flight): row.load for row in bench.rows if row.server == "echo"}
    plain = {(row.case, row.in_flight): row.load for row in bench.rows if row.server == "shoal, REST"}
    lines = [
        "# Model servers",
        "",
        f"{datetime.date.today()}, {len(PROCESSORS)} processors, load average {os.getloadavg()[1]:.1f}; "
        f"{bench.chosen.seconds} s each, {seconds / 60:.0f} minutes in all.",
        "Made by `python -m benchmarks.serving`, which says what is measured. Ratios are to the echo by gRPC, and to "
        "Shoal by REST.",
        "",
        "| server | model | in flight | requests/s | ratio | p50 ms | p99 ms | peak MB |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in bench.rows:
        base = (plain if "REST" in row.server else bounds).get((row.case, row.in_flight))
        figures = "| – | – | – | –"
        if row.load is not None:
            ratio = f"{row.load.rate / base.rate:.2f}" if base else "–"
            figures = f"| {row.load.rate:,.0f} | {ratio} | {row.load.p50:.1f} | {row.load.p99:.1f}"
        lines.append(f"| {row.server} | {row.case} | {row.in_flight} {figures} | {row.megabytes:.0f} |")
    calls = "; ".join(f"{case} {rate:,.0f}" for case, rate in inside.items())
    lines += ["", f"Inside, calls a second of one thread: {calls}.", "", *(f"* {note}" for note in bench.notes)]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    main()
