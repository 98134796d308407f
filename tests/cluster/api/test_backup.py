"""The commands by which docs/operations.md keeps objects and brings them back."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.api.operators import OperatorProcess, operator_with_its_rights
from tests.cluster.api.tfjobs import KIND, names, role, tfjob, wait_for_phase
from tests.cluster.api_level import ApiCluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"
SECTION = re.compile(r"^## Backup and restore\n(.*?)^## ", re.MULTILINE | re.DOTALL)
BLOCKS = re.compile(r"^```console\n\$ (.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module", autouse=True)
def operator(api_cluster: ApiCluster) -> Iterator[OperatorProcess]:
    with operator_with_its_rights(api_cluster, "backup") as running:
        yield running


def test_what_had_not_ended_comes_back_suspended(namespace: Kubectl, tmp_path: Path) -> None:
    section = SECTION.search(PAGE.read_text())
    assert section
    keep, restore = (block.replace("\n$ ", "\n") for block in BLOCKS.findall(section[1]))
    namespace.apply(
        tfjob("done", Worker=role(exit="0@0s")),
        tfjob("runs", {"backoffLimit": 3}, Worker=role(2)),
        tfjob("old", api="kubeflow.org/v1", Worker=role()),
    )
    wait_for_phase(namespace, "done", "Succeeded")
    before = wait_for_phase(namespace, "runs", "Running")
    wait_for_phase(namespace, "old", "Running", kind="tfjobs.v1.kubeflow.org")
    # The page's commands take all namespaces; other tests have theirs.
    shell(keep.replace(" -A ", f" -n {namespace.namespace} "), namespace, tmp_path)
    kept = json.loads((tmp_path / "shoal-objects.json").read_text())
    assert len(kept["items"]) == 3
    namespace("delete", "tfjobs.shoal.dev,tfjobs.kubeflow.org", "--all")
    # The garbage collector learns of new CRDs every 30 s only.
    wait_until(lambda: not names(namespace, "pods"), 60, "the end of the pods")
    shell(restore, namespace, tmp_path)
    assert names(namespace, KIND) == {"runs"}
    assert names(namespace, "tfjobs.v1.kubeflow.org") == {"old"}
    after = wait_for_phase(namespace, "runs", "Suspended")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"]["runPolicy"] == {**before["spec"]["runPolicy"], "suspend": True}
    namespace("patch", f"{KIND}/runs", "--type=merge", "--patch", '{"spec": {"runPolicy": {"suspend": false}}}')
    wait_for_phase(namespace, "runs", "Running")


def shell(commands: str, kubectl: Kubectl, folder: Path) -> None:
    environment = {
        **os.environ,
        "KUBECONFIG": str(kubectl.kubeconfig),
        "PATH": f"{Path(kubectl.program).parent}:{os.environ['PATH']}",
    }
    command = ["bash", "-e", "-c", commands]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
