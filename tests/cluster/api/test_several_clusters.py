"""Two clusters with an operator each, one that is down, and one that takes connections and says nothing."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.api.commands import Shoal
from tests.cluster.api.operators import OperatorProcess, install_crds, operator_with_its_rights
from tests.cluster.api.tfjobs import KIND, role, tfjob
from tests.cluster.api_level import ApiCluster
from tests.cluster.binaries import Binaries
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until


@pytest.fixture(scope="module", autouse=True)
def operator(api_cluster: ApiCluster) -> Iterator[OperatorProcess]:
    with operator_with_its_rights(api_cluster, "large") as running:
        yield running


@pytest.fixture(scope="module")
def small_cluster(kubernetes: Binaries) -> Iterator[ApiCluster]:
    """A node without GPUs."""
    with ApiCluster(kubernetes, nodes=1) as cluster:
        install_crds(cluster)
        with operator_with_its_rights(cluster, "small"):
            yield cluster


@pytest.fixture(scope="module")
def stuck() -> Iterator[str]:
    """The address of a server that is as good as dead."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"https://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def small(small_cluster: ApiCluster, make_namespace: Callable[[Kubectl], Kubectl]) -> Kubectl:
    return make_namespace(small_cluster.kubectl)


@pytest.fixture
def shoal(
    api_cluster: ApiCluster, small_cluster: ApiCluster, stuck: str, small: Kubectl, namespace: Kubectl, tmp_path: Path
) -> Shoal:
    """With contexts for all of them, on two clusters that answer; the namespace is the context's."""
    merged: dict[str, list[object]] = {"clusters": [], "users": [], "contexts": []}
    for name, cluster, space in (("large", api_cluster, namespace), ("small", small_cluster, small)):
        content = yaml.safe_load(cluster.kubeconfig.read_text())
        merged["clusters"].append({**content["clusters"][0], "name": name})
        merged["users"].append({**content["users"][0], "name": name})
        context = {"cluster": name, "user": name, "namespace": space.namespace}
        merged["contexts"].append({"name": name, "context": context})
    for name, address in (("down", "https://127.0.0.1:1"), ("stuck", stuck)):
        merged["clusters"].append({"name": name, "cluster": {"server": address, "insecure-skip-tls-verify": True}})
        merged["contexts"].append({"name": name, "context": {"cluster": name, "user": "large"}})
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(merged))
    shoal = Shoal(file, "")
    shoal.environment |= {"SHOAL_ON": "small,large", "SHOAL_HOME": str(tmp_path / "home")}
    return shoal


def asking_for(
    requests: dict[str, object], limits: dict[str, object] | None = None, replicas: int = 1
) -> dict[str, object]:
    worker = role(replicas)
    worker["template"]["spec"]["containers"][0]["resources"] = {"requests": requests, "limits": limits or {}}
    return worker


def test_a_job_goes_where_it_has_room(shoal: Shoal, small: Kubectl, namespace: Kubectl) -> None:
    plain, gpus = asking_for({"cpu": "1"}), asking_for({}, {"nvidia.com/gpu": 4})
    told = shoal.run(tfjob("plain", Worker=plain), options=("-d",))
    assert told.code == 0, told
    assert told.err.startswith("small has room for the one replica ("), "GPUs are left to those who want them"
    assert "; large has room for the one replica (" in told.err
    told = shoal.run(tfjob("gpus", Worker=gpus), options=("-d",))
    assert told.err.startswith("large has room for the one replica ("), told
    assert "8 nvidia.com/gpu free" not in told.err.split(";")[1]
    assert small.exists(f"{KIND}/plain")
    assert namespace.exists(f"{KIND}/gpus")
    wait_until(lambda: shoal("ps").out.count("Running") == 2, 30, "both running")
    header, *rows = shoal("ps").out.splitlines()
    assert header.split()[:3] == ["CLUSTER", "NAME", "PHASE"]
    assert [row.split()[:3] for row in rows] == [["small", "plain", "Running"], ["large", "gpus", "Running"]]
    found = json.loads(shoal("ps", "-o", "json").out)
    assert [(each["name"], each["cluster"]) for each in found] == [("plain", "small"), ("gpus", "large")]
    assert "Cluster   large\n" in shoal("describe", "gpus").out
    assert shoal("rm", "plain").code == 2, "it runs"
    assert shoal("rm", "-f", "plain").code == shoal("rm", "-f", "gpus").code == 0
    assert not small.exists(f"{KIND}/plain")


def test_one_too_large_for_any_goes_where_most_of_it_fits(shoal: Shoal) -> None:
    told = shoal.run(tfjob("large", Worker=asking_for({}, {"nvidia.com/gpu": 8}, 4)), options=("-d",))
    assert told.err.startswith("large has room for 3 of 4 replicas ("), told
    assert "small has room for no replica" in told.err
    assert shoal("rm", "-f", "large").code == 0


def test_a_silent_cluster_is_shown_as_such(shoal: Shoal) -> None:
    assert shoal.run(tfjob("train", Worker=role(exit="0@0s"))).code == 0
    shoal.environment["SHOAL_ON"] = "down,small,stuck,large"
    began = time.monotonic()
    told = shoal("ps", "-a")
    assert time.monotonic() - began < 30
    assert told.code == 0
    assert "train" in told.out
    assert "down is left out: the cluster at https://127.0.0.1:1 does not answer" in told.err
    assert "stuck is left out: " in told.err
    assert shoal("logs", "train").err == "", "it is remembered where it is: nobody else is asked"
    missing = shoal("describe", "trian")
    assert missing.code == 2
    assert "there is no run named 'trian' in down, small, stuck, large; down, stuck could not be asked" in missing.err
    shoal.environment["SHOAL_ON"] = "down"
    alone = shoal("ps")
    assert (alone.code, alone.err.splitlines()[-2:]) == (
        2,
        ["error: none of the clusters answers", "hint: they are down"],
    )


def test_who_may_not_list_nodes_has_the_quota_to_go_by(
    shoal: Shoal, small_cluster: ApiCluster, small: Kubectl, tmp_path: Path
) -> None:
    user = small_cluster.control_plane.identity("dev@example.com", [])
    small("create", "rolebinding", "dev", "--clusterrole=admin", "--user=dev@example.com")
    small("create", "role", "jobs", "--verb=*", "--resource=tfjobs.shoal.dev,tfjobs.kubeflow.org,resourcequotas")
    small("create", "rolebinding", "jobs", "--role=jobs", "--user=dev@example.com")
    small("create", "quota", "team", "--hard=requests.cpu=3")
    content = yaml.safe_load(user.read_text())
    content["contexts"][0]["context"]["namespace"] = small.namespace
    file = tmp_path / "dev"
    file.write_text(yaml.safe_dump(content))
    shoal.environment |= {"KUBECONFIG": str(file), "SHOAL_ON": "any"}
    wait_until(lambda: small.json("get", "quota/team").get("status", {}).get("used"), 30, "what is used")
    told = shoal.run(tfjob("train", Worker=asking_for({"cpu": "2"}, replicas=2)), options=("-d",))
    assert told.code == 0, told
    assert told.err.startswith("shoal has room for 1 of 2 replicas (3 CPUs free in the quota)"), told
    assert shoal("rm", "-f", "train").code == 0
