"""A dashboard for Grafana 10 or newer: rows of panels, each a title and what it asks Prometheus for.

Variables choose the data source and the namespaces of jobs. Nothing else is Grafana's default by accident: units are
said, legends name series by the labels that tell them apart, and numbers that should be zero turn red.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

COLUMNS = 24
STAT_HEIGHT, GRAPH_HEIGHT = 4, 8
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}

CHOSEN = 'job_namespace=~"$namespace"'
"""Of jobs. Model servers and brokers have other labels."""

EACH_JOB = "{{job_namespace}}/{{job_name}}"


@dataclass(frozen=True, slots=True)
class Panel:
    """`asks` are expressions by their legends. `bad_from`: red from this value on."""

    title: str
    asks: dict[str, str]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    about: str = ""
    bad_from: float | None = None


STALLED_FOR = (
    f"time() - shoal_job_progress_timestamp_seconds{{{CHOSEN}}}"
    ' and on (job_namespace, job_name, job_api) shoal_job_phase{phase="Running"} == 1'
)

ROWS: dict[str, tuple[Panel, ...]] = {
    "At a glance": (
        Panel("Running", {"": f'sum(shoal_jobs{{phase="Running", {CHOSEN}}}) or vector(0)'}, kind="stat", width=4),
        Panel("Pending", {"": f'sum(shoal_jobs{{phase="Pending", {CHOSEN}}}) or vector(0)'}, kind="stat", width=4),
        Panel(
            "Failed in 24 h",
            {"": f"sum(increase(training_operator_jobs_failed_total{{{CHOSEN}}}[24h])) or vector(0)"},
            kind="stat",
            width=4,
            bad_from=1,
        ),
        Panel("Operators that lead", {"": "sum(shoal_operator_leader)"}, kind="stat", width=4, about="One, always."),
        Panel("GPUs of the pool in use", {"": "shoal:gpu_held:ratio"}, "percentunit", "stat", 4),
        Panel(
            "Alerts",
            {"": 'count(ALERTS{alertname=~"Shoal.*", alertstate="firing"}) or vector(0)'},
            kind="stat",
            width=4,
            bad_from=1,
        ),
    ),
    "Jobs": (
        Panel("Jobs by phase", {"{{phase}}": f"sum by (phase) (shoal_jobs{{{CHOSEN}}})"}),
        Panel("Steps per second", {EACH_JOB: f"shoal_job_steps_per_second{{{CHOSEN}}}"}),
        Panel("Loss", {EACH_JOB: f"shoal_job_loss{{{CHOSEN}}}"}),
        Panel(
            "Since the last step",
            {EACH_JOB: STALLED_FOR},
            "s",
            about="Of jobs that run and report steps. Progress is read every 30 s to 5 min.",
        ),
        Panel(
            "Retries used",
            {EACH_JOB: f"shoal_job_retries{{{CHOSEN}}} / (shoal_job_retry_limit > 0)"},
            "percentunit",
            about="Of backoffLimit.",
        ),
        Panel(
            "Ended and restarted, per hour",
            {
                name: f"sum(increase(training_operator_jobs_{name}_total{{{CHOSEN}}}[1h]))"
                for name in ("successful", "failed", "restarted")
            },
        ),
        Panel(
            "From start to training, 95th percentile",
            {
                "": "histogram_quantile(0.95, sum by (le)"
                " (increase(shoal_operator_launch_delay_seconds_bucket[$__range])))"
            },
            "s",
            "stat",
        ),
        Panel("Step", {EACH_JOB: f"shoal_job_step{{{CHOSEN}}}"}, kind="table", width=16),
    ),
    "Operator": (
        Panel(
            "Passes per second, by result",
            {"{{result}}": "sum by (result) (rate(shoal_operator_reconcile_seconds_count[$__rate_interval]))"},
            "ops",
        ),
        Panel(
            "How long a pass takes, 99th percentile",
            {
                "": "histogram_quantile(0.99, sum by (le)"
                " (rate(shoal_operator_reconcile_seconds_bucket[$__rate_interval])))"
            },
            "s",
        ),
        Panel(
            "Queue",
            {"waiting": "sum(shoal_operator_queue_depth)"},
            about="Jobs and servers that wait to be looked at.",
        ),
        Panel("Wait in the queue, 99th percentile", {"": "max(shoal:queue_wait_seconds:p99_rate5m)"}, "s"),
        Panel(
            "Writes to the API, per second",
            {
                "{{verb}} {{resource}}": "sum by (verb, resource)"
                " (rate(shoal_operator_api_writes_total[$__rate_interval]))"
            },
            "ops",
        ),
        Panel("Objects in the cache", {"{{resource}}": "max by (resource) (shoal_operator_cached_objects)"}),
        Panel(
            "Memory",
            {"{{pod}}": "process_resident_memory_bytes and on (instance, job) shoal_operator_leader"},
            "bytes",
        ),
        Panel(
            "CPU cores",
            {
                "{{pod}}": "rate(process_cpu_seconds_total[$__rate_interval])"
                " and on (instance, job) shoal_operator_leader"
            },
        ),
        Panel(
            "Until the webhook's certificate expires",
            {"{{pod}}": "shoal_operator_certificate_end_timestamp_seconds - time()"},
            "s",
            about="Renewed by the operator at two thirds of 30 days.",
        ),
    ),
    "Model servers": (
        Panel(
            "Requests per second",
            {"{{model_name}} {{status}}": "sum by (model_name, status) (shoal:requests:rate5m)"},
            "reqps",
        ),
        Panel(
            "Latency, 99th percentile",
            {"{{namespace}}/{{model_name}}": "shoal:request_latency_seconds:p99_rate5m"},
            "s",
        ),
        Panel("Requests under way", {"{{pod}}": "shoal_serving_requests_in_progress"}),
        Panel(
            "Versions",
            {"{{model_name}} {{version}}": "max by (model_name, version) (shoal_serving_version_state)"},
            about="10 start, 20 loading, 30 available, 40 unloading, 50 failed.",
        ),
        Panel(
            "Examples per second",
            {"{{model}}": "sum by (model) (rate(:tensorflow:serving:request_example_count_total[$__rate_interval]))"},
        ),
        Panel(
            "Rows of a batch, mean",
            {
                "": "sum(rate(:tensorflow:serving:batching_session:processed_batch_size_sum[$__rate_interval]))"
                " / sum(rate(:tensorflow:serving:batching_session:processed_batch_size_count[$__rate_interval]))"
            },
        ),
    ),
    "GPU pool": (
        Panel("GPUs", {"there": "sum(shoal_gpu_capacity)", "held": "sum(shoal_gpu_held)"}),
        Panel("GPUs held, by tenant", {"{{tenant}}": "sum by (tenant) (shoal_gpu_tenant_held)"}),
        Panel("Leases", {"{{state}}": "sum by (state) (shoal_gpu_leases)"}),
        Panel("Longest wait", {"{{instance}}": "shoal_gpu_longest_wait_seconds"}, "s"),
        Panel("Queued, by tenant", {"{{tenant}}": "sum by (tenant) (shoal_gpu_tenant_queued)"}),
        Panel(
            "Leases that ended, per hour",
            {
                "{{state}}": "sum by (state) (increase(shoal_gpu_lease_changes_total"
                '{state=~"released|expired|reclaimed|lost"}[1h]))'
            },
        ),
        Panel("Hosts that are not heard", {"{{host}}": "shoal_gpu_host_silent == 1"}, kind="table"),
        Panel("GPUs that are not healthy", {"{{host}}": "shoal_gpu_unhealthy > 0"}, kind="table"),
        Panel(
            "Requests refused, per second",
            {"{{code}}": "sum by (code) (rate(shoal_gpu_refused_requests_total[$__rate_interval]))"},
        ),
    ),
}


def dashboard() -> Object:
    """The dashboard as Grafana imports it."""
    return {
        "uid": "shoal",
        "title": "Shoal",
        "description": "Training jobs, the operator, model servers and the GPU pool.",
        "tags": ["shoal", "tensorflow"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": [_data_source(), _namespaces()]},
        "annotations": {"list": [_alerts()]},
        "panels": list(_panels()),
    }


def expressions() -> Iterator[str]:
    """Everything that the panels ask for."""
    for panels in ROWS.values():
        for panel in panels:
            yield from panel.asks.values()


def _data_source() -> Object:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0}


def _namespaces() -> Object:
    query = "label_values(shoal_jobs, job_namespace)"
    return {
        "name": "namespace",
        "label": "Namespace of jobs",
        "type": "query",
        "datasource": DATA_SOURCE,
        "definition": query,
        "query": {"query": query, "refId": "namespaces"},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _alerts() -> Object:
    return {
        "name": "Alerts",
        "datasource": DATA_SOURCE,
        "enable": True,
        "expr": 'ALERTS{alertname=~"Shoal.*", alertstate="firing"}',
        "iconColor": "red",
        "titleFormat": "{{alertname}}",
        "textFormat": "{{job_namespace}} {{job_name}} {{model_name}} {{host}}",
        "step": "60s",
    }


def _panels() -> Iterator[Object]:
    y, number = 0, 1
    for title, panels in ROWS.items():
        place = {"x": 0, "y": y, "w": COLUMNS, "h": 1}
        yield {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": place, "panels": []}
        y, number, x, tallest = y + 1, number + 1, 0, 0
        for panel in panels:
            if x + panel.width > COLUMNS:
                x, y, tallest = 0, y + tallest, 0
            height = _height(panel)
            yield _panel(panel, number, {"x": x, "y": y, "w": panel.width, "h": height})
            x, tallest, number = x + panel.width, max(tallest, height), number + 1
        y += tallest


def _height(panel: Panel) -> int:
    if panel.kind == "stat":
        return STAT_HEIGHT if panel.width < 8 else GRAPH_HEIGHT
    return GRAPH_HEIGHT


def _panel(panel: Panel, number: int, place: Object) -> Object:
    at_once = panel.kind in ("stat", "table")
    targets = [
        {
            "refId": chr(ord("A") + index),
            "datasource": DATA_SOURCE,
            "expr": expr,
            "legendFormat": legend or "__auto",
            "range": not at_once,
            "instant": at_once,
            **({"format": "table"} if panel.kind == "table" else {}),
        }
        for index, (legend, expr) in enumerate(panel.asks.items())
    ]
    steps: list[Object] = [{"color": "text" if panel.bad_from is None else "green", "value": None}]
    if panel.bad_from is not None:
        steps.append({"color": "red", "value": panel.bad_from})
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": DATA_SOURCE,
        "gridPos": place,
        "targets": targets,
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "min": None, "thresholds": {"mode": "absolute", "steps": steps}},
            "overrides": [],
        },
        "options": _options(panel),
    }


def _options(panel: Panel) -> Object:
    match panel.kind:
        case "stat":
            return {"colorMode": "value", "graphMode": "none", "reduceOptions": {"calcs": ["lastNotNull"]}}
        case "table":
            return {"showHeader": True, "sortBy": [{"displayName": "Value", "desc": True}]}
        case _:
            return {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}
