"""Two tenants on one API server, each with a kubeconfig of its own: what they can do, and what they cannot."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cluster.api.commands import COMMAND, Result, Shoal
from tests.cluster.api.model_servers import model_server, wait_for_server
from tests.cluster.api.operators import OperatorProcess, operator_with_its_rights
from tests.cluster.api.tfjobs import KIND, role, tell, tfjob, wait_for_phase
from tests.cluster.api_level import ApiCluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.pods import fake_pod
from tests.cluster.waiting import wait_until
from tests.integration.gpu.brokers import TOKENS, bearer
from tests.integration.gpu.test_broker_process import broker

GRANTED = ("--cpu", "4", "--memory", "8Gi", "--gpus", "2", "--pods", "6", "--nfs", "nfs.example:/{name}")
LOG = "2026-01-01T00:00:00.000000001Z a secret of ours\n"


class Member(NamedTuple):
    """Somebody of a tenant: by the commands of `shoal`, and by kubectl."""

    shoal: Shoal
    kubectl: Kubectl


def tenant(cluster: ApiCluster, *words: str) -> Result:
    """`shoal tenant …` as the administrator."""
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    done = subprocess.run(
        [*COMMAND, "tenant", *words], capture_output=True, text=True, env=environment, timeout=150, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Result(done.returncode, done.stdout, done.stderr)


def create(cluster: ApiCluster, name: str, *words: str) -> Result:
    granted = [word.format(name=name) for word in GRANTED]
    return tenant(cluster, "create", name, *granted, "--member", f"dev@{name}.example", *words)


@pytest.fixture(scope="module", autouse=True)
def operator(api_cluster: ApiCluster) -> Iterator[OperatorProcess]:
    with operator_with_its_rights(api_cluster, "tenants") as running:
        yield running


@pytest.fixture(scope="module")
def teams(api_cluster: ApiCluster, operator: OperatorProcess) -> Iterator[tuple[Member, Member]]:
    """One member of each of two tenants. In the end nothing of them may be left."""
    names = ("team-a", "team-b")
    for name in names:
        made = create(api_cluster, name)
        assert made.code == 0, made
    yield _member(api_cluster, "team-a"), _member(api_cluster, "team-b")
    for name in names:
        assert tenant(api_cluster, "delete", name, "--yes").code == 0
        left = api_cluster.kubectl(
            *("get", "namespaces,validatingadmissionpolicies,validatingadmissionpolicybindings"),
            *("-l", f"shoal.dev/tenant={name}", "-o", "name"),
        )
        assert left == ""


@pytest.fixture(autouse=True)
def nothing_runs_on(api_cluster: ApiCluster) -> Iterator[None]:
    """What a test has left would use up the quota of the next."""
    yield
    for name in ("team-a", "team-b"):
        team = api_cluster.kubectl.within(name)
        team("delete", "tfjobs.shoal.dev,tfjobs.kubeflow.org,modelservers", "--all")
        wait_until(partial(_removed, team), 30, "the end of pods")


def _removed(team: Kubectl) -> bool:
    """Whether no pod is left. What makes them is deleted by hand: the garbage collector learns of new CRDs every 30 s
    only, and until then leaves what their objects owned."""
    if not team.json("get", "pods")["items"]:
        return True
    team("delete", "deployments,replicasets,pods", "--all", "--force", "--grace-period=0", "--wait=false")
    return False


def _member(cluster: ApiCluster, name: str) -> Member:
    kubeconfig = cluster.control_plane.identity(f"dev@{name}.example")
    namespace = cluster.kubectl.within(name)
    namespace.wait_for("serviceaccount/default", lambda _: True)
    namespace.wait_for("resourcequota/shoal-tenant", lambda quota: quota.get("status", {}).get("hard"))
    return Member(Shoal(kubeconfig, name), Kubectl(cluster.kubectl.program, kubeconfig, name))


def rights(within: Kubectl) -> set[tuple[str, str]]:
    """Verbs and resources that the API server grants there, but for what everybody may: ask who one is."""
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview"}
    asked = within(
        "create",
        "--validate=false",
        "-f",
        "-",
        "-o",
        "json",
        stdin=json.dumps({**review, "spec": {"namespace": within.namespace}}),
    )
    return {
        (verb, resource)
        for rule in json.loads(asked)["status"]["resourceRules"]
        for verb in rule["verbs"]
        for resource in rule["resources"]
        if rule["apiGroups"][0] not in ("authorization.k8s.io", "authentication.k8s.io")
    }


def requesting(found: dict[str, Any], **resources: str) -> dict[str, Any]:
    """A role whose container requests that much."""
    found["template"]["spec"]["containers"][0]["resources"] = {"requests": resources}
    return found


def test_members_do_their_work_and_see_nothing_of_each_other(teams: tuple[Member, Member]) -> None:
    ours, theirs = teams
    began = ours.shoal.run(tfjob("train", Worker=role(1, log=LOG)), options=("--detach",))
    assert began.code == 0, began
    ours.kubectl.apply(model_server("digits"))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"key": "ours"}}
    ours.kubectl.apply(secret)
    wait_for_phase(ours.kubectl, "train", "Running")
    wait_for_server(ours.kubectl, "digits", "Ready")
    assert ours.shoal("logs", "train").out.endswith("a secret of ours\n")
    assert "train" in ours.shoal("ps").out
    assert ours.shoal("describe", "train").code == 0

    spying = Shoal(theirs.kubectl.kubeconfig, ours.kubectl.namespace)
    for words in (("ps", "-a"), ("logs", "train"), ("describe", "train"), ("stop", "train"), ("rm", "-f", "train")):
        refused = spying(*words)
        assert refused.code == 2, (words, refused)
        assert "a secret of ours" not in refused.out + refused.err
        assert 'User "dev@team-b.example" cannot' in refused.err
    inside = theirs.kubectl.within(ours.kubectl.namespace)
    assert rights(inside) == set()
    assert inside.try_("get", "secret", "key", "-o", "yaml").returncode != 0
    assert inside.try_("exec", "train-worker-0", "--", "env").returncode != 0
    assert inside.try_("port-forward", "pod/train-worker-0", "0:80").returncode != 0
    assert theirs.kubectl.try_("get", "tfjobs.shoal.dev", "--all-namespaces").returncode != 0
    assert theirs.shoal("ps", "-a").out == ""
    assert ours.shoal("rm", "-f", "train").code == 0
    ours.kubectl("delete", "modelserver/digits", "secret/key")


def test_nothing_that_a_member_may_do_leads_further(teams: tuple[Member, Member]) -> None:
    ours, _ = teams
    writable = {resource for verb, resource in rights(ours.kubectl) if verb not in ("get", "list", "watch")}
    kinds = {"tfjobs", "tfjobs/scale", "modelservers", "modelservers/scale", "tensorboards", "workbenches"}
    work = {"pods", "pods/exec", "pods/portforward", "configmaps", "secrets", "persistentvolumeclaims"}
    assert writable == kinds | work
    readable = {resource for verb, resource in rights(ours.kubectl) if verb == "get"}
    assert {"pods/log", "events", "deployments", "services", "resourcequotas"} < readable
    assert not readable & {"serviceaccounts", "roles", "nodes", "namespaces"}
    label = ours.kubectl.try_("label", "namespace", "team-a", "pod-security.kubernetes.io/enforce-", "--overwrite")
    assert label.returncode != 0


def test_pod_security_is_enforced_and_the_status_says_so(teams: tuple[Member, Member]) -> None:
    ours, _ = teams
    refused = ours.kubectl.try_("apply", "-f", "-", stdin=json.dumps(fake_pod("root")))
    assert 'violates PodSecurity "restricted:latest"' in refused.stderr
    ours.kubectl.apply(tfjob("kubeflow", api="kubeflow.org/v1", Worker=role(1)))
    kind = "tfjobs.v1.kubeflow.org/kubeflow"
    told = ours.kubectl.wait_for(kind, lambda job: "PodSecurity" in job.get("status", {}).get("message", ""), 15)
    assert told["status"]["message"].startswith('waiting for worker-0; cannot create a pod: pods "kubeflow-worker-0"')
    ours.kubectl("delete", kind)


def test_a_job_over_quota_says_why_and_goes_on_when_there_is_room(
    api_cluster: ApiCluster, teams: tuple[Member, Member]
) -> None:
    ours, _ = teams
    ours.kubectl.apply(tfjob("holds", Worker=requesting(role(1), cpu="3")))
    wait_for_phase(ours.kubectl, "holds", "Running")
    ours.kubectl.apply(tfjob("waits", Worker=requesting(role(1, exit="0@0s"), cpu="2")))
    told = ours.kubectl.wait_for(f"{KIND}/waits", lambda job: "quota" in job.get("status", {}).get("message", ""), 15)[
        "status"
    ]
    assert told["phase"] == "Pending"
    assert "exceeded quota: shoal-tenant, requested: requests.cpu=2" in told["message"]
    assert "exceeded quota: shoal-tenant" in ours.shoal("describe", "waits").out
    shown = tenant(api_cluster, "show", "team-a", "--output", "json")
    assert json.loads(shown.out)["resources"]["cpu"] == {"used": "3", "granted": "4"}
    assert json.loads(shown.out)["members"] == ["dev@team-a.example"]
    bars = tenant(api_cluster, "show", "team-a")
    assert ["cpu", "3", "4", "████████░░", "75", "%"] in [line.split() for line in bars.out.splitlines()]
    tell(api_cluster.kubectl.within("team-a"), "holds-worker-0", exit="0@0s")
    wait_for_phase(ours.kubectl, "waits", "Succeeded")
    ours.kubectl("delete", f"{KIND}/holds", f"{KIND}/waits")


def test_gpus_of_every_name_count(teams: tuple[Member, Member]) -> None:
    ours, _ = teams
    for resource in ("nvidia.com/gpu", "shoal.dev/gpu", "bitfusion.io/gpu"):
        worker = role(1)
        worker["template"]["spec"]["containers"][0]["resources"] = {"limits": {resource: "3"}}
        ours.kubectl.apply(tfjob("many", Worker=worker))
        ours.kubectl.wait_for(
            f"{KIND}/many",
            lambda job, name=resource: f"limited: requests.{name}=2" in job.get("status", {}).get("message", ""),  # type: ignore[misc]
            15,
        )
        ours.kubectl("delete", f"{KIND}/many")


def test_an_nfs_export_of_another_tenant_is_not_mounted(teams: tuple[Member, Member]) -> None:
    ours, _ = teams

    def storing(path: str) -> dict[str, Any]:
        storage = [{"name": "data", "mountPath": "/data", "nfs": {"server": "nfs.example", "path": path}}]
        return tfjob("stores", Worker=role(1), storage=storage, runPolicy={"suspend": True})

    for path in ("/team-b", "/", "/team-a-too", "/team-a/../team-b"):
        refused = ours.kubectl.try_("apply", "-f", "-", stdin=json.dumps(storing(path)))
        assert "may use these NFS exports: nfs.example:/team-a" in refused.stderr, path
    ours.kubectl.apply(storing("/team-a/sets"))
    ours.kubectl("delete", f"{KIND}/stores")


def test_a_member_sees_its_own_tenant_alone(teams: tuple[Member, Member]) -> None:
    _, theirs = teams
    environment = {**os.environ, "KUBECONFIG": str(theirs.kubectl.kubeconfig)}

    def asked(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*COMMAND, "tenant", *words], capture_output=True, text=True, env=environment, timeout=60)

    own = asked("show", "team-b", "-o", "json")
    assert json.loads(own.stdout)["members"] == ["dev@team-b.example"]
    for words in (("show", "team-a"), ("list",), ("create", "mine", "--cpu", "1", "--memory", "1Gi")):
        refused = asked(*words)
        assert (refused.returncode, refused.stdout) == (2, ""), words
        assert refused.stderr.startswith("error: the cluster refuses: ")


def test_create_again_changes_what_differs(api_cluster: ApiCluster, teams: tuple[Member, Member]) -> None:
    again = create(api_cluster, "team-b")
    assert again == Result(0, "", "tenant team-b is as granted already: nothing has changed\n")
    more = create(api_cluster, "team-b", "--cpu", "8", "--group", "researchers", "--egress", "10.9.0.0/16")
    assert more.code == 0
    lines = more.out.splitlines()
    assert "resourcequota/shoal-tenant: spec.hard.requests.cpu: 4 → 8" in lines
    assert "rolebinding/shoal-tenant: subjects: with researchers" in lines
    assert len(lines) == 3, lines
    assert create(api_cluster, "team-b").code == 0
    quota = api_cluster.kubectl.within("team-b").json("get", "resourcequota/shoal-tenant")
    assert quota["spec"]["hard"]["requests.cpu"] == "4"


def test_delete_lists_what_goes_and_leaves_nothing(api_cluster: ApiCluster, namespace: Kubectl) -> None:
    taken = create(api_cluster, namespace.namespace)
    assert taken.code == 2
    assert taken.err.startswith(f"error: the namespace {namespace.namespace} is there, and is no tenant's\nhint: ")
    strange = tenant(api_cluster, "delete", namespace.namespace, "--yes")
    assert (strange.code, strange.out) == (2, "")
    assert create(api_cluster, "leaving").code == 0
    inside = api_cluster.kubectl.within("leaving")
    inside.wait_for("serviceaccount/default", lambda _: True)
    inside.apply(tfjob("train", Worker=role(1)))
    wait_for_phase(inside, "train", "Running")
    listed = json.loads(tenant(api_cluster, "list", "-o", "json").out)
    assert "leaving" in [each["name"] for each in listed]
    dry = tenant(api_cluster, "delete", "leaving", "--dry-run")
    assert dry.code == 0
    assert "namespace/leaving with 1 tfjobs, 1 pods" in dry.out.splitlines()
    assert inside.exists(f"{KIND}/train")
    assert tenant(api_cluster, "delete", "leaving", "--yes").code == 0
    wait_until(lambda: not api_cluster.kubectl.exists("namespace/leaving"), 5, "the end of the namespace")
    everything = "namespaces,validatingadmissionpolicies,validatingadmissionpolicybindings"
    assert api_cluster.kubectl("get", everything, "-l", "shoal.dev/tenant=leaving", "-o", "name") == ""
    gone = tenant(api_cluster, "delete", "leaving", "--yes")
    assert gone.err.startswith("error: there is no tenant 'leaving'\nhint: ")


def test_a_tenant_of_the_pool_has_a_quota_and_a_token_of_its_own(
    api_cluster: ApiCluster, teams: tuple[Member, Member], tmp_path: Path
) -> None:
    ours, theirs = teams
    unnamed = create(api_cluster, "team-a", "--gpu-memory", "80Gi")
    assert (unnamed.code, unnamed.err.startswith("error: --gpu-memory and --max-priority are the pool's")) == (2, True)
    with broker(tmp_path) as (_, client):
        (tmp_path / "admin").write_text(TOKENS["ops"])
        pool = ("--broker", str(client.base_url), "--token-file", str(tmp_path / "admin"))
        pool = (*pool, "--ca", str(tmp_path / "tls" / "ca.crt"))
        tokens = {}
        for name in ("team-a", "team-b"):
            made = create(api_cluster, name, *pool, "--gpu-memory", "80Gi")
            assert made.code == 0, made
            first, token = made.out.splitlines()
            assert first == "secret/shoal-gpu-pool: new"
            assert "the pool lends it 2 GPUs, 81920 MiB of their memory\n" in made.err
            tokens[name] = {"Authorization": f"Bearer {token}"}
        held = ours.kubectl.json("get", "secret", "shoal-gpu-pool")["data"]
        assert base64.b64decode(held["token"]).decode() == tokens["team-a"]["Authorization"].removeprefix("Bearer ")
        assert theirs.kubectl.within("team-a").try_("get", "secret", "shoal-gpu-pool").returncode != 0
        again = create(api_cluster, "team-a", *pool, "--gpu-memory", "80Gi")
        assert (again.code, again.out) == (0, "")  # the token is not shown again

        (quota,) = client.get("/v1/quotas", headers=tokens["team-a"]).json()
        assert (quota["tenant"], quota["gpus"], quota["gpu_memory_mib"]) == ("team-a", 2.0, 81920)
        asked = client.post("/v1/leases", json={"requests": [{}]}, headers=tokens["team-a"]).json()
        assert client.get(f"/v1/leases/{asked['id']}", headers=tokens["team-b"]).status_code == 404
        assert client.get("/v1/leases", headers=tokens["team-b"]).json() == []

        dry = tenant(api_cluster, "delete", "team-b", "--dry-run", *pool)
        assert "its leases, quota and token of the pool" in dry.out.splitlines()
        assert create(api_cluster, "leaving", *pool).code == 0
        assert tenant(api_cluster, "delete", "leaving", "--yes", *pool).code == 0
        known = [each["tenant"] for each in client.get("/v1/quotas", headers=bearer("ops")).json()]
        assert known == ["speech", "team-a", "team-b", "vision"]
    for name in ("team-a", "team-b"):
        assert create(api_cluster, name).code == 0
