"""Objects for the Prometheus operator and for Grafana, whose CRDs and sidecar somebody else has installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from shoal.kubernetes.install.naming import Release
from shoal.kubernetes.install.values import Values
from shoal.kubernetes.labels import MODEL_SERVER
from shoal.kubernetes.monitoring import dashboard, rules
from shoal.kubernetes.serving.config import METRICS_PATH

Object = dict[str, Any]

MONITORING_API = "monitoring.coreos.com/v1"


def monitoring_objects(values: Values, release: Release) -> Iterator[Object]:
    """As the chart's templates service-monitor.yaml and monitoring.yaml have them."""
    if values.metrics.service_monitor.enabled:
        monitor = values.metrics.service_monitor
        spec = {
            "selector": {"matchLabels": release.selector},
            "endpoints": [{"port": "metrics", "interval": monitor.interval}],
        }
        yield _object("ServiceMonitor", release, release.fullname, monitor.labels, {"spec": spec})
    monitoring = values.monitoring
    if monitoring.rules.enabled:
        yield _object("PrometheusRule", release, release.fullname, monitoring.rules.labels, {"spec": rules()})
    if monitoring.model_servers.enabled:
        yield _model_servers(values, release)
    if monitoring.dashboard.enabled:
        data = {"shoal.json": dashboard_text()}
        yield _object(
            "ConfigMap", release, f"{release.fullname}-dashboard", monitoring.dashboard.labels, {"data": data}
        )


def dashboard_text() -> str:
    """The dashboard as it is written in files."""
    return json.dumps(dashboard(), indent=1, ensure_ascii=False) + "\n"


def _model_servers(values: Values, release: Release) -> Object:
    """Their pods, since one of many that cannot serve is hidden behind a Service."""
    monitor = values.monitoring.model_servers
    watched = values.operator.watch_namespace
    spec = {
        "namespaceSelector": {"matchNames": [watched]} if watched else {"any": True},
        "selector": {"matchExpressions": [{"key": MODEL_SERVER, "operator": "Exists"}]},
        "podMetricsEndpoints": [{"port": "rest", "path": METRICS_PATH, "interval": monitor.interval}],
    }
    return _object("PodMonitor", release, f"{release.fullname}-model-servers", monitor.labels, {"spec": spec})


def _object(kind: str, release: Release, name: str, labels: dict[str, str], rest: Object) -> Object:
    about = release.metadata(name)
    about["labels"] = {**about["labels"], **labels}
    api = "v1" if kind == "ConfigMap" else MONITORING_API
    return {"apiVersion": api, "kind": kind, "metadata": about, **rest}
