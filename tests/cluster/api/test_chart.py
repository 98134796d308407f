"""The Helm chart, by the real Helm: it says what `shoal install --print` says, and refuses nonsense."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from shoal.kubernetes.install import Values, operator_objects
from tests.cluster.api.operators import CHART, install_crds
from tests.cluster.api_level import ApiCluster
from tests.cluster.helm_program import Helm

EVERYTHING: dict[str, Any] = {
    "image": {
        "repository": "registry.example:5000/team/shoal",
        "digest": f"sha256:{'ab' * 32}",
        "pullPolicy": "Always",
    },
    "imagePullSecrets": [{"name": "login"}],
    "replicas": 3,
    "operator": {
        "workers": 8,
        "gpuResource": "amd.com/gpu",
        "gpuModelLabel": "amd.com/gpu.family",
        "logLevel": "debug",
    },
    "serviceAccount": {"name": "shoal", "annotations": {"cloud.example/role": "shoal"}},
    "resources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"cpu": "1.5", "memory": "2Gi"}},
    "podAnnotations": {"note": "yes"},
    "podLabels": {"team": "a", "app.kubernetes.io/name": "not-to-be-covered"},
    "priorityClassName": "high",
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "tolerations": [{"key": "reserved", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}]
            }
        }
    },
    "metrics": {"port": 9090, "serviceMonitor": {"enabled": True, "interval": "1m", "labels": {"release": "mine"}}},
    "monitoring": {
        "rules": {"enabled": True, "labels": {"release": "mine"}},
        "modelServers": {"enabled": True, "interval": "1m", "labels": {"release": "mine"}},
        "dashboard": {"enabled": True, "labels": {"grafana_dashboard": "yes", "team": "a"}},
    },
    "webhook": {
        "port": 8443,
        "failurePolicy": "Fail",
        "timeoutSeconds": 3,
        "namespaceSelector": {"matchExpressions": [{"key": "jobs", "operator": "In", "values": ["yes"]}]},
        "annotations": {"cert-manager.io/inject-ca-from": "shoal-system/webhook"},
        "certificate": {"existingSecret": "made-elsewhere", "caBundle": "QUJD"},
    },
    "networkPolicy": {
        "enabled": True,
        "apiServerPorts": [8443],
        "metricsFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
    },
    "podDisruptionBudget": {"maxUnavailable": 2},
    "gpu": {
        "pool": {
            "broker": "https://gpus.example.com:8480",
            "existingSecret": "pool",
            "resources": ["gpus.example.com/gpu"],
            "port": 8480,
        }
    },
    "devicePlugin": {
        "enabled": True,
        "resourceName": "bitfusion.io/gpu",
        "socketName": "bitfusiongpu",
        "devicePattern": "A100|H100",
        "args": ["--pass-by=cdi", "--pre-start"],
        "runtimeClassName": "nvidia",
        "kubeletFolder": "/data/kubelet/device-plugins",
        "resources": {"limits": {"memory": "1Gi"}},
        "nodeSelector": {"gpus": "yes"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    },
}
CHOICES: dict[str, dict[str, Any]] = {
    "the defaults": {},
    "everything": EVERYTHING,
    "a tag": {"image": {"tag": "2.0-rc1"}},
    "one namespace": {
        "operator": {"watchNamespace": "team-a"},
        "monitoring": {"modelServers": {"enabled": True}, "dashboard": {"enabled": True}},
    },
    "a name": {"fullnameOverride": "another"},
    "rights by somebody else": {"rbac": {"create": False}, "serviceAccount": {"create": False, "name": "theirs"}},
    "no budget": {"podDisruptionBudget": {"enabled": False}, "replicas": 0},
    "a policy for all": {"networkPolicy": {"enabled": True}},
    "device plugins": {"devicePlugin": {"enabled": True}},
    "device plugins that label nothing": {"devicePlugin": {"enabled": True, "labelNode": False}},
    "a pool": {"gpu": {"pool": {"broker": "https://gpus:8470"}}},
    "a pool for one namespace": {
        "gpu": {"pool": {"broker": "https://gpus:8470"}},
        "operator": {"watchNamespace": "team-a"},
    },
    "no webhook": {
        "webhook": {"enabled": False, "certificate": {"existingSecret": "unused"}},
        "networkPolicy": {"enabled": True},
    },
    "texts that YAML would misread": {"podAnnotations": {"on": "yes", "port": "0644"}, "priorityClassName": "no"},
}
NONSENSE: dict[str, tuple[dict[str, Any], str]] = {
    "a misspelt key": ({"replica": 3}, "replica"),
    "a misplaced key": ({"metrics": {"networkPolicy": {"enabled": True}}}, "networkPolicy"),
    "a number in words": ({"replicas": "two"}, "/replicas"),
    "too few": ({"replicas": -1}, "/replicas"),
    "an interval that is none": ({"monitoring": {"modelServers": {"interval": "soon"}}}, "modelServers/interval"),
    "a port that is none": ({"metrics": {"port": 70000}}, "/metrics/port"),
    "a level that is none": ({"operator": {"logLevel": "verbose"}}, "/operator/logLevel"),
    "a policy that is none": ({"image": {"pullPolicy": "Sometimes"}}, "/image/pullPolicy"),
    "a digest that is none": ({"image": {"digest": "latest"}}, "/image/digest"),
    "a namespace that is none": ({"operator": {"watchNamespace": "Team A"}}, "/operator/watchNamespace"),
    "a list for a mapping": ({"nodeSelector": ["a"]}, "/nodeSelector"),
    "an annotation that is no text": ({"podAnnotations": {"a": True}}, "/podAnnotations"),
    "a quantity that is none": ({"resources": {"limits": {"memory": "lots"}}}, "/resources/limits/memory"),
    "a failure policy that is none": ({"webhook": {"failurePolicy": "Retry"}}, "/webhook/failurePolicy"),
    "a time that the API server refuses": ({"webhook": {"timeoutSeconds": 31}}, "/webhook/timeoutSeconds"),
    "a bundle that is not in base64": ({"webhook": {"certificate": {"caBundle": "-----BEGIN"}}}, "/caBundle"),
    "a resource that is none": ({"devicePlugin": {"resourceName": "gpu"}}, "/devicePlugin/resourceName"),
    "a broker that is none": ({"gpu": {"pool": {"broker": "gpus:8470"}}}, "/gpu/pool/broker"),
    "a budget that blocks drains": ({"podDisruptionBudget": {"maxUnavailable": 0}}, "/podDisruptionBudget"),
}


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_lint_has_nothing_to_say(values: dict[str, Any], helm: Helm, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    said = helm("lint", "--strict", "--values", file, CHART)
    assert "0 chart(s) failed" in said
    assert [line for line in said.splitlines() if line.startswith(("[WARNING]", "[ERROR]"))] == []


@pytest.mark.parametrize("values", CHOICES.values(), ids=CHOICES.keys())
@pytest.mark.parametrize("release", ["shoal", "mine"])
def test_the_chart_and_install_print_the_same(values: dict[str, Any], release: str, helm: Helm) -> None:
    by_helm = keyed(helm.template(values, "somewhere", release))
    by_python = keyed(json.loads(json.dumps(operator_objects(Values.model_validate(values), "somewhere", release))))
    assert by_helm.keys() == by_python.keys()
    for key, found in by_helm.items():
        assert found == by_python[key], key


def test_the_crds_of_the_chart_are_those_that_are_checked_in(helm: Helm) -> None:
    shown = [each for each in yaml.safe_load_all(helm("show", "crds", CHART)) if each]
    checked_in = [yaml.safe_load(file.read_text()) for file in sorted((CHART / "crds").iterdir())]
    assert sorted(shown, key=name) == sorted(checked_in, key=name)


@pytest.mark.parametrize(("values", "where"), NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_is_refused(values: dict[str, Any], where: str, helm: Helm) -> None:
    done = helm.try_("template", "shoal", CHART, "--values=-", stdin=yaml.safe_dump(values))
    assert done.returncode != 0
    assert "don't meet the specifications of the schema" in done.stderr
    assert where in done.stderr
    with pytest.raises(ValueError, match="validation error"):
        Values.model_validate(values)


@pytest.fixture
def release(api_cluster: ApiCluster, helm: Helm) -> Iterator[list[str]]:
    """The words that name a cluster to Helm, where the chart is installed and removed again."""
    install_crds(api_cluster)
    where = ["--kubeconfig", str(api_cluster.kubeconfig), "--namespace", "by-helm"]
    options = ["--set=fullnameOverride=by-helm", "--set=networkPolicy.enabled=true", "--create-namespace", "--wait"]
    helm("install", "shoal", CHART, *where, *options)
    yield where
    helm("uninstall", "shoal", *where, "--ignore-not-found")
    api_cluster.kubectl("delete", "namespace", "by-helm", "--wait=false")


def test_helm_installs_upgrades_and_removes_it(release: list[str], helm: Helm, api_cluster: ApiCluster) -> None:
    kubectl = api_cluster.kubectl.within("by-helm")
    assert kubectl.json("get", "deployment/by-helm")["status"]["availableReplicas"] == 2
    # As docs/installing.md upgrades the CRDs, which Helm leaves alone.
    said = kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=helm("show", "crds", CHART))
    assert said.count("serverside-applied") == len(list((CHART / "crds").iterdir()))
    helm("upgrade", "shoal", CHART, *release, "--reuse-values", "--set=replicas=3", "--wait")
    assert kubectl.json("get", "deployment/by-helm")["status"]["availableReplicas"] == 3
    helm("uninstall", "shoal", *release, "--wait")
    assert not kubectl.exists("clusterrole/by-helm")
    # Jobs would go with their CRDs.
    assert kubectl.exists("crd/tfjobs.shoal.dev")


def keyed(objects: Any) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for each in objects:
        key = f"{each['apiVersion']} {each['kind']} {each['metadata'].get('namespace', '')}/{name(each)}"
        assert key not in found
        found[key] = each
    return found


def name(each: dict[str, Any]) -> str:
    return str(each["metadata"]["name"])
