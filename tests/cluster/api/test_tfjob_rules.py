"""What the CRD's CEL rules refuse."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.api.operators import install_crds
from tests.cluster.api.tfjobs import KIND, role, tfjob
from tests.cluster.api_level import ApiCluster
from tests.cluster.errors import ClusterError
from tests.cluster.kubectl import Kubectl

ROLES = ("chief", "master", "worker", "ps", "evaluator")


@pytest.fixture(scope="module", autouse=True)
def crds(api_cluster: ApiCluster) -> None:
    install_crds(api_cluster)


def test_who_manages_a_job_cannot_change(namespace: Kubectl) -> None:
    namespace.apply(tfjob("fixed", {"suspend": True}, Worker=role()))
    with pytest.raises(ClusterError, match="managedBy cannot change"):
        namespace(
            "patch",
            f"{KIND}/fixed",
            "--type=merge",
            "-p",
            '{"spec": {"runPolicy": {"managedBy": "shoal.dev/operator"}}}',
        )


def test_a_role_that_nobody_knows_is_refused(namespace: Kubectl) -> None:
    with pytest.raises(ClusterError, match="the roles are Chief"):
        namespace.apply(tfjob("odd", Worker=role(), Launcher=role()))


@pytest.mark.parametrize(
    ("job", "told"),
    [
        ({"Chief": role(), "enableDynamicWorker": True}, "there is no Worker to come and go"),
        ({"Worker": role(), "strategy": "BetweenGraphSync"}, "BetweenGraphSync need a PS"),
        ({"Worker": role(), "PS": role(0), "strategy": "BetweenGraphAsync"}, "BetweenGraphSync need a PS"),
        ({"Worker": role(), "PS": role(), "strategy": "ParameterServer"}, "InGraph need a Chief"),
        ({"Worker": role(), "strategy": "InGraph"}, "InGraph need a Chief"),
        ({"worker": role(2), "ps": role(), "strategy": "AllReduce"}, "AllReduce has no use for a PS"),
        ({"Worker": role(2), "enableDynamicWorker": True, "strategy": "AllReduce"}, "without knowing all workers"),
        (
            {"Worker": role(2), "Chief": role(), "run_policy": {"schedulingPolicy": {"minAvailable": 4}}},
            "minAvailable: the job has fewer replicas",
        ),
        ({"Chief": role(), "scaling": {"maxWorkers": 2}}, "it changes the replicas of Worker"),
        ({"Worker": role(), "scaling": {"minWorkers": 3, "maxWorkers": 2}}, "minWorkers is more than maxWorkers"),
    ],
)
def test_what_the_schema_alone_would_take(job: dict[str, Any], told: str, namespace: Kubectl) -> None:
    with pytest.raises(ClusterError, match=told):
        namespace.apply(written(**job))


@pytest.mark.parametrize(
    "job",
    [
        {"master": role(), "ps": role(), "worker": role(0), "strategy": "ParameterServer"},
        {"Worker": role(2), "PS": role(), "enableDynamicWorker": True, "strategy": "BetweenGraphAsync"},
        {"Worker": role(2), "Chief": role(), "run_policy": {"schedulingPolicy": {"minAvailable": 3}}},
        {"Worker": role(2), "PS": role(0), "strategy": "AllReduce"},
    ],
)
def test_what_the_rules_let_through(job: dict[str, Any], namespace: Kubectl) -> None:
    namespace.apply(written(**job))


@pytest.mark.parametrize("job", [{"Worker": role(), "run_policy": {"schedulingPolicy": {"minAvailable": 2}}}])
def test_kubeflow_jobs_have_the_rules_of_their_fields(job: dict[str, Any], namespace: Kubectl) -> None:
    with pytest.raises(ClusterError, match="the job has fewer replicas"):
        namespace.apply(written(**job, api="kubeflow.org/v1"))


def written(name: str = "job", **parts: Any) -> dict[str, Any]:
    """A job with its roles in any case."""
    specs = {key: parts.pop(key) for key in list(parts) if key.lower() in ROLES}
    return tfjob(name, tfReplicaSpecs=specs, **parts)
