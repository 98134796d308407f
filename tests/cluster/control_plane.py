"""etcd, API server, controller manager and scheduler: the part of a cluster that both levels have."""

from __future__ import annotations

import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml

from tests.cluster.binaries import Binaries
from tests.cluster.certificates import Authority, Certificate
from tests.cluster.kubeconfig import write_kubeconfig
from tests.cluster.kubectl import Kubectl
from tests.cluster.programs import Program, stop_all

SERVICES = "10.96.0.0/16"
API_SERVICE = "10.96.0.1"
PODS = "10.244.0.0/16"

# Tests make and delete by the thousand; the clients' own limits are set for clusters that must be spared.
FAST = ("--kube-api-qps=2000", "--kube-api-burst=4000", "--leader-elect=false")

NODE_GRACE_SECONDS = 20
"""How long a node may be silent before it counts as lost. A test waits that long, and a busy machine must not."""


class ControlPlane:
    """A control plane whose files lie in `folder` and that listens at `address`, where nothing else may listen."""

    def __init__(self, folder: Path, binaries: Binaries, address: str, within: Sequence[str] = ()) -> None:
        """`within` enters a network namespace that has `address`; this process must reach it, too."""
        self.folder = folder
        self.address = address
        self.server = f"https://{address}:6443"
        self._binaries = binaries
        self._within = within
        self._programs: dict[str, Program] = {}
        self.authority = Authority(folder / "pki", "ca")
        self.kubeconfig = self.identity("admin", groups=["system:masters"])
        self.kubectl = Kubectl(binaries["kubectl"], self.kubeconfig)
        self._trust = ssl.create_default_context(cafile=str(self.authority.certificate.cert))

    def start(self) -> None:
        """Start all four and wait until they are ready and the namespace `default` can take pods."""
        self._start_etcd()
        self._start_api_server()
        self._start("kube-controller-manager", *self._controller_manager_flags())
        self._start("kube-scheduler", f"--config={self._scheduler_configuration()}", f"--bind-address={self.address}")
        self._wait("kube-controller-manager", lambda: self._answers(f"https://{self.address}:10257/healthz"))
        self._wait("kube-scheduler", lambda: self._answers(f"https://{self.address}:10259/healthz"))
        self._wait("kube-controller-manager", lambda: self.kubectl.exists("serviceaccount/default"), "at work")

    def stop(self) -> None:
        """Stop all; the etcd data goes with the folder, so nothing is gained by waiting for a clean end."""
        stop_all(list(self._programs.values()), grace=1)
        self._programs.clear()

    @property
    def pids(self) -> dict[str, int]:
        """The processes, by program."""
        return {name: each.pid for name, each in self._programs.items()}

    def identity(self, user: str, groups: Sequence[str] = (), file: str = "") -> Path:
        """A kubeconfig for `user`, signed by the cluster's authority."""
        stem = file or user
        certificate = self.authority.issue(user, groups, file=f"client-{stem}")
        path = self.folder / f"{stem}.kubeconfig"
        return write_kubeconfig(path, self.server, self.authority.certificate.cert, certificate)

    def restart_api_server(self, down: float = 0.0) -> None:
        """End the API server as a crash would, and start it again after `down` seconds."""
        self._programs["kube-apiserver"].kill()
        time.sleep(down)
        self._start("kube-apiserver", *self._api_server_flags)
        self._wait("kube-apiserver", lambda: self._answers(f"{self.server}/readyz"))

    def _start_etcd(self) -> None:
        clients, peers = f"http://{self.address}:2379", f"http://{self.address}:2380"
        self._start(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--log-level=warn",
            # The data is gone with the test: nobody needs it on the disk.
            "--unsafe-no-fsync",
        )
        self._wait("etcd", lambda: self._answers(f"{clients}/health"))

    def _start_api_server(self) -> None:
        pki = self.folder / "pki"
        hosts = [self.address, API_SERVICE, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        serving = self.authority.issue("kube-apiserver", hosts=hosts)
        to_kubelet = self.authority.issue("kube-apiserver-kubelet-client", ["system:masters"])
        signing = Authority(pki, "service-accounts").certificate
        front = Authority(pki, "front-proxy-ca")
        proxy = front.issue("front-proxy-client")
        self._api_server_flags = [
            f"--etcd-servers=http://{self.address}:2379",
            f"--bind-address={self.address}",
            f"--advertise-address={self.address}",
            "--secure-port=6443",
            f"--client-ca-file={self.authority.certificate.cert}",
            *_files("tls-cert-file", "tls-private-key-file", serving),
            *_files("kubelet-client-certificate", "kubelet-client-key", to_kubelet),
            *_files("proxy-client-cert-file", "proxy-client-key-file", proxy),
            f"--requestheader-client-ca-file={front.certificate.cert}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-username-headers=X-Remote-User",
            *_files("service-account-key-file", "service-account-signing-key-file", signing),
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-cluster-ip-range={SERVICES}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            # As installers set it; what a namespace may run is said by its level of Pod Security.
            "--allow-privileged=true",
            "--kubelet-preferred-address-types=InternalIP",
            # The endpoints of the Service `kubernetes` may not be a loopback address.
            *(("--endpoint-reconciler-type=none",) if self.address.startswith("127.") else ()),
            # No test needs to see this API server stop gracefully.
            "--shutdown-delay-duration=0s",
        ]
        self._start("kube-apiserver", *self._api_server_flags)
        self._wait("kube-apiserver", lambda: self._answers(f"{self.server}/readyz"))

    def _controller_manager_flags(self) -> list[str]:
        kubeconfig = self.identity("system:kube-controller-manager", file="controller-manager")
        authority = self.authority.certificate
        return [
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--bind-address={self.address}",
            *FAST,
            f"--node-monitor-grace-period={NODE_GRACE_SECONDS}s",
            *_files("cluster-signing-cert-file", "cluster-signing-key-file", authority),
            f"--root-ca-file={authority.cert}",
            f"--service-account-private-key-file={self.folder / 'pki' / 'service-accounts.key'}",
            "--use-service-account-credentials",
            "--allocate-node-cidrs",
            f"--cluster-cidr={PODS}",
            f"--service-cluster-ip-range={SERVICES}",
        ]

    def _scheduler_configuration(self) -> Path:
        kubeconfig = self.identity("system:kube-scheduler", file="scheduler")
        path = self.folder / "scheduler.yaml"
        content = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 2000, "burst": 4000},
            "leaderElection": {"leaderElect": False},
        }
        path.write_text(yaml.safe_dump(content))
        return path

    def _start(self, name: str, *flags: str) -> None:
        log = self.folder / f"{name}.log"
        self._programs[name] = Program(name, [self._binaries[name], *flags], log, within=self._within)

    def _wait(self, name: str, ready: Callable[[], bool], what: str = "ready") -> None:
        self._programs[name].wait_until(ready, timeout=90, what=what)

    def _answers(self, url: str) -> bool:
        # Controller manager and scheduler sign their own certificates.
        trust = self._trust if url.startswith(self.server) else ssl._create_unverified_context()
        try:
            with urllib.request.urlopen(url, timeout=5, context=trust if url.startswith("https") else None) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False


def _files(cert: str, key: str, pair: Certificate) -> tuple[str, str]:
    return f"--{cert}={pair.cert}", f"--{key}={pair.key}"
