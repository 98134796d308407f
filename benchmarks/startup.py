"""How long it takes to the first training step: `shoal run`, against the same four processes started by hand.

A chief, a parameter server and two workers of examples/mnist/parameter_server.py, with the digits in one batch, so
that the first report comes after the first step. "By hand" are four processes with TF_CONFIG in their environment,
started at once, which is the least that anybody can do. All ways take turns; the machine is otherwise idle.

python benchmarks/startup.py          prints the table, and writes it to benchmarks/startup.md

Goals, as median ratio to by hand: at most 0.35 with prefork, at most 1.03 without.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import yaml

from shoal.local.ports import choose

ROUNDS = 5
LONGEST_SECONDS = 180
MNIST = Path(__file__).resolve().parents[1] / "examples" / "mnist"
SCRIPT = ["parameter_server.py", "--epochs", "1", "--batch-size", "4500"]


def by_hand(folder: Path) -> float:
    """Seconds to the first step of four processes with TF_CONFIG."""
    addresses = [f"127.0.0.1:{port}" for port in choose(4)]
    cluster = {"chief": addresses[:1], "ps": addresses[1:2], "worker": addresses[2:]}
    told = folder / "progress.jsonl"
    with ExitStack() as stack:
        began = time.time()
        for role, tasks in cluster.items():
            for index in range(len(tasks)):
                config = json.dumps({"cluster": cluster, "task": {"type": role, "index": index}})
                stack.enter_context(_process(config, told if role == "chief" else None, folder / "train"))
        return _first_step(told) - began


def shoal_run(*words: str) -> Callable[[Path], float]:
    """The same through the real command."""

    def run(folder: Path) -> float:
        manifest = yaml.safe_load((MNIST / "parameter-server-small.yaml").read_text())
        for replica in manifest["spec"]["tfReplicaSpecs"].values():
            container = replica["template"]["spec"]["containers"][0]
            container["command"] = ["python", str(MNIST / SCRIPT[0]), *SCRIPT[1:], "--folder", "/train"]
        path = folder / "job.yaml"
        path.write_text(yaml.safe_dump(manifest))
        env = {**os.environ, "SHOAL_HOME": str(folder / "home")}
        shoal = str(Path(sys.executable).with_name("shoal"))
        began = time.time()
        with (folder / "out").open("w") as out:
            process = subprocess.Popen([shoal, "run", str(path), *words], env=env, stdout=out, stderr=out)
        progress = folder / "home/runs/mnist-parameter-server-small/progress/chief-0.0.jsonl"
        try:
            return _first_step(progress) - began
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()

    return run


WAYS = {
    "by hand": by_hand,
    "shoal run --no-prefork": shoal_run("--no-prefork"),
    "shoal run (prefork)": shoal_run("--prefork"),
}


@contextmanager
def _process(config: str, progress: Path | None, folder: Path) -> Iterator[None]:
    env = {**os.environ, "TF_CONFIG": config, "SHOAL_STRATEGY": "ParameterServer"}
    if progress:
        env["SHOAL_PROGRESS_FILE"] = str(progress)
    command = [sys.executable, *SCRIPT, "--folder", str(folder)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=MNIST, env=env, stdout=quiet, stderr=quiet)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _first_step(progress: Path) -> float:
    """When the first training step was finished, as the script said itself."""
    deadline = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < deadline:
        lines = progress.read_text().splitlines(keepends=True) if progress.exists() else []
        for line in lines:
            if line.endswith("\n") and "step" in (said := json.loads(line)):
                return float(said["time"])
        time.sleep(0.02)
    raise SystemExit(f"error: no step within {LONGEST_SECONDS} s; see {progress.parent}")


def main() -> None:
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(ROUNDS):
        for way, measure in WAYS.items():
            folder = Path(tempfile.mkdtemp(prefix="shoal-startup-"))
            seconds[way].append(measure(folder))
            print(f"{way}: {seconds[way][-1]:.2f} s", file=sys.stderr)
            shutil.rmtree(folder, ignore_errors=True)
    rows = ["| | seconds to the first step (median) | from – to | median ratio |", "|---|---:|---:|---:|"]
    for way, taken in seconds.items():
        ratio = statistics.median(a / b for a, b in zip(taken, seconds["by hand"], strict=True))
        rows.append(f"| {way} | {statistics.median(taken):.2f} | {min(taken):.2f} – {max(taken):.2f} | {ratio:.2f} |")
    table = "\n".join(rows)
    print(table)
    title = "# Time to the first training step\n\nA chief, a parameter server and 2 workers"
    text = f"{title}; {ROUNDS} rounds, taking turns, {os.cpu_count()} cores.\nMade by `benchmarks/startup.py`."
    Path(__file__).with_suffix(".md").write_text(f"{text}\n\n{table}\n")


if __name__ == "__main__":
    main()
