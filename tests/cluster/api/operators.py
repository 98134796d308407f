"""The real `shoal operator` as a process beside a test cluster."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from shoal.kubernetes.install import Values, operator_objects
from tests.cluster.api_level import ApiCluster
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.programs import Program
from tests.cluster.waiting import wait_until

CHART = Path(__file__).parents[3] / "charts" / "shoal"
CRDS = CHART / "crds"
CRD_NAMES = (
    "tfjobs.shoal.dev",
    "tfjobs.kubeflow.org",
    "modelservers.shoal.dev",
    "tensorboards.shoal.dev",
    "workbenches.shoal.dev",
)
RBAC = "rbac.authorization.k8s.io/v1"
COMMAND = [sys.executable, "-c", "from shoal.cli import main; main()", "operator"]


class OperatorProcess:
    """One operator; its log is read for the port that it serves on."""

    def __init__(
        self,
        cluster: ApiCluster | NodeCluster,
        name: str,
        *options: str,
        kubeconfig: Path | None = None,
        before: str = "",
        within: Sequence[str] = (),
    ) -> None:
        """As the administrator, unless `kubeconfig` names somebody else. `before` is Python that it runs first;
        `within` a command that runs it, where it must reach pods."""
        self._log = cluster.folder / f"operator-{name}.log"
        self._began = self._log.stat().st_size if self._log.exists() else 0
        connection = [
            "--kubeconfig",
            str(kubeconfig or cluster.kubeconfig),
            "--metrics-port",
            "0",
            "--log-level",
            "debug",
        ]
        python, c, main, operator = COMMAND
        command = [python, c, f"{before}\n{main}", operator]
        self.program = Program(f"operator {name}", [*within, *command, *connection, *options], self._log)

    def wait_until_ready(self, timeout: float = 30) -> OperatorProcess:
        """Until it leads and its caches are filled."""
        self.program.wait_until(lambda: any(line["event"] == "ready" for line in self.said()), timeout)
        return self

    def said(self) -> list[dict[str, object]]:
        """Everything that it has logged. Whatever is no JSON is a traceback, and fails the test."""
        with self._log.open("rb") as log:
            log.seek(self._began)
            whole = log.read().rpartition(b"\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def faults(self) -> list[dict[str, object]]:
        """Where the operator itself went wrong."""
        return [line for line in self.said() if line["event"] == "a fault in the operator"]

    def get(self, path: str) -> str:
        port = next(line["port"] for line in self.said() if "port" in line)
        with urllib.request.urlopen(f"http://localhost:{port}{path}", timeout=5) as answer:
            return str(answer.read().decode())


@contextmanager
def operator_with_its_rights(cluster: ApiCluster, name: str) -> Iterator[OperatorProcess]:
    """The operator with the rights that it asks for, and no others. In the end it must have had no fault."""
    install_crds(cluster)
    identity = give_rights(cluster)
    running = OperatorProcess(cluster, name, "--no-leader-elect", kubeconfig=identity).wait_until_ready()
    yield running
    running.program.stop()
    assert running.faults() == []


def install_crds(cluster: ApiCluster | NodeCluster) -> None:
    """Shoal's CRDs; those that another test is deleting are waited for first."""
    kubectl = cluster.kubectl

    def going() -> bool:
        return any(each["metadata"].get("deletionTimestamp") for each in kubectl.json("get", "crds")["items"])

    wait_until(lambda: not going(), 30, "the end of the CRDs of an earlier test")
    kubectl("apply", "--server-side", "-f", str(CRDS))
    for name in CRD_NAMES:
        kubectl.wait_for(f"crd/{name}", established)


def give_rights(cluster: ApiCluster | NodeCluster, values: Values | None = None) -> Path:
    """The kubeconfig of the service account of an installation in `default`, which has the operator's rights alone."""
    objects = operator_objects(values or Values(), "default")
    cluster.kubectl.apply(*(each for each in objects if each["apiVersion"] == RBAC or each["kind"] == "ServiceAccount"))
    return service_account_kubeconfig(cluster, "default", "shoal-operator")


def service_account_kubeconfig(cluster: ApiCluster | NodeCluster, namespace: str, name: str) -> Path:
    """A kubeconfig with a token as the service account's pods get one; `namespace` is its namespace, too."""
    content = yaml.safe_load(cluster.kubeconfig.read_text())
    content["users"][0]["user"] = {"token": cluster.kubectl.within(namespace)("create", "token", name).strip()}
    content["contexts"][0]["context"]["namespace"] = namespace
    path = cluster.folder / f"{namespace}-{name}.kubeconfig"
    path.touch(0o600)
    path.write_text(yaml.safe_dump(content))
    return path


def established(crd: dict[str, Any]) -> bool:
    """Whether objects of the kind may be written."""
    conditions = crd.get("status", {}).get("conditions") or []
    return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)
