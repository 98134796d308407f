"""Kueue, built from the Go module in `kueue/`, which pins it, and run beside a cluster as its own chart installs it.

The manager has the service account's rights and its default configuration, but for where it listens, and that it looks
whether jobs start. The API server reaches its webhooks through their Service, which points at the cluster's loopback
address. Certificates are Kueue's own.
"""

from __future__ import annotations

import base64
import shutil
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.api.operators import established, service_account_kubeconfig
from tests.cluster.api_level import ApiCluster
from tests.cluster.go_module import GoModule
from tests.cluster.helm_program import Helm
from tests.cluster.programs import Program, run_to_end

KUEUE = "sigs.k8s.io/kueue"
MODULE = GoModule(Path(__file__).parents[1] / "kueue", "Kueue", KUEUE)
NAMESPACE = "kueue-system"
WEBHOOK_PORT = 9443


def kueue_program() -> Path:
    """The folder with Kueue's manager and its chart. Builds it when the cache has none, which takes minutes."""
    return MODULE.build([f"{KUEUE}/cmd/kueue"], then=_add_chart)


@contextmanager
def kueue(cluster: ApiCluster, helm: Helm) -> Iterator[None]:
    """Kueue at work, for as long as `cluster` runs: what it adds to the API is not taken away."""
    folder = kueue_program()
    address = cluster.control_plane.address
    objects = [each for each in _chart(helm, folder / "chart") if each["kind"] not in ("Deployment", "APIService")]
    configuration = next(each for each in objects if each["kind"] == "ConfigMap")["data"]
    for each in objects:
        _point_at(address, each)
    cluster.kubectl("create", "namespace", NAMESPACE)
    cluster.kubectl.within("").apply(*objects)
    for each in objects:
        if each["kind"] == "CustomResourceDefinition":
            cluster.kubectl.wait_for(f"crd/{each['metadata']['name']}", established)
    certificates = cluster.folder / "kueue-certificates"
    config = cluster.folder / "kueue.yaml"
    config.write_text(_configuration(configuration["controller_manager_config.yaml"], address, certificates))
    identity = service_account_kubeconfig(cluster, NAMESPACE, "kueue-controller-manager")
    command = [str(folder / "kueue"), f"--config={config}", f"--kubeconfig={identity}", "--zap-log-level=2"]
    program = Program("kueue", command, cluster.folder / "kueue.log")

    def ready() -> bool:
        _mount_certificate(cluster, certificates)
        return _answers(f"http://{address}:8081/readyz")

    program.wait_until(ready, 60)
    yield
    program.stop()


def _add_chart(folder: Path) -> None:
    module = run_to_end(["go", "-C", str(MODULE.folder), "list", "-m", "-f", "{{.Dir}}", KUEUE]).strip()
    shutil.copytree(Path(module) / "charts" / "kueue", folder / "chart")


def _chart(helm: Helm, chart: Path) -> list[dict[str, Any]]:
    text = helm("template", "kueue", chart, "--namespace", NAMESPACE)
    return [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]


def _point_at(address: str, thing: dict[str, Any]) -> None:
    """Have webhooks reached where the manager listens: no Service of the cluster leads out of it but by a name."""
    if thing["kind"] == "Service" and thing["metadata"]["name"] == "kueue-webhook-service":
        thing["spec"] = {"type": "ExternalName", "externalName": address}
    conversion = thing.get("spec", {}).get("conversion", {}).get("webhook")
    for webhook in [*thing.get("webhooks", []), *([conversion] if conversion else [])]:
        webhook["clientConfig"]["service"]["port"] = WEBHOOK_PORT


def _configuration(text: str, address: str, certificates: Path) -> str:
    configuration = yaml.safe_load(text)
    configuration["health"]["healthProbeBindAddress"] = f"{address}:8081"
    configuration["metrics"]["bindAddress"] = f"{address}:8443"
    configuration["webhook"] = {"host": address, "port": WEBHOOK_PORT, "certDir": str(certificates)}
    configuration["leaderElection"]["leaderElect"] = False
    configuration["waitForPodsReady"] = {"timeout": "5m"}
    # It serves on all addresses of the machine.
    configuration["featureGates"] = {"VisibilityOnDemand": False}
    return yaml.safe_dump(configuration)


def _mount_certificate(cluster: ApiCluster, folder: Path) -> None:
    """What the kubelet does for the manager's pod: the Secret, once it is filled, as files."""
    secret = cluster.kubectl.within(NAMESPACE).json("get", "secret/kueue-webhook-server-cert")
    folder.mkdir(exist_ok=True)
    for name, content in secret.get("data", {}).items():
        if not (folder / name).exists():
            (folder / name).write_bytes(base64.b64decode(content))


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
