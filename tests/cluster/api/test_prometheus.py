"""Prometheus itself reads the rules, and scrapes an operator that runs jobs."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from shoal.kubernetes.monitoring import rules
from shoal.kubernetes.monitoring.dashboard import expressions
from tests.cluster.api.alert_cases import CASES, Case
from tests.cluster.api.operators import CHART, OperatorProcess, operator_with_its_rights
from tests.cluster.api.tfjobs import role, tfjob, wait_for_phase
from tests.cluster.api.webhooks import free_port
from tests.cluster.api_level import ApiCluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.prometheus_program import Prometheus, RunningPrometheus, prometheus_programs
from tests.cluster.waiting import wait_until

RULES = CHART / "monitoring" / "rules.yaml"


@pytest.fixture(scope="module")
def prometheus() -> Prometheus:
    return prometheus_programs()


def test_the_rules_are_well_formed(prometheus: Prometheus) -> None:
    done = prometheus.promtool("check", "rules", "--lint-fatal", RULES)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.alert)
def test_an_alert_fires_when_it_should_and_not_before(case: Case, prometheus: Prometheus, tmp_path: Path) -> None:
    """The texts, too, are those that a pager would show."""
    rule = next(rule for rule in all_rules() if rule.get("alert") == case.alert)
    texts = {name: filled(text, case) for name, text in rule["annotations"].items()}
    fired = {"exp_labels": {**rule["labels"], **case.labels}, "exp_annotations": texts}
    quiet = {"eval_time": case.quiet, "alertname": case.alert, "exp_alerts": []}
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "alert_rule_test": [quiet, {"eval_time": case.fires, "alertname": case.alert, "exp_alerts": [fired]}],
    }
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}))
    done = prometheus.promtool("test", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_case() -> None:
    assert [case.alert for case in CASES] == [rule["alert"] for rule in all_rules() if "alert" in rule]


def all_rules() -> list[dict[str, Any]]:
    return [rule for group in rules()["groups"] for rule in group["rules"]]


def filled(text: str, case: Case) -> str:
    text = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: case.labels[found[1]], text)
    return re.sub(r"\{\{ \$value.*? \}\}", case.value, text)


@pytest.fixture(scope="module")
def operator(api_cluster: ApiCluster) -> Iterator[OperatorProcess]:
    with operator_with_its_rights(api_cluster, "scraped") as running:
        yield running


@pytest.fixture
def scraping(operator: OperatorProcess, prometheus: Prometheus, tmp_path: Path) -> Iterator[RunningPrometheus]:
    """Prometheus that scrapes the operator each second, and knows the rules."""
    port = next(line["port"] for line in operator.said() if "port" in line)
    labels = {"namespace": "shoal-system", "pod": "shoal-operator-0"}
    target = {"targets": [f"127.0.0.1:{port}"], "labels": labels}
    configuration = tmp_path / "prometheus.yaml"
    configuration.write_text(
        yaml.safe_dump(
            {
                "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                "rule_files": [str(RULES)],
                "scrape_configs": [{"job_name": "shoal-operator", "static_configs": [target]}],
            }
        )
    )
    running = prometheus.start(configuration, free_port("127.0.0.1"))
    yield running
    running.program.stop()


def test_what_happens_to_a_job_is_seen(scraping: RunningPrometheus, namespace: Kubectl) -> None:
    began = time.time() - 1200
    line = "SHOAL_PROGRESS: " + json.dumps({"time": began, "step": 40, "loss": 0.5})
    namespace.apply(
        tfjob("slow", {"backoffLimit": 4}, Chief=role(log=f"{line}\n"), Worker=role(2)),
        tfjob("slow", api="kubeflow.org/v1", Worker=role(exit="0@1s")),
    )
    wait_for_phase(namespace, "slow", "Running")
    of_job = f'{{job_namespace="{namespace.namespace}", job_name="slow", job_api="shoal.dev"}}'

    def value(name: str) -> float | None:
        found = scraping.query(f"{name}{of_job}")
        return float(found[0]["value"][1]) if found else None

    wait_until(lambda: value("shoal_job_step") == 40, 60, "the step in Prometheus")
    assert value("shoal_job_retry_limit") == 4
    assert value("shoal_job_progress_timestamp_seconds") == pytest.approx(began, abs=0.01)
    ended = f'sum(shoal_jobs{{job_namespace="{namespace.namespace}", phase="Succeeded"}})'
    wait_until(lambda: bool(scraping.query(ended)), 20, "the end of the other job of that name")
    # It has reported a step, twenty minutes ago: the alert waits for five minutes more before it fires.
    wait_until(lambda: {each["state"] for each in alerts(scraping, "ShoalJobStalled")} == {"pending"}, 20, "the alert")
    (stalled,) = alerts(scraping, "ShoalJobStalled")
    assert stalled["annotations"]["summary"].startswith(f"TFJob {namespace.namespace}/slow runs, and has reported no")
    assert all(group["rules"] and not rule["lastError"] for group in rule_groups(scraping) for rule in group["rules"])
    for expression in expressions():
        choice = {"$namespace": ".*", "$__rate_interval": "1m", "$__range": "1h"}
        for variable, text in choice.items():
            expression = expression.replace(variable, text)
        scraping.query(expression)
    assert scraping.query("sum(shoal_operator_leader)")[0]["value"][1] == "1"
    assert scraping.query('up{job="shoal-operator"} == 1')


def rule_groups(prometheus: RunningPrometheus) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = prometheus.get("rules")["groups"]
    return [{"rules": [{"lastError": "", **rule} for rule in group["rules"]]} for group in groups]


def alerts(prometheus: RunningPrometheus, name: str) -> list[dict[str, Any]]:
    return [each for each in prometheus.get("alerts")["alerts"] if each["labels"]["alertname"] == name]
