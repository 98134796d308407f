"""Rules and dashboard ask for what is exported, and docs/monitoring.md says what that is."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
from grafana_foundation_sdk.cog import encoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from shoal.kubernetes.monitoring.dashboard import COLUMNS, ROWS, dashboard, expressions
from shoal.kubernetes.monitoring.rules import GROUPS, RECORDED, rules
from shoal.kubernetes.operator.job_metrics import JobMetrics
from tests.unit.kubernetes.monitoring import exported as programs
from tests.unit.kubernetes.monitoring.exported import RUNNING, Exported, exported, operator_with
from tests.unit.kubernetes.operator.objects import job

PAGE = Path(__file__).parents[4] / "docs" / "monitoring.md"
PROMETHEUS = {"ALERTS"}
ALERTS = [alert for alerts in GROUPS.values() for alert in alerts]


@pytest.fixture
def metrics(tmp_path: Path) -> dict[str, Exported]:
    registries = programs.operator(), programs.model_server(), programs.broker(tmp_path)
    return {name: about for registry in registries for name, about in exported(registry).items()}


def selectors(text: str) -> list[tuple[str, set[str]]]:
    """The names, and labels that are matched, in an expression. Raises ValueError for one that is none."""
    for variable, value in {"$__rate_interval": "5m", "$__range": "6h"}.items():
        text = text.replace(variable, value)
    found: list[tuple[str, set[str]]] = []

    def visit(node: Any) -> bool:
        if isinstance(node, promql_parser.VectorSelector):
            found.append((node.name, {each.name for each in node.matchers.matchers}))
        return True

    promql_parser.walk(promql_parser.parse(text), visit)
    return found


def test_every_expression_asks_for_what_is_there(metrics: dict[str, Exported]) -> None:
    texts = [*RECORDED.values(), *(alert.expr for alert in ALERTS), *expressions()]
    asked = [selector for text in texts for selector in selectors(text)]
    assert len(asked) > len(texts)
    for name, labels in asked:
        if name in PROMETHEUS | RECORDED.keys() or name.startswith("process_"):
            continue
        base = name if name in metrics else re.sub(r"_(bucket|sum|count)$", "", name)
        assert base in metrics, name
        assert labels <= metrics[base].labels, (name, labels)


def test_every_metric_is_told_of(metrics: dict[str, Exported]) -> None:
    rows = re.findall(r"^\| `(\S+)` \| (counter|gauge|histogram) \|(.*?)\| \S", PAGE.read_text(), re.MULTILINE)
    written = {name: Exported(kind, frozenset(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}
    assert written == metrics


def test_every_alert_is_told_of() -> None:
    rows = re.findall(r"^\| `(Shoal\w+)` \| (\w+) \|", PAGE.read_text(), re.MULTILINE)
    assert rows == [(alert.name, alert.severity) for alert in ALERTS]
    assert all(f"`{name}`" in PAGE.read_text() for name in RECORDED)


def test_no_rule_is_there_twice() -> None:
    named = Counter(rule.get("alert") or rule["record"] for group in rules()["groups"] for rule in group["rules"])
    assert set(named.values()) == {1}


def test_panels_lie_beside_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    panels = dashboard()["panels"]
    for panel in panels:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        cells = {(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])}
        assert columns.stop <= COLUMNS
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert [panel["title"] for panel in panels if panel["type"] == "row"] == list(ROWS)


def test_every_panel_says_what_it_shows() -> None:
    for panel in dashboard()["panels"]:
        if panel["type"] != "row":
            assert panel["title"]
            assert all(target["expr"] for target in panel["targets"])
            assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def lost(written: Any, read: Any, path: str = "") -> Iterator[str]:
    """Paths of what Grafana's types have not kept. What is empty may be left out."""
    if isinstance(written, dict) and isinstance(read, dict):
        for key, value in written.items():
            if value not in (None, "", [], {}):
                yield from lost(value, read.get(key), f"{path}/{key}")
    elif isinstance(written, list) and isinstance(read, list) and len(written) == len(read):
        for one, other in zip(written, read, strict=True):
            yield from lost(one, other, path)
    elif written != read:
        yield path


def test_grafana_reads_the_dashboard_as_it_was_meant() -> None:
    read = json.loads(encoder.JSONEncoder().encode(Dashboard.from_json(dashboard())))
    # Fields of Prometheus' own, which those types do not have.
    own = {
        "/templating/list/definition",
        *(f"/annotations/list/{name}" for name in ("titleFormat", "textFormat", "step")),
    }
    assert set(lost(dashboard(), read)) == own


def sample(registry: Any, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, {"job_namespace": "default", **labels})


def test_where_a_job_stands_can_be_read() -> None:
    registry = operator_with(job(7, "train", RUNNING, runPolicy={"backoffLimit": 3}, Worker=1))
    of_job = {"job_name": "train", "job_api": "shoal.dev"}
    numbers = {
        "step": 120,
        "steps_per_second": 2.5,
        "loss": 0.25,
        "progress_timestamp_seconds": 1767225630,
        "start_timestamp_seconds": 1767225600,
        "retries": 2,
        "retry_limit": 3,
    }
    assert {name: sample(registry, f"shoal_job_{name}", **of_job) for name in numbers} == numbers
    assert sample(registry, "shoal_job_phase", **of_job, phase="Running") == 1
    assert sample(registry, "shoal_jobs", phase="Running") == 1


def test_what_is_not_known_of_a_job_is_not_told() -> None:
    registry = operator_with(job(7, "new", Worker=1))
    of_job = {"job_name": "new", "job_api": "shoal.dev"}
    assert sample(registry, "shoal_job_phase", **of_job, phase="Pending") == 1
    for name in ("step", "progress_timestamp_seconds", "retry_limit"):
        assert sample(registry, f"shoal_job_{name}", **of_job) is None


def test_jobs_that_have_ended_are_counted_and_not_listed() -> None:
    registry = operator_with(*(job(n, f"ended-{n}", {**RUNNING, "phase": "Succeeded"}, Worker=1) for n in (1, 2, 3)))
    assert sample(registry, "shoal_jobs", phase="Succeeded") == 3
    assert sample(registry, "shoal_job_step", job_name="ended-1", job_api="shoal.dev") is None


def test_jobs_that_another_controller_runs_are_none_of_ours() -> None:
    registry = operator_with(job(1, "theirs", runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"}, Worker=1))
    assert sample(registry, "shoal_jobs", phase="Pending") is None


def test_a_job_that_goes_on_is_read_anew() -> None:
    later = {**RUNNING, "progress": {**RUNNING["progress"], "step": 200}}
    versions = [job(1, "train", RUNNING, Worker=1), job(2, "train", later, Worker=1)]
    shown = JobMetrics(lambda: versions[:1])
    steps = []
    for _ in range(2):
        steps += [family.samples[0].value for family in shown.collect() if family.name == "shoal_job_step"]
        versions.pop(0)
    assert steps == [120, 200]
