"""What Prometheus reads at `/monitoring/prometheus/metrics`: TensorFlow Serving's names and buckets, then Shoal's own.

Latencies are in microseconds, as the original has them; Shoal's own metrics are in seconds.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.process_collector import ProcessCollector

from shoal.serving.catalog import Version
from shoal.serving.status import Code
from shoal.serving.versions import State

PATH = "/monitoring/prometheus/metrics"
CONTENT_TYPE = CONTENT_TYPE_LATEST

PREFIX = ":tensorflow:serving:"

MICROSECONDS = tuple(10 * 1.8**step for step in range(33))
EXAMPLES = tuple(2**step for step in range(15))


class Metrics:
    """All metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)

        self._requests = Counter(
            f"{PREFIX}request_count", "The total number of requests.", ["model_name", "status"], registry=registry
        )
        self._request_latency = Histogram(
            f"{PREFIX}request_latency",
            "Wall time of a request, in microseconds.",
            ["model_name", "API", "entrypoint"],
            buckets=MICROSECONDS,
            registry=registry,
        )
        self._runtime_latency = Histogram(
            f"{PREFIX}runtime_latency",
            "Wall time of TensorFlow in a request, in microseconds.",
            ["model_name", "API", "runtime"],
            buckets=MICROSECONDS,
            registry=registry,
        )
        self._example_counts = Histogram(
            f"{PREFIX}request_example_counts",
            "Examples a request.",
            ["model"],
            buckets=EXAMPLES,
            registry=registry,
        )
        self._examples = Counter(
            f"{PREFIX}request_example_count_total", "The total number of examples.", ["model"], registry=registry
        )
        self._states = Gauge(
            "shoal_serving_version_state",
            "Where a version stands: 10 start, 20 loading, 30 available, 40 unloading, 50 ended.",
            ["model_name", "version"],
            registry=registry,
        )

        self.in_progress = Gauge(
            "shoal_serving_requests_in_progress", "Requests that have not been answered yet.", registry=registry
        )

    def request(self, model: str, code: Code) -> None:
        """A request has ended."""
        self._requests.labels(model, code.name).inc()

    def latency(self, model: str, api: str, entrypoint: str, seconds: float) -> None:
        """How long a request took that ended well. `entrypoint`: `GRPC` or `REST`."""
        self._request_latency.labels(model, api, entrypoint).observe(seconds * 1e6)

    def runtime(self, model: str, api: str, seconds: float) -> None:
        """How long TensorFlow ran for a request."""
        self._runtime_latency.labels(model, api, "TF1").observe(seconds * 1e6)

    def examples(self, model: str, count: int) -> None:
        """How many examples a request held."""
        self._example_counts.labels(model).observe(count)
        self._examples.labels(model).inc(count)

    def state(self, version: Version) -> None:
        """A version has entered a state; one that was given up without an error is shown no more."""
        labels = version.model_name, str(version.number)
        if version.state is State.END and version.error is None:
            self._states.remove(*labels)
        else:
            self._states.labels(*labels).set(version.state)

    def value(self, path: str) -> int:
        """The first value of a counter or gauge, 0 where there is none. The original names them as paths:
        `/tensorflow/serving/request_count`."""
        name = path.replace("/", ":")
        for metric in self.registry.collect():
            if name in (metric.name, f"{metric.name}_total") and metric.type in ("counter", "gauge") and metric.samples:
                return int(metric.samples[0].value)
        return 0

    def page(self) -> bytes:
        """All metrics as text."""
        # The client library ends each counter's name in _total; the original ends this one otherwise.
        name = f"{PREFIX}request_count".encode()
        return generate_latest(self.registry).replace(name + b"_total", name)
