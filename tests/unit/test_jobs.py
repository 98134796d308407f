"""`from shoal import run, logs`: what is refused, and that a notebook's event loop is no hindrance.

Jobs that run are in tests/integration/local/test_workbench.py.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal.resources import ManifestError, parse
from shoal.resources.yaml_text import write_yaml
from shoal.runs import MissingError, RunError
from tests.unit.resources.manifests import changed, manifest

JOB = manifest(roles=("Worker",))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SHOAL_ON", raising=False)


def test_to_import_shoal_imports_nothing_else() -> None:
    code = "import sys, shoal; print([name for name in sys.modules if name.startswith('shoal.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        shoal.runn  # noqa: B018


async def test_within_an_event_loop_a_name_is_looked_up() -> None:
    with pytest.raises(MissingError, match="there is no run named 'train'"):
        shoal.logs("train")


async def test_within_an_event_loop_a_cluster_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = {"server": "http://127.0.0.1:1"}
    context = {"cluster": "c", "user": "u"}
    file = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": server}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": context}],
    }
    (tmp_path / "kubeconfig").write_text(write_yaml(file))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    with pytest.raises(RunError, match=r"the cluster at http://127\.0\.0\.1:1 does not answer"):
        shoal.run(JOB, on="kubernetes")
    monkeypatch.setenv("SHOAL_ON", "kubernetes")
    with pytest.raises(RunError, match=r"the cluster at http://127\.0\.0\.1:1 does not answer"):
        shoal.run(parse(JOB))


def test_every_fault_of_a_manifest_is_told() -> None:
    with pytest.raises(ManifestError, match="unknown field"):
        shoal.run(changed(JOB, "spec.stratgy", "AllReduce"))
    with pytest.raises(ManifestError, match=r"metadata\.name"):
        shoal.run(JOB, name="No_Name")


def test_what_cannot_be_run_is_told(tmp_path: Path) -> None:
    two = tmp_path / "two.yaml"
    two.write_text("---\n".join([write_yaml(JOB), write_yaml(changed(JOB, "metadata.name", "other"))]))
    with pytest.raises(RunError, match="has 2 TFJobs, and one is run at a time"):
        shoal.run(two)
    with pytest.raises(RunError, match=r"says where its code is, in spec\.code"):
        shoal.run(
            changed(JOB, "spec.code", {"claim": {"name": "c", "path": "a.tgz", "digest": "0" * 64}}),
            code=tmp_path,
            on="kubernetes",
        )
    with pytest.raises(RunError, match="on='moon' is no place for a job"):
        shoal.run(JOB, on="moon")
    with pytest.raises(RunError, match="context and namespace belong to a cluster"):
        shoal.run(JOB, namespace="team")
    with pytest.raises(RunError, match=r"code: .*nothing is no folder"):
        shoal.run(JOB, code=tmp_path / "nothing")
