"""What an installation may choose: the chart's values. `values.schema.json` is generated from these models."""

# ruff: noqa: RUF012  pydantic copies a default for each model

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from shoal.kubernetes.gpu_names import GPU_NAMES, KUBELET_PLUGINS
from shoal.kubernetes.pooled.asked import POOLED_RESOURCES
from shoal.resources.base import Model

NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
Port = Annotated[int, Field(ge=1, le=65535)]
Name = Annotated[str, Field(pattern=rf"^({NAME})?$", max_length=63)]
PooledResource = Annotated[str, Field(pattern=r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$")]
Labels = dict[str, str]
Interval = Annotated[str, Field(pattern=r"^([0-9]+(ms|s|m|h))+$")]
Quantity = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi)?$")] | int | float

_IMAGE = re.compile(r"(?P<repository>\w[^@\s]*?)(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>\w+:[0-9a-fA-F]{32,}))?")


class _Part(Model):
    model_config = ConfigDict(use_attribute_docstrings=True)


class PullPolicy(StrEnum):
    """When a node pulls the image."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class LogLevel(StrEnum):
    """From which level on the operator logs."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Image(_Part):
    """The image of the operator, as the Dockerfile at the root of the repository builds it."""

    repository: Annotated[str, Field(min_length=1, pattern=r"^\w[^\s@]*$")] = "shoal/operator"
    """Registry and name, without a tag."""
    tag: Annotated[str, Field(pattern=r"^(\w[\w.-]{0,127})?$")] = ""
    """By default the chart's appVersion."""
    digest: Annotated[str, Field(pattern=r"^(\w+:[0-9a-fA-F]{32,})?$")] = ""
    """Such as sha256:…; it comes before the tag."""
    pull_policy: PullPolicy = PullPolicy.IF_NOT_PRESENT
    """Always, IfNotPresent or Never."""

    def named(self, reference: str) -> Image:
        """The same with the repository, tag and digest of `reference`. Raises ValueError where it is none."""
        match = _IMAGE.fullmatch(reference)
        if match is None:
            raise ValueError(f"{reference!r} is no image; write REPOSITORY:TAG or REPOSITORY@sha256:…")
        return self.model_copy(update={name: text or "" for name, text in match.groupdict().items()})

    def reference(self, default_tag: str) -> str:
        """What a container's `image` says."""
        end = f"@{self.digest}" if self.digest else f":{self.tag or default_tag}"
        return self.repository + end


class Operator(_Part):
    """Options of `shoal operator`."""

    watch_namespace: Name = ""
    """Look after the jobs of this namespace only, with rights in no other. Empty: all namespaces."""
    workers: Annotated[int, Field(ge=1)] = 4
    """How many jobs are looked at at a time."""
    gpu_resource: Annotated[str, Field(min_length=1)] = GPU_NAMES.resource
    gpu_model_label: Annotated[str, Field(min_length=1)] = GPU_NAMES.model_label
    """What the cluster's device plugin calls a GPU."""
    log_level: LogLevel = LogLevel.INFO
    """debug, info, warning or error."""


class ServiceAccount(_Part):
    """Who the operator is to the API server."""

    create: bool = True
    """Whether to make the service account; otherwise `name` is one that is there."""
    name: Name = ""
    """By default that of the Deployment."""
    annotations: Labels = {}
    """For clouds that give rights by annotation."""


class RBAC(_Part):
    """Rights of the service account."""

    create: bool = True
    """Whether to make the roles and their bindings; otherwise somebody else grants what they would."""


class Resources(_Part):
    """Of the operator's container. A thousand replicas take about 200 MB."""

    requests: dict[str, Quantity] = {"cpu": "100m", "memory": "128Mi"}
    """What the scheduler sets aside."""
    limits: dict[str, Quantity] = {"memory": "512Mi"}
    """No limit of the CPU by default: throttling delays the renewal of the lease."""


class ServiceMonitor(_Part):
    """For the Prometheus operator, whose CRDs must be there."""

    enabled: bool = False
    """Whether to make one."""
    interval: Interval = "30s"
    """How often to scrape."""
    labels: Labels = {}
    """Those by which your Prometheus selects its monitors."""


class Metrics(_Part):
    """/metrics, and beside it /healthz and /readyz for the probes."""

    port: Port = 8080
    """Of the container and of the Service."""
    service_monitor: ServiceMonitor = ServiceMonitor()
    """For the Prometheus operator."""


class Rules(_Part):
    """Alerts and recording rules, for the Prometheus operator, whose CRDs must be there."""

    enabled: bool = False
    """Whether to make a PrometheusRule. The operator must be scraped, or one of its alerts says that it is not."""
    labels: Labels = {}
    """Those by which your Prometheus selects its rules."""


class ModelServers(_Part):
    """Scraping of model servers, for the Prometheus operator."""

    enabled: bool = False
    """Whether to make a PodMonitor for the pods of all model servers that the operator looks after."""
    interval: Interval = "30s"
    """How often to scrape."""
    labels: Labels = {}
    """Those by which your Prometheus selects its monitors."""


class Dashboard(_Part):
    """A dashboard for Grafana."""

    enabled: bool = False
    """Whether to make a ConfigMap with it."""
    labels: Labels = {"grafana_dashboard": "1"}
    """Those by which Grafana's sidecar selects dashboards."""


class Monitoring(_Part):
    """What watches Shoal."""

    rules: Rules = Rules()
    """Alerts and recording rules."""
    model_servers: ModelServers = ModelServers()
    """Scraping of model servers."""
    dashboard: Dashboard = Dashboard()
    """For Grafana."""


class FailurePolicy(StrEnum):
    """What the API server does with a TFJob while no webhook answers."""

    IGNORE = "Ignore"
    FAIL = "Fail"


class GivenCertificate(_Part):
    """A certificate from elsewhere, such as cert-manager. By default the operator makes its own and renews it."""

    existing_secret: Annotated[str, Field(pattern=rf"^({NAME}(\.{NAME})*)?$", max_length=253)] = ""
    """A Secret with tls.crt and tls.key, for the host NAME-webhook.NAMESPACE.svc."""
    ca_bundle: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/=]*$")] = ""
    """Who has signed it: certificates in PEM, in base64. Empty where annotations have it written."""


class Webhook(_Part):
    """Checks TFJobs before they are stored, and says on the user's terminal what is wrong with them."""

    enabled: bool = True
    """Whether there is one."""
    port: Port = 9443
    """Of the container."""
    failure_policy: FailurePolicy = FailurePolicy.IGNORE
    """Ignore: while no operator answers, TFJobs are stored as the CRD allows. Fail: they are refused."""
    timeout_seconds: Annotated[int, Field(ge=1, le=30)] = 5
    """How long the API server waits for an answer."""
    namespace_selector: dict[str, Any] = {}
    """Labels of the namespaces whose TFJobs are checked. Empty: all that the operator looks after."""
    annotations: Labels = {}
    """Of the webhook configurations, as cert-manager.io/inject-ca-from."""
    certificate: GivenCertificate = GivenCertificate()
    """A certificate from elsewhere."""


class NetworkPolicy(_Part):
    """Lets the operator reach the API server, be asked by it and be scraped, and nothing else."""

    enabled: bool = False
    """Whether to make one."""
    api_server_ports: Annotated[list[Port], Field(min_length=1)] = [443, 6443]
    """Ports of the API server: that of the Service `kubernetes`, and the one behind it."""
    metrics_from: list[dict[str, Any]] = []
    """Who may scrape, as the peers of a NetworkPolicy. Empty: everybody in the cluster."""


class PodDisruptionBudget(_Part):
    """Keeps a drain of nodes from ending all replicas at once."""

    enabled: bool = True
    """Whether to make one."""
    max_unavailable: Annotated[int, Field(ge=1)] = 1
    """At least one, so that no drain waits for ever."""


class DevicePluginResources(_Part):
    """Of the device plugin's container."""

    requests: dict[str, Quantity] = {"cpu": "10m", "memory": "96Mi"}
    """What the scheduler sets aside."""
    limits: dict[str, Quantity] = {"memory": "256Mi"}
    """What it may take at most."""


class DevicePlugin(_Part):
    """`shoal gpu plugin` on each node with GPUs, which offers them to pods. It runs as root.

    The policy on what it may label takes Kubernetes 1.30 or later."""

    enabled: bool = False
    """Whether there are plugins. Beside another plugin of the same resource there should be none."""
    resource_name: Annotated[str, Field(pattern=r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$")] = GPU_NAMES.resource
    """What pods ask for."""
    socket_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$")] = "shoal-gpu"
    """The plugin's file in the kubelet's folder."""
    device_pattern: str = ""
    """A regular expression: GPUs whose model it matches are offered. Empty: all."""
    args: list[str] = []
    """Further options of `shoal gpu plugin`, such as [--software-gpus=4] or [--pool-shares=100]."""
    label_node: bool = True
    """Whether each labels its node with model, memory, count and driver of the GPUs. With --pool-shares: false."""
    runtime_class_name: Name = ""
    """Such as nvidia: NVIDIA's runtime, unless it is the node's default, which brings the driver's library along."""
    kubelet_folder: Annotated[str, Field(pattern=r"^/")] = KUBELET_PLUGINS
    """Where the node's kubelet looks for plugins."""
    resources: DevicePluginResources = DevicePluginResources()
    """Of the container."""
    node_selector: Labels = {}
    """Labels of the nodes with GPUs. Where there is no NVIDIA driver, a plugin ends at once and is started again."""
    tolerations: list[dict[str, Any]] = []
    """Taints that the plugins tolerate, as nodes with GPUs often have them."""


class Pool(_Part):
    """A pool of GPUs, whose broker is asked for what pods ask for."""

    broker: Annotated[str, Field(pattern=r"^(https?://[^/\s]+)?$")] = ""
    """Such as https://gpus.example.com:8470. Empty: GPUs are those of the cluster alone."""
    existing_secret: Annotated[str, Field(pattern=rf"^({NAME}(\.{NAME})*)?$", max_length=253)] = "shoal-gpu-pool"
    """A Secret in the operator's namespace: `token`, of a tenant of the broker, and `ca.crt`, whom to trust."""
    resources: Annotated[list[PooledResource], Field(min_length=1)] = list(POOLED_RESOURCES)
    """What stands for a GPU of the pool in a container's limits."""
    port: Port = 8470
    """Of the broker: a network policy lets the operator reach it."""


class GPU(_Part):
    """GPUs that are not the cluster's own."""

    pool: Pool = Pool()
    """Those of a pool. Webhook and Kubernetes 1.30 or later are needed."""


class Values(_Part):
    """Values of the chart `shoal`, which installs Shoal's operator."""

    fullname_override: Annotated[Name, Field(max_length=54)] = ""
    """What the objects are called, in place of RELEASE-operator."""
    image: Image = Image()
    """The image of the operator."""
    image_pull_secrets: list[dict[str, str]] = []
    """Such as [{name: registry-login}]."""
    replicas: Annotated[int, Field(ge=0)] = 2
    """One leads, the others stand by."""
    operator: Operator = Operator()
    """Options of `shoal operator`."""
    service_account: ServiceAccount = ServiceAccount()
    """Who the operator is to the API server."""
    rbac: RBAC = RBAC()
    """Rights of the service account."""
    resources: Resources = Resources()
    """Of the operator's container."""
    pod_annotations: Labels = {}
    """Annotations of the operator's pods."""
    pod_labels: Labels = {}
    """Further labels of the operator's pods."""
    priority_class_name: str = ""
    """The operator's pods should outlive those of the jobs when nodes run short."""
    node_selector: Labels = {}
    """Labels of nodes that may run the operator."""
    tolerations: list[dict[str, Any]] = []
    """Taints that the operator's pods tolerate."""
    affinity: dict[str, Any] = {}
    """Affinity of the operator's pods. Apart from it, replicas are spread over nodes where that can be."""
    metrics: Metrics = Metrics()
    """/metrics, /healthz and /readyz."""
    monitoring: Monitoring = Monitoring()
    """What watches Shoal."""
    webhook: Webhook = Webhook()
    """Checks TFJobs before they are stored."""
    network_policy: NetworkPolicy = NetworkPolicy()
    """What may reach the operator, and what it may reach."""
    pod_disruption_budget: PodDisruptionBudget = PodDisruptionBudget()
    """How many replicas a drain may take at a time."""
    gpu: GPU = GPU()
    """GPUs that are not the cluster's own."""
    device_plugin: DevicePlugin = DevicePlugin()
    """Offers the GPUs of nodes, or shares of the pool, to pods."""
    global_: Annotated[dict[str, Any], Field(alias="global")] = {}
    """What Helm hands to every chart of an umbrella chart. It is not read."""
