"""A model server that serves, by TensorFlow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml
from playwright.sync_api import expect

from shoal.local.ports import choose
from tests.integration.harness import Shoal
from tests.integration.web.accessibility import faults
from tests.integration.web.dashboard import Dashboard

MAKE = "from pathlib import Path; from tests.integration.serving.models import half_plus; half_plus(2.0, Path({!r}))"


def test_a_model_server_appears_with_its_versions_and_goes(shoal: Shoal, tmp_path: Path, dashboard: Dashboard, visit):
    subprocess.run([sys.executable, "-c", MAKE.format(str(tmp_path / "half" / "1"))], check=True, capture_output=True)
    grpc, rest = choose(2)
    spec = {
        "image": "example/server",  # as if the model lay in it: here its path is a folder of this machine
        "models": [{"name": "half", "basePath": str(tmp_path / "half")}],
        "ports": {"grpc": grpc, "rest": rest},
    }
    manifest = {
        "apiVersion": "shoal.dev/v1",
        "kind": "ModelServer",
        "metadata": {"name": "predictions"},
        "spec": spec,
    }
    (tmp_path / "server.yaml").write_text(yaml.safe_dump(manifest))
    page = visit(dashboard)
    page.get_by_role("link", name="Models").click()
    expect(page.get_by_text("No model servers")).to_be_visible()
    served = shoal.begin("run", str(tmp_path / "server.yaml"))
    server = page.get_by_role("region", name="predictions", exact=True)
    expect(server.get_by_role("row", name="half 1 AVAILABLE 1")).to_be_visible(timeout=120_000)
    expect(server.locator(".phase")).to_have_text("Ready", timeout=20_000)
    expect(server.get_by_text(f"http://127.0.0.1:{rest}")).to_be_visible()
    assert faults(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert shoal("rm", "modelserver/predictions").returncode == 0
    assert served.wait(30) == 0
    expect(page.get_by_text("No model servers")).to_be_visible(timeout=10_000)
