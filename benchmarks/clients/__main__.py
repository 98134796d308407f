"""python -m benchmarks.clients     prints the tables, and writes them to benchmarks/clients.md

First what it costs each client, one after the other, to keep all pods and jobs of a cluster in memory; pods have a
scheduling gate, so that nobody but the API server and the client is at work. Then, on a small cluster and with all
clients at once behind a proxy, whether what they know is right after a cut connection, after a cut so long that the
server has forgotten the version (410 Gone), and with a connection that has fallen silent.

The candidates are the dependency group `bench`, installed in a virtual environment of their own when it is missing.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tomllib
import urllib.request
import venv
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml
from benchmarks.clients.candidates import CANDIDATES
from benchmarks.clients.proxy import Mode, Proxy
from benchmarks.operator_scale.contenders import Bare
from benchmarks.operator_scale.jobs import TFJOBS, Request, post, tfjob
from benchmarks.operator_scale.processes import peak_megabytes
from tests.cluster.api.operators import install_crds
from tests.cluster.api_level import ApiCluster
from tests.cluster.binaries import binaries, kubernetes_version
from tests.cluster.cache import cache_folder
from tests.cluster.errors import ClusterError
from tests.cluster.pods import container, pod
from tests.cluster.programs import run_to_end

from shoal.kubernetes.operator.kinds import PODS

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("candidates.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--size", type=int, default=8, help="pods of a job")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a client is given up")
    parser.add_argument("--silence", type=float, default=200, help="seconds to wait for who notices silence")
    chosen = parser.parse_args()
    try:
        python = environment()
        costs = asyncio.run(measure_costs(chosen, python))
        right = asyncio.run(measure_correctness(chosen, python))
    except ClusterError as fault:
        raise SystemExit(f"error: {fault}") from fault
    text = tables(chosen, costs, right)
    print(text)
    Path(__file__).parent.with_suffix(".md").write_text(text)


@dataclass(frozen=True)
class Cost:
    """Until all was known; `wall` is inf where that took too long."""

    wall: float
    cpu: float
    peak: float


async def measure_costs(chosen: argparse.Namespace, python: Path) -> dict[str, list[Cost]]:
    costs: dict[str, list[Cost]] = {name: [] for name in CANDIDATES}
    with ApiCluster(binaries()) as cluster:
        install_crds(cluster)
        bare = Bare(cluster, 64)
        bare.send(list(_jobs(chosen.jobs)))
        bare.send(list(_pods(chosen.jobs, chosen.size)))
        tell(f"{chosen.jobs * chosen.size} pods are there")
        for _ in range(chosen.rounds):
            for name in CANDIDATES:
                with candidate(python, name, cluster.kubeconfig, cluster.folder) as process:
                    costs[name].append(await _cost(process, chosen))
                tell(f"{name}: {costs[name][-1]}")
    return costs


async def _cost(process: Candidate, chosen: argparse.Namespace) -> Cost:
    loop = asyncio.get_running_loop()
    began, seen = loop.time(), psutil.Process(process.pid)
    while (took := loop.time() - began) < chosen.limit:
        known = await process.known()
        if known["pods"] >= chosen.jobs * chosen.size and known["jobs"] >= chosen.jobs:
            return Cost(took, sum(seen.cpu_times()[:2]), peak_megabytes(process.pid))
        await asyncio.sleep(0.2)
    return Cost(float("inf"), sum(seen.cpu_times()[:2]), peak_megabytes(process.pid))


async def measure_correctness(chosen: argparse.Namespace, python: Path) -> dict[str, dict[str, str]]:
    """For each candidate what it got right, by trial."""
    with ApiCluster(binaries()) as cluster:
        install_crds(cluster)
        probe = cluster.kubectl.within("probe")
        cluster.kubectl("create", "namespace", "probe")
        probe.apply(_gated("first"), _gated("second"))
        async with _behind(cluster) as (proxy, kubeconfig):
            trials: dict[str, dict[str, str]] = {name: {} for name in CANDIDATES}
            with _all(python, CANDIDATES, kubeconfig, cluster.folder) as candidates:
                await _wait(candidates, "second", "", 30)

                proxy.set(Mode.CUT)
                probe.apply(_gated("third"))
                probe("delete", "pod", "first", "--grace-period=0", "--force")
                proxy.set(Mode.PASS)
                for name, told in (await _wait(candidates, "third", "first", 30)).items():
                    trials[name]["connection cut"] = told

                proxy.set(Mode.CUT)
                probe.apply(_gated("fourth"))
                probe("delete", "pod", "second", "--grace-period=0", "--force")
                await asyncio.to_thread(_forget_history, cluster)
                proxy.set(Mode.PASS)
                for name, told in (await _wait(candidates, "fourth", "second", 45)).items():
                    trials[name]["410 Gone"] = told

                proxy.set(Mode.SILENT)
                probe.apply(_gated("fifth"))
                probe("delete", "pod", "third", "--grace-period=0", "--force")
                for name, told in (await _wait(candidates, "fifth", "third", chosen.silence)).items():
                    trials[name]["silent connection"] = told
                for name, process in candidates.items():
                    deaths = (await process.known())["deaths"]
                    trials[name]["watch died"] = f"{len(deaths)} ×" + (f" ({deaths[0]})" if deaths else "")
    return trials


async def _wait(candidates: dict[str, Candidate], there: str, gone: str, limit: float) -> dict[str, str]:
    """Within how many seconds each knew that one pod is `there` and another `gone`; else what it had not learnt."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    found: dict[str, str] = {}
    wrong: dict[str, str] = {}
    while len(found) < len(candidates) and loop.time() - began < limit:
        for name in candidates.keys() - found.keys():
            known = (await candidates[name].known())["probe"]
            missed = [("creation", there not in known), ("deletion", gone in known)]
            faults = [f"missed the {what}" for what, is_missed in missed if is_missed]
            if not faults:
                found[name] = f"right after {loop.time() - began:.1f} s"
            wrong[name] = " and ".join(faults)
        await asyncio.sleep(0.2)
    for name in candidates.keys() - found.keys():
        found[name] = f"WRONG after {limit:.0f} s: {wrong[name]}"
    tell(str(found))
    return found


def _forget_history(cluster: ApiCluster) -> None:
    """Compact etcd to the present, and have the API server forget what it remembers by itself."""
    plane = cluster.control_plane
    url = f"http://{plane.address}:2379/v3/kv/"

    def call(what: str, body: dict[str, Any]) -> Any:
        with urllib.request.urlopen(urllib.request.Request(url + what, json.dumps(body).encode())) as answer:
            return json.load(answer)

    revision = call("range", {"key": "AA=="})["header"]["revision"]
    plane.restart_api_server()
    call("compaction", {"revision": revision, "physical": True})


class Candidate:
    """A process that is asked for what it knows."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    async def known(self) -> dict[str, Any]:
        told: dict[str, Any] = await asyncio.to_thread(self._ask)
        return told

    def _ask(self) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("?\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


@contextmanager
def candidate(python: Path, name: str, kubeconfig: Path, folder: Path) -> Iterator[Candidate]:
    """Shoal's own runs in the environment of the benchmark."""
    interpreter = sys.executable if name == "shoal" else str(python)
    with (folder / f"candidate-{name}.log").open("w") as log:
        command = [interpreter, str(SCRIPT), name, str(kubeconfig)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield Candidate(process)
        finally:
            process.kill()
            process.wait()


@contextmanager
def _all(python: Path, names: Iterable[str], kubeconfig: Path, folder: Path) -> Iterator[dict[str, Candidate]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(candidate(python, name, kubeconfig, folder)) for name in names}


@asynccontextmanager
async def _behind(cluster: ApiCluster) -> AsyncIterator[tuple[Proxy, Path]]:
    """A proxy, and the kubeconfig that leads through it."""
    async with Proxy(cluster.control_plane.address, 6443) as proxy:
        content = yaml.safe_load(cluster.kubeconfig.read_text())
        content["clusters"][0]["cluster"]["server"] = f"https://localhost:{proxy.port}"
        path = cluster.folder / "behind-proxy.kubeconfig"
        path.write_text(yaml.safe_dump(content))
        yield proxy, path


def environment() -> Path:
    """The Python that has the candidates."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["bench"]
    digest = hashlib.sha256(f"{sys.version} {wanted}".encode()).hexdigest()[:16]
    folder = cache_folder() / f"clients-{digest}"
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        tell(f"installing {', '.join(wanted)} …")
        venv.create(folder, with_pip=True, clear=True)
        run_to_end([str(python), "-m", "pip", "install", "--quiet", *wanted], timeout=600)
        ready.touch()
    return python


def _jobs(jobs: int) -> Iterator[Request]:
    return (post(TFJOBS, tfjob(f"job-{number}", 8)) for number in range(jobs))


def _pods(jobs: int, size: int) -> Iterator[Request]:
    for number in range(jobs):
        for index in range(size):
            yield post(PODS, _gated(f"job-{number}-worker-{index}"))


def _gated(name: str) -> dict[str, Any]:
    return pod(name, [container()], schedulingGates=[{"name": "shoal.dev/benchmark"}])


def tables(chosen: argparse.Namespace, costs: dict[str, list[Cost]], right: dict[str, dict[str, str]]) -> str:
    versions = _versions()
    rows = []
    for name, rounds in costs.items():
        middle = [statistics.median(getattr(each, what) for each in rounds) for what in ("wall", "cpu", "peak")]
        ours = [statistics.median(getattr(each, what) for each in costs["shoal"]) for what in ("cpu", "peak")]
        ratios = [f"{a / b:.1f}" for a, b in zip(middle[1:], ours, strict=True)]
        rows.append([versions.get(name, name), *(f"{value:.1f}" for value in middle), *ratios])
    trials = ["connection cut", "410 Gone", "silent connection", "watch died"]
    checks = [[versions.get(name, name), *(right[name].get(trial, "") for trial in trials)] for name in right]
    size = f"{chosen.jobs:,} jobs and {chosen.jobs * chosen.size:,} pods; {chosen.rounds} rounds, taking turns"
    return (
        "# Kubernetes clients: a cache of all pods and jobs\n\n"
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {os.cpu_count()} cores, Kubernetes {kubernetes_version()}, "
        f"load average {os.getloadavg()[1]:.1f}.\n{size}; medians, and ratios to Shoal's own.\n"
        "Made by `python -m benchmarks.clients`.\n\n"
        + _table(["", "seconds until all is known", "CPU s", "peak MB", "CPU, shoal = 1", "memory, shoal = 1"], rows)
        + "\n\nWhat each knows after a change that it could not watch: a pod created, another deleted.\n\n"
        + _table(["", *trials], checks)
        + "\n"
    )


def _versions() -> dict[str, str]:
    listed = subprocess.run(
        [environment(), "-m", "pip", "list", "--format=json"], capture_output=True, check=True
    ).stdout
    found = {each["name"].replace("-", "_"): each["version"] for each in json.loads(listed)}
    return {name: f"{name} {found[name]}" for name in CANDIDATES if name in found}


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
