"""Whoever makes pods of jobs: Shoal's operator, Kubeflow's, and a client that is told what to create."""

from __future__ import annotations

import base64
import json
import re
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from benchmarks.operator_scale.jobs import Request
from tests.cluster.api.operators import OperatorProcess, established, install_crds
from tests.cluster.api_level import ApiCluster
from tests.cluster.errors import ClusterError
from tests.cluster.go_module import GoModule
from tests.cluster.programs import Program, run_to_end

TRAINING_OPERATOR = "github.com/kubeflow/training-operator"
MODULE = GoModule(Path(__file__).parents[1] / "peers", "Kubeflow's training-operator", TRAINING_OPERATOR)
PROGRAM = "training-operator.v1"

MOUNTED = Path("/tmp/k8s-webhook-server/serving-certs")
"""Where the training-operator looks for its webhook's certificate (its pkg/cert)."""


def programs() -> Path:
    """The folder with the bare client and the training-operator, built when the cache has none."""
    return MODULE.build(["./bare", f"{TRAINING_OPERATOR}/cmd/{PROGRAM}"])


class Operator(Protocol):
    """An operator that can be started on a cluster, once."""

    @property
    def name(self) -> str: ...

    def install(self, cluster: ApiCluster) -> None:
        """What it needs in the cluster: its CRDs."""
        ...

    def start(self, cluster: ApiCluster) -> Running: ...


class Running(Protocol):
    """An operator at work."""

    @property
    def program(self) -> Program: ...

    def writes(self) -> tuple[int, int]:
        """Writes to the API so far, and how many of them were events; -1 where it does not tell."""
        ...


class Shoal:
    """As installed, with leader election."""

    name = "shoal"

    def install(self, cluster: ApiCluster) -> None:
        install_crds(cluster)

    def start(self, cluster: ApiCluster) -> RunningShoal:
        return RunningShoal(OperatorProcess(cluster, "bench", "--log-level", "info").wait_until_ready())


class RunningShoal:
    def __init__(self, process: OperatorProcess) -> None:
        self._process = process
        self.program = process.program

    def writes(self) -> tuple[int, int]:
        lines = re.findall(r"^shoal_operator_api_writes_total\{(.*)\} (\S+)$", self._process.get("/metrics"), re.M)
        return (
            sum(int(float(count)) for _, count in lines),
            sum(int(float(count)) for labels, count in lines if '"events"' in labels),
        )


class TrainingOperator:
    """Kubeflow's, for TFJobs alone. Without a webhook: Shoal has none either."""

    def __init__(self, what: str, *options: str) -> None:
        self.name = f"training-operator {MODULE.version()}, {what}"
        self._options = options

    def install(self, cluster: ApiCluster) -> None:
        folder = run_to_end(["go", "-C", str(MODULE.folder), "list", "-m", "-f", "{{.Dir}}", TRAINING_OPERATOR]).strip()
        crd = Path(folder) / "manifests/base/crds/kubeflow.org_tfjobs.yaml"
        cluster.kubectl("apply", "--server-side", "-f", str(crd))
        cluster.kubectl.wait_for("crd/tfjobs.kubeflow.org", established)
        cluster.kubectl("create", "namespace", "kubeflow")
        within = {"namespace": "kubeflow", "name": "training-operator-webhook-cert"}
        webhook = "ValidatingWebhookConfiguration"
        cluster.kubectl.within("").apply(
            {"apiVersion": "v1", "kind": "Secret", "metadata": within},
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": webhook,
                "metadata": {"name": "validator.training-operator.kubeflow.org"},
            },
        )

    def start(self, cluster: ApiCluster) -> RunningTrainingOperator:
        health, metrics, webhook = (_free_port() for _ in range(3))
        options = [
            f"--kubeconfig={cluster.kubeconfig}",
            "--enable-scheme=tfjob",
            f"--health-probe-bind-address=127.0.0.1:{health}",
            f"--metrics-bind-address=127.0.0.1:{metrics}",
            f"--webhook-server-port={webhook}",
            "--zap-log-level=error",
            *self._options,
        ]
        program = Program(self.name, [str(programs() / PROGRAM), *options], cluster.folder / "training-operator.log")

        def ready() -> bool:
            _mount_certificate(cluster)
            return bool(_get(f"http://127.0.0.1:{health}/readyz"))

        program.wait_until(ready, 60)
        return RunningTrainingOperator(program, metrics)


class RunningTrainingOperator:
    def __init__(self, program: Program, metrics: int) -> None:
        self.program = program
        self._metrics = metrics

    def writes(self) -> tuple[int, int]:
        text = _get(f"http://127.0.0.1:{self._metrics}/metrics")
        lines = re.findall(r"^rest_client_requests_total\{(.*)\} (\S+)$", text, re.M)
        return sum(int(float(count)) for labels, count in lines if 'method="GET"' not in labels), -1


class Bare:
    """The Go program in peers/bare, as an administrator."""

    def __init__(self, cluster: ApiCluster, at_once: int) -> None:
        authority = cluster.control_plane.authority
        own = authority.issue("bare", ["system:masters"])
        self._command = [
            str(programs() / "bare"),
            f"--server={cluster.control_plane.server}",
            f"--ca={authority.certificate.cert}",
            f"--cert={own.cert}",
            f"--key={own.key}",
            f"--at-once={at_once}",
        ]

    def send(self, requests: list[Request]) -> tuple[float, float]:
        """When the first was sent, and when the last was answered. Raises ClusterError where one was refused."""
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.writelines(json.dumps(each) + "\n" for each in requests)
            file.flush()
            done = subprocess.run([*self._command, file.name], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ClusterError(f"the bare client failed: {done.stderr}")
        told = json.loads(done.stdout)
        return told["began"], told["ended"]


def _mount_certificate(cluster: ApiCluster) -> None:
    """What the kubelet would do for the operator's pod: the certificate that it has made itself, as files."""
    secret = cluster.kubectl.within("kubeflow").json("get", "secret", "training-operator-webhook-cert")
    MOUNTED.mkdir(parents=True, exist_ok=True)
    for name, content in (secret.get("data") or {}).items():
        file = MOUNTED / name
        new = base64.b64decode(content)
        if not file.exists() or file.read_bytes() != new:
            file.write_bytes(new)


def _get(url: str) -> str:
    with suppress(urllib.error.URLError, OSError), urllib.request.urlopen(url, timeout=5) as answer:
        return str(answer.read().decode())
    return ""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
