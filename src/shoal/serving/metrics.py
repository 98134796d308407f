"""What Prometheus reads at `/monitoring/prometheus/metrics`: TensorFlow Serving's names and buckets, then Shoal's own.

Latencies are in microseconds, as the original has them; Shoal's own metrics are in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

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
QUEUEING = tuple(100 * 1.2**step for step in range(52))
ROWS = tuple(2**step for step in range(14))


COUNTERS = ("request_count", "batching_session:wrapped_run_count")
"""The client library ends each counter's name in _total; the original ends these otherwise."""


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
        self.state = VersionStates(registry)
        self.in_progress = Gauge(
            "shoal_serving_requests_in_progress",
            "Requests that have not been answered yet.",
            registry=registry,
            multiprocess_mode="livesum",
        )

    def request(self, model: str, code: Code) -> None:
        """A request has ended."""
        _labelled(self._requests, model, code.name).inc()

    def latency(self, model: str, api: str, entrypoint: str, seconds: float) -> None:
        """How long a request took that ended well. `entrypoint`: `GRPC` or `REST`."""
        _labelled(self._request_latency, model, api, entrypoint).observe(seconds * 1e6)

    def runtime(self, model: str, api: str, seconds: float) -> None:
        """How long TensorFlow ran for a request."""
        _labelled(self._runtime_latency, model, api, "TF1").observe(seconds * 1e6)

    def examples(self, model: str, count: int) -> None:
        """How many examples a request held."""
        self._example_counts.labels(model).observe(count)
        self._examples.labels(model).inc(count)

    def page(self) -> bytes:
        """All metrics as text."""
        return page(self.registry)

    def value(self, path: str) -> int:
        """The first value of a metric, by the original's path for it."""
        return value(self.registry, path)


class VersionStates:
    """Called with each version that has entered a state; one that was given up without an error is shown no more."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._states = Gauge(
            "shoal_serving_version_state",
            "Where a version stands: 10 start, 20 loading, 30 available, 40 unloading, 50 ended.",
            ["model_name", "version"],
            registry=registry,
        )

    def __call__(self, version: Version) -> None:
        labels = version.model_name, str(version.number)
        if version.state is State.END and version.error is None:
            self._states.remove(*labels)
        else:
            self._states.labels(*labels).set(version.state)


def page(registry: CollectorRegistry) -> bytes:
    """All metrics of a registry as text."""
    text = generate_latest(registry)
    for name in (f"{PREFIX}{name}".encode() for name in COUNTERS):
        text = text.replace(name + b"_total", name)
    return text


def value(registry: CollectorRegistry, path: str) -> int:
    """The first value of a counter or gauge, 0 where there is none. The original names them as paths:
    `/tensorflow/serving/request_count`."""
    name = path.replace("/", ":")
    for metric in registry.collect():
        if name in (metric.name, f"{metric.name}_total") and metric.type in ("counter", "gauge") and metric.samples:
            return int(metric.samples[0].value)
    return 0


@cache
def _labelled(metric: Any, *labels: object) -> Any:
    """The part of a metric with these labels. The client library takes longer to find it than to count."""
    return metric.labels(*labels)


class BatchingMetrics:
    """Of the batches that calls are joined into; `pool` is the name of their threads."""

    def __init__(self, metrics: Metrics, pool: str) -> None:
        def histogram(name: str, text: str, buckets: Sequence[float], *labels: str) -> Histogram:
            return Histogram(
                f"{PREFIX}batching_session:{name}", text, labels, buckets=buckets, registry=metrics.registry
            )

        self._queueing = histogram(
            "queuing_latency", "Wall time of a call in a queue, in microseconds.", QUEUEING, "thread_pool_name"
        ).labels(pool)
        self._padding = histogram("padding_size", "Rows added to a batch.", ROWS, "execution_batch_size")
        self._inputs = histogram("input_batch_size", "Rows of a call.", ROWS)
        self._processed = histogram("processed_batch_size", "Rows of a batch, with those added to it.", ROWS)
        self._runs = Counter(
            f"{PREFIX}batching_session:wrapped_run_count", "Runs of batches.", registry=metrics.registry
        )
        self._waiting = Gauge(
            "shoal_serving_batching_waiting",
            "Calls that wait in queues.",
            registry=metrics.registry,
            multiprocess_mode="livesum",
        )

    def batched(self, sizes: Sequence[int], waits: Sequence[float], run_size: int) -> None:
        for size, wait in zip(sizes, waits, strict=True):
            self._inputs.observe(size)
            self._queueing.observe(wait * 1e6)
        self._processed.observe(run_size)
        _labelled(self._padding, run_size).observe(run_size - sum(sizes))
        self._runs.inc()

    def waiting(self, calls: int) -> None:
        self._waiting.set(calls)
