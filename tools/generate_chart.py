"""Write `values.schema.json`, the roles, rules and dashboard of `charts/shoal` from `shoal.kubernetes`.

A test holds the files equal to what this writes: python -m tools.generate_chart
"""

from __future__ import annotations

import json
from pathlib import Path

from shoal.kubernetes.install.monitoring import dashboard_text
from shoal.kubernetes.install.rights import (
    IN_CLUSTER,
    IN_NAMESPACES,
    OF_LEASE,
    OF_NODES,
    OF_POOL,
    OF_SECRET,
    Right,
    of_configurations,
)
from shoal.kubernetes.install.values import Values
from shoal.kubernetes.monitoring import rules
from shoal.resources.yaml_text import write_yaml

CHART = Path(__file__).parents[1] / "charts/shoal"
HEAD = "{{- /* Written by tools/generate_chart.py from src/shoal/kubernetes/install/rights.py; change it there. */}}\n"
RULES_HEAD = "# Written by tools/generate_chart.py from src/shoal/kubernetes/monitoring/rules.py; change it there.\n"
FULLNAME = '{{ include "shoal.fullname" . }}'
OWN_NAMESPACE = "  namespace: {{ .Release.Namespace }}\n"
CERTIFICATES = "{{- if and .Values.webhook.enabled (not .Values.webhook.certificate.existingSecret) }}\n---\n"
DEVICE_PLUGIN = "{{- if and .Values.devicePlugin.enabled .Values.devicePlugin.labelNode }}\n---\n"
POOL = "{{- if .Values.gpu.pool.broker }}\n---\n"
LEASE_NAMESPACE = '  namespace: {{ include "shoal.leaseNamespace" . }}\n'


def generate() -> dict[str, str]:
    """The text of each file, by its path in the chart."""
    return {
        "values.schema.json": _schema(),
        "templates/operator-role.yaml": _roles(),
        "monitoring/rules.yaml": RULES_HEAD + write_yaml(rules()),
        "monitoring/dashboard.json": dashboard_text(),
    }


def _schema() -> str:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Values.model_json_schema(by_alias=True)}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _roles() -> str:
    parts = (
        _role("ClusterRole", "", "", IN_NAMESPACES),
        _role("ClusterRole", "-volumes", "", IN_CLUSTER),
        _role("Role", "-lease", LEASE_NAMESPACE, OF_LEASE),
    )
    for_certificates = (
        _role("ClusterRole", "-webhook", "", of_configurations("FULLNAME")).replace("FULLNAME", FULLNAME),
        _role("Role", "-webhook", OWN_NAMESPACE, OF_SECRET),
    )
    pool = POOL + _role("ClusterRole", "-pool", "", OF_POOL) + "{{- end }}\n"
    text = "---\n".join(parts) + pool + CERTIFICATES + "---\n".join(for_certificates) + "{{- end }}\n"
    text += DEVICE_PLUGIN + _role("ClusterRole", "-gpu", "", OF_NODES) + "{{- end }}\n"
    return HEAD + "{{- if .Values.rbac.create }}\n" + text + "{{- end }}\n"


def _role(kind: str, ending: str, namespace: str, rights: tuple[Right, ...]) -> str:
    rules = "".join(_rule(each) for each in rights)
    return (
        f"apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n"
        f"  name: {FULLNAME}{ending}\n{namespace}"
        f'  labels:\n    {{{{- include "shoal.labels" . | nindent 4 }}}}\nrules:\n{rules}'
    )


def _rule(right: Right) -> str:
    comment = f"  # {right.why}\n" if right.why else ""
    first, *rest = (f"{field}: {_list(words)}" for field, words in right.rule().items())
    return comment + "".join(f"{margin}{line}\n" for margin, line in (("  - ", first), *(("    ", x) for x in rest)))


def _list(words: list[str]) -> str:
    return f"[{', '.join(write_yaml([word]).removeprefix('- ').strip().replace(chr(39), chr(34)) for word in words)}]"


if __name__ == "__main__":
    for path, text in generate().items():
        (CHART / path).parent.mkdir(exist_ok=True)
        (CHART / path).write_text(text, encoding="utf-8")
