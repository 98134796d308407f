"""What the CRD's CEL rules refuse."""

from __future__ import annotations

import pytest

from tests.cluster.api.operators import install_crds
from tests.cluster.api.tfjobs import KIND, role, tfjob
from tests.cluster.api_level import ApiCluster
from tests.cluster.errors import ClusterError
from tests.cluster.kubectl import Kubectl


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
