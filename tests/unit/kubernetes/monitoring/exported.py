"""What the programs export, asked of their own registries: names of metrics, with kinds and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry

from shoal.gpu.audit import Audit
from shoal.gpu.broker import Broker
from shoal.kubernetes.operator.controller import Controller
from shoal.kubernetes.operator.metrics import Metrics
from shoal.pool.inventory import GPU
from shoal.pool.ledger import KnownHost, Terms
from shoal.serving import metrics as serving
from tests.integration.gpu.brokers import write_tenants
from tests.unit.kubernetes.operator.memory_api import MemoryAPI
from tests.unit.kubernetes.operator.objects import job

RUNNING = {
    "phase": "Running",
    "startTime": "2026-01-01T00:00:00Z",
    "retries": 2,
    "progress": {
        "replica": "chief-0",
        "step": 120,
        "stepsPerSecond": 2.5,
        "loss": 0.25,
        "time": "2026-01-01T00:00:30Z",
    },
}


class Exported(NamedTuple):
    kind: str
    labels: frozenset[str]


def operator_with(*jobs: Any) -> CollectorRegistry:
    """The registry of an operator that has these jobs in its cache."""
    metrics = Metrics()
    controller = Controller(MemoryAPI(), metrics, "test")
    for api, store in controller.caches.jobs.items():
        store.replace([each for each in jobs if each.api_version == api], "1000")
    return metrics.registry


def operator() -> CollectorRegistry:
    return operator_with(job(1, "train", RUNNING, runPolicy={"backoffLimit": 3}, Worker=1))


def model_server() -> CollectorRegistry:
    metrics = serving.Metrics()
    serving.BatchingMetrics(metrics, "batches")
    return metrics.registry


def broker(folder: Path) -> CollectorRegistry:
    made = Broker(write_tenants(folder / "tenants.yaml"), Terms(), Audit(folder / "audit"))
    made.ledger.hosts["h"] = KnownHost((GPU("A", 16_000),), made.now())
    return made.registry


def exported(registry: CollectorRegistry) -> dict[str, Exported]:
    """By the name that Prometheus has; that of a histogram without _bucket, _sum and _count."""
    found: dict[str, Exported] = {}
    for collector in list(registry._collector_to_names):
        declared = getattr(collector, "_labelnames", None)
        for family in collector.collect():
            if family.name.startswith(("process", "python")):
                continue
            name = family.name
            if family.type == "counter" and name.removeprefix(serving.PREFIX) not in serving.COUNTERS:
                name += "_total"
            seen = {label for sample in family.samples for label in sample.labels} - {"le"}
            assert declared is not None or family.samples, f"nothing shows the labels of {name}"
            found[name] = Exported(family.type, frozenset(seen if declared is None else declared))
    return found
