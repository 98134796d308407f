"""Make the pictures of docs/dashboard.md: the dashboard over real runs of the MNIST example, in Chromium.

python -m tools.screenshots        writes docs/images/dashboard-*.png
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from tests.integration.gpu.brokers import TOKENS, bearer
from tests.integration.gpu.test_agent import agent, until
from tests.integration.gpu.test_broker_process import broker
from tests.integration.harness import Shoal
from tests.integration.web.chromium import chromium_program
from tests.integration.web.dashboard import Dashboard

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
COLOURS = 64
STEPS, SEEN_AT = 10_000, 2_000
"""Pictures are taken from that step on, and before the last."""

START_SECONDS = 400


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        shoal = Shoal(Path(folder) / "home")
        try:
            with _pool(Path(folder)) as environment:
                _start(shoal)
                dashboard = Dashboard(shoal, environment)
                try:
                    _show(dashboard)
                finally:
                    dashboard.close()
        finally:
            shoal.close()


@contextmanager
def _pool(folder: Path) -> Iterator[dict[str, str]]:
    """A broker and a host with two software GPUs; one tenant has them, another waits. Yields what a command needs."""
    with broker(folder) as (_, client), agent(folder, client):
        until(lambda: client.get("/v1/hosts", headers=bearer("ops")).json())
        for tenant, percent in (("vision", 100), ("vision", 40), ("speech", 70)):
            asked = {"requests": [{"gpus": 1, "percent": percent}]}
            client.post("/v1/leases", json=asked, headers=bearer(tenant)).raise_for_status()
        (folder / "admin").write_text(TOKENS["ops"])
        yield {
            "SHOAL_BROKER": str(client.base_url),
            "SHOAL_TOKEN_FILE": str(folder / "admin"),
            "SHOAL_BROKER_CA": str(folder / "tls" / "ca.crt"),
        }


def _start(shoal: Shoal) -> None:
    """One run that has failed, one that was stopped, and one that trains."""
    example = ROOT / "examples" / "mnist"
    broken = _changed(shoal, example / "fit.yaml", "mnist-wide", _with_a_wrong_option)
    assert shoal.detach(broken).end(START_SECONDS) == "Failed"
    stopped = shoal.detach(_changed(shoal, example / "fit.yaml", "mnist-fit", lambda job: None))
    stopped.wait("Running")
    shoal("stop", "mnist-fit")
    running = shoal.detach(_changed(shoal, example / "elastic.yaml", "mnist-elastic", _with_more_steps))
    running.until(lambda: running.step >= SEEN_AT, START_SECONDS)


def _changed(shoal: Shoal, manifest: Path, name: str, change: Callable[[dict[str, Any]], None]) -> Path:
    """The manifest under another name, beside the example's scripts in a folder that goes away."""
    job = yaml.safe_load(manifest.read_text())
    job["metadata"]["name"] = name
    change(job)
    folder = shoal.home.parent / "mnist"
    if not folder.exists():
        folder.mkdir()
        for script in manifest.parent.glob("*.py"):
            (folder / script.name).write_text(script.read_text())
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(job))
    return path


def _with_a_wrong_option(job: dict[str, Any]) -> None:
    worker = job["spec"]["tfReplicaSpecs"]["Worker"]
    worker["restartPolicy"] = "Never"
    worker["template"]["spec"]["containers"][0]["command"] += ["--batch-size", "wide"]


def _with_more_steps(job: dict[str, Any]) -> None:
    # The template is one object, by an anchor: the command is that of all replicas.
    job["spec"]["tfReplicaSpecs"]["Chief"]["template"]["spec"]["containers"][0]["command"][-1] = str(STEPS)


def _show(dashboard: Dashboard) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_program(), args=["--no-sandbox"])
        page = _enter(browser, dashboard, 1000, 330)
        page.wait_for_timeout(1500)  # for a first event with rates
        _take(page, "jobs")
        page.goto(f"{dashboard.root}/jobs/mnist-elastic")
        page.set_viewport_size({"width": 1000, "height": 950})
        page.wait_for_timeout(1500)
        _take(page, "job")
        page.goto(f"{dashboard.root}/jobs/mnist-wide")
        page.wait_for_timeout(500)
        page.set_viewport_size({"width": 1000, "height": 620})
        _take(page, "failure")
        page.goto(f"{dashboard.root}/pool")
        page.wait_for_timeout(500)
        page.set_viewport_size({"width": 1000, "height": 540})
        _take(page, "pool")
        narrow = _enter(browser, dashboard, 390, 760, scheme="dark")
        narrow.goto(f"{dashboard.root}/jobs/mnist-elastic")
        narrow.wait_for_timeout(1500)
        _take(narrow, "narrow")
        browser.close()


def _enter(browser: Browser, dashboard: Dashboard, width: int, height: int, scheme: str = "light") -> Page:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    dashboard.enter(page)
    return page


def _take(page: Page, name: str) -> None:
    """A few colours are enough, and make a small file."""
    IMAGES.mkdir(exist_ok=True)
    picture = Image.open(io.BytesIO(page.screenshot()))
    path = IMAGES / f"dashboard-{name}.png"
    picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size >> 10} kB")


if __name__ == "__main__":
    main()
