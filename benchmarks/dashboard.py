"""What 500 jobs cost the dashboard against an empty list: until the list is seen, and to keep it up to date.

python -m benchmarks.dashboard    writes benchmarks/dashboard.md

`shoal ui` in a process of its own over folders of runs, and Chromium. The runs' supervisor is this process: it holds
their locks, and writes their status as theirs would. No replicas run, so that they cost nothing.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml
from playwright.sync_api import Browser, Page, sync_playwright
from tests.integration.harness import Shoal
from tests.integration.web.chromium import chromium_program
from tests.integration.web.dashboard import Dashboard

from shoal.local.runs import Run
from shoal.resources import JobStatus, Phase, Progress
from shoal.runs import ReplicaRecord, Snapshot

JOBS, CHANGING, WORKERS = 500, 25, 4
ROUNDS, SECONDS = 9, 15.0
CONTAINER = {"name": "tensorflow", "image": "example/train"}
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_program(), args=["--no-sandbox"])
        with opened(browser, Path(folder) / "none", 0) as empty, opened(browser, Path(folder) / "many", JOBS) as full:
            seen: dict[Site, list[float]] = {site: [] for site in (empty, full)}
            for _ in range(ROUNDS):
                for site in seen:
                    seen[site].append(site.paint())
            paints = [statistics.median(seen[site]) * 1000 for site in (empty, full)]
            costs = [empty.cost(0), full.cost(0), full.cost(CHANGING)]
            delay = statistics.median(full.delay() for _ in range(ROUNDS))
        browser.close()
    text = report(paints, costs, delay)
    Path(__file__).with_suffix(".md").write_text(text)
    print(text)


@dataclass(frozen=True)
class Cost:
    """Of a second with the list open: CPU of the dashboard and of the page, and bytes that the page was sent."""

    dashboard: float
    page: float
    sent: float


@dataclass(eq=False)
class Site:
    """A dashboard with its list of jobs open in a browser."""

    dashboard: Dashboard
    page: Page
    runs: list[Run]

    def __post_init__(self) -> None:
        self.step = 0
        self.sent = 0
        self.process = psutil.Process(self.dashboard.process.pid)
        self.session = self.page.context.new_cdp_session(self.page)
        self.session.send("Performance.enable")
        self.session.send("Network.enable")
        self.session.on("Network.dataReceived", self._received)

    def paint(self) -> float:
        """Seconds from asking for the list until the browser has painted it."""
        self.page.goto(self.dashboard.root)
        assert self.page.locator("#rows tr").count() == len(self.runs)
        found: float = self._until(PAINT)
        self.page.goto("about:blank")
        return found / 1000

    def cost(self, changing: int) -> Cost:
        """While so many jobs take a step in each second."""
        self.page.goto(self.dashboard.root)
        self.page.wait_for_timeout(3000)
        began, cpu, tasks, self.sent = time.monotonic(), self._cpu(), self._tasks(), 0
        while (now := time.monotonic() - began) < SECONDS:
            self.take_a_step(changing)
            self.page.wait_for_timeout(1000 * max(0.0, 1 - (time.monotonic() - began - now)))
        return Cost((self._cpu() - cpu) / now, (self._tasks() - tasks) / now, self.sent / now)

    def delay(self) -> float:
        """Seconds from a job's step until the page shows it."""
        self.page.goto(self.dashboard.root)
        self.page.wait_for_timeout(1500)
        self.take_a_step(1)
        began = time.monotonic()
        self._until(f"document.getElementById('job-{self.runs[0].name}').cells[3].textContent === '{self.step:,}'")
        return time.monotonic() - began

    def take_a_step(self, jobs: int) -> None:
        self.step += 1
        for run in self.runs[:jobs]:
            write(run, self.step)

    def _until(self, script: str) -> Any:
        """What the script has found in the end. Not Playwright's own waiting, which the page's policy forbids."""
        for _ in range(3000):
            if found := self.page.evaluate(script):
                return found
            self.page.wait_for_timeout(10)
        raise TimeoutError(script)

    def _cpu(self) -> float:
        used = self.process.cpu_times()
        return used.user + used.system

    def _tasks(self) -> float:
        told = self.session.send("Performance.getMetrics")["metrics"]
        return next(float(each["value"]) for each in told if each["name"] == "TaskDuration")

    def _received(self, event: dict[str, float]) -> None:
        self.sent += int(event["dataLength"])


@contextmanager
def opened(browser: Browser, home: Path, jobs: int) -> Iterator[Site]:
    os.environ["SHOAL_HOME"] = str(home)
    with ExitStack() as supervising:
        runs = [create(f"job-{number}", supervising) for number in range(jobs)]
        dashboard = Dashboard(Shoal(home))
        try:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            dashboard.enter(page)
            yield Site(dashboard, page, runs)
        finally:
            dashboard.close()


def create(name: str, supervising: ExitStack) -> Run:
    run = Run(name)
    worker = {"replicas": WORKERS, "template": {"spec": {"containers": [CONTAINER]}}}
    run.create(
        yaml.safe_dump(
            {
                "apiVersion": "shoal.dev/v1",
                "kind": "TFJob",
                "metadata": {"name": name},
                "spec": {"tfReplicaSpecs": {"Worker": worker}},
            }
        ),
        Path("/"),
    )
    supervising.enter_context(run.supervised())
    write(run, 0)
    return run


def write(run: Run, step: int) -> None:
    now = time.time()
    progress = Progress(replica="worker-0", step=step, steps_per_second=1.0, loss=1 / (step + 1), time=now)
    records = [ReplicaRecord(f"worker-{number}", 0, "Running", step=step) for number in range(WORKERS)]
    run.write_snapshot(Snapshot(JobStatus(phase=Phase.RUNNING, start_time=1.0, progress=progress), records))


def report(paints: list[float], costs: list[Cost], delay: float) -> str:
    def ratio(value: float, base: float) -> str:
        return f"{value / base:.1f}" if base else ""

    none, moving = costs[0], costs[-1]
    rows = [
        ("until the list is painted", f"{paints[0]:.0f} ms", f"{paints[1]:.0f} ms", "–", ratio(paints[1], paints[0])),
        (
            "CPU of the dashboard",
            *(f"{each.dashboard * 100:.1f} %" for each in costs),
            ratio(moving.dashboard, none.dashboard),
        ),
        ("CPU of the page", *(f"{each.page * 100:.2f} %" for each in costs), ratio(moving.page, none.page)),
        ("sent to the page in a second", *(f"{each.sent / 1024:.1f} KiB" for each in costs), ""),
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"""# The dashboard with {JOBS} jobs

Made by `python -m benchmarks.dashboard` on {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}: `shoal ui`
over folders of runs with {WORKERS} workers each, and Chromium with the list open. Medians of {ROUNDS} rounds that take
turns, and means of {SECONDS:.0f} seconds. All share the cores with whatever else runs: trust the ratios.

|  | no jobs | {JOBS} jobs | {CHANGING} of them change each second | against no jobs |
|---|---:|---:|---:|---:|
{table}

A job's step is seen {delay:.1f} s after its status was written, in the median. The dashboard looks once a second, and
leaves itself eight times as long between looks as one takes.
"""


if __name__ == "__main__":
    main()
