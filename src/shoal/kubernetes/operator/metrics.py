"""What dashboards and alerts read. The first block has the names that TFJob users know from Kubeflow's operator."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

FRAMEWORK = "tensorflow"

RESULTS = ("done", "conflict", "error", "fault")
"""How a pass ends. Each is told of from the start: of a counter that appears with 1, no increase is seen."""

SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
LAUNCH_SECONDS = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800)
WRITES = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


class Metrics:
    """All metrics of one operator, in a registry of their own."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)

        def jobs(name: str, what: str) -> Counter:
            return Counter(f"training_operator_jobs_{name}", what, ["job_namespace", "framework"], registry=registry)

        self.jobs_created = jobs("created", "Jobs that were accepted.")
        self.jobs_successful = jobs("successful", "Jobs that have succeeded.")
        self.jobs_failed = jobs("failed", "Jobs that have failed.")
        self.jobs_restarted = jobs("restarted", "Restarts of replicas after a failure.")
        self.jobs_deleted = jobs("deleted", "Jobs that were deleted.")

        self.leader = Gauge("shoal_operator_leader", "1 while this operator holds the lease.", registry=registry)
        self.queue_depth = Gauge("shoal_operator_queue_depth", "Jobs that wait for a worker.", registry=registry)
        self.queue_wait = Histogram(
            "shoal_operator_queue_wait_seconds", "How long a job waited.", buckets=SECONDS, registry=registry
        )
        self.passes = Histogram(
            "shoal_operator_reconcile_seconds",
            "How long a pass took, by how it ended.",
            ["result"],
            buckets=SECONDS,
            registry=registry,
        )
        for result in RESULTS:
            self.passes.labels(result=result)
        self.launch_delay = Histogram(
            "shoal_operator_launch_delay_seconds",
            "From the start of a job to its training running.",
            buckets=LAUNCH_SECONDS,
            registry=registry,
        )
        self.writes = Counter(
            "shoal_operator_api_writes", "Writes to the Kubernetes API.", ["verb", "resource"], registry=registry
        )
        self.writes_per_job = Histogram(
            "shoal_operator_api_writes_per_job",
            "Writes for one job by the time it ended, its events not counted.",
            buckets=WRITES,
            registry=registry,
        )
        self.lists = Gauge("shoal_operator_lists", "Full lists read, by kind.", ["resource"], registry=registry)
        self.objects = Gauge("shoal_operator_cached_objects", "Objects cached.", ["resource"], registry=registry)
        # With a label, so that there is nothing where no certificate is served.
        self.certificate_end = Gauge(
            "shoal_operator_certificate_end_timestamp_seconds",
            "When the certificate expires that is served, by what serves it: the webhook.",
            ["server"],
            registry=registry,
        )

    def webhook_certified(self, end: float) -> None:
        """The webhook serves a certificate that expires then, in seconds since the epoch."""
        self.certificate_end.labels(server="webhook").set(end)

    def count(self, counter: Counter, namespace: str, times: int = 1) -> None:
        """Count for a job in `namespace`."""
        counter.labels(job_namespace=namespace, framework=FRAMEWORK).inc(times)
