"""What a workbench is on Kubernetes."""

from __future__ import annotations

from itertools import product
from typing import Any

from shoal.kubernetes.install.rights import IN_NAMESPACES, OF_WORKBENCHES, Right
from shoal.kubernetes.tenants.rights import OF_MEMBERS
from shoal.kubernetes.workbench import render_workbench
from shoal.resources import parse_workbench
from tests.unit.resources.manifests import changed
from tests.unit.resources.test_workbench import EVERYTHING, SMALL


def of_kind(written: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in render_workbench(parse_workbench(written))}


def pod(objects: dict[str, dict[str, Any]]) -> dict[str, Any]:
    spec: dict[str, Any] = objects["Deployment"]["spec"]["template"]["spec"]
    return spec


def single_rights(rights: tuple[Right, ...]) -> set[tuple[str, str, str]]:
    return {each for right in rights for each in product(right.groups, right.resources, right.verbs) if not right.names}


def test_the_smallest_is_an_account_a_deployment_and_a_service():
    objects = of_kind(SMALL)
    assert list(objects) == ["Secret", "ServiceAccount", "Role", "RoleBinding", "Deployment", "Service"]
    deployment = objects["Deployment"]["spec"]
    assert (deployment["replicas"], deployment["strategy"]) == (1, {"type": "Recreate"})
    assert deployment["selector"]["matchLabels"] == objects["Service"]["spec"]["selector"]
    (container,) = pod(objects)["containers"]
    assert container["command"] == [
        *("jupyter", "lab", "--no-browser", "--ip=*", "--port=8888"),
        *("--ServerApp.root_dir=/home/me", "--ServerApp.base_url=/"),
        "--PasswordIdentityProvider.allow_password_change=False",
    ]
    assert container["readinessProbe"]["httpGet"]["path"] == "/api"
    assert objects["Service"]["spec"]["ports"] == [{"name": "http", "port": 80, "targetPort": "http"}]


def test_its_token_is_random_and_in_the_secret_alone():
    first, second = of_kind(SMALL), of_kind(SMALL)
    token = first["Secret"]["stringData"]["token"]
    assert len(bytes.fromhex(token)) == 32
    assert token != second["Secret"]["stringData"]["token"]
    assert not any(token in str(each) for kind, each in first.items() if kind != "Secret")
    (container,) = pod(first)["containers"]
    mount = next(each for each in container["volumeMounts"] if each["name"] == "shoal-token")
    variables = {each["name"]: each["value"] for each in container["env"]}
    assert variables["JUPYTER_TOKEN_FILE"] == f"{mount['mountPath']}/token"
    volume = next(each for each in pod(first)["volumes"] if each["name"] == "shoal-token")
    assert volume["secret"]["secretName"] == first["Secret"]["metadata"]["name"] == "desk-token"


def test_it_is_somebody_to_the_cluster_in_its_own_namespace_only():
    objects = of_kind(EVERYTHING)
    about = {objects[kind]["metadata"]["namespace"] for kind in ("ServiceAccount", "Role", "RoleBinding")}
    assert about == {"team"}
    assert objects["RoleBinding"]["subjects"] == [{"kind": "ServiceAccount", "name": "desk", "namespace": "team"}]
    assert objects["RoleBinding"]["roleRef"]["name"] == objects["Role"]["metadata"]["name"]
    assert pod(of_kind(SMALL))["serviceAccountName"] == "desk"
    assert pod(objects)["serviceAccountName"] == "other"


def test_it_may_run_jobs_and_nothing_that_a_tenants_members_may_not():
    rights = single_rights(OF_WORKBENCHES)
    assert ("shoal.dev", "tfjobs", "create") in rights
    assert rights <= single_rights(OF_MEMBERS)
    assert not {resource for _, resource, _ in rights} & {"secrets", "roles", "workbenches", "pods/exec"}
    assert {verb for _, resource, verb in rights if resource == "pods"} == {"get", "list", "watch"}


def test_the_operator_has_what_it_gives():
    assert single_rights(OF_WORKBENCHES) <= single_rights(IN_NAMESPACES)


def test_the_operator_makes_secrets_and_reads_none():
    assert {verb for _, resource, verb in single_rights(IN_NAMESPACES) if resource == "secrets"} == {"create"}


def test_it_passes_the_restricted_level():
    spec = pod(of_kind(SMALL))
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_it_is_told_of_the_path_that_the_ingress_gives_it():
    objects = of_kind(EVERYTHING)
    container = pod(objects)["containers"][0]
    assert "--ServerApp.base_url=/desk/" in container["command"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/desk/api"
    assert objects["Ingress"]["spec"]["rules"][0]["http"]["paths"][0]["path"] == "/desk"


def test_an_idle_one_ends_kernels_terminals_and_itself():
    command = pod(of_kind(EVERYTHING))["containers"][0]["command"]
    assert command[-6:] == [
        "--ServerApp.shutdown_no_activity_timeout=3600",
        "--MappingKernelManager.cull_idle_timeout=3600",
        "--MappingKernelManager.cull_interval=300",
        "--MappingKernelManager.cull_connected=True",
        "--TerminalManager.cull_inactive_timeout=3600",
        "--TerminalManager.cull_interval=300",
    ]
    soon = pod(of_kind(changed(SMALL, "spec.idleTimeoutSeconds", 60)))["containers"][0]["command"]
    assert "--MappingKernelManager.cull_interval=15" in soon


def test_a_stopped_one_has_no_replica():
    assert of_kind(changed(SMALL, "spec.stopped", True))["Deployment"]["spec"]["replicas"] == 0


def test_without_storage_it_works_in_a_folder_of_the_pod():
    spec = pod(of_kind(changed(SMALL, "spec", {})))
    assert {"name": "shoal-work", "mountPath": "/work"} in spec["containers"][0]["volumeMounts"]
    assert {"name": "shoal-work", "emptyDir": {}} in spec["volumes"]
    assert {"name": "HOME", "value": "/work"} in spec["containers"][0]["env"]
    claimed = pod(of_kind(changed(SMALL, "spec.storage.0.mountPath", "/work")))
    assert [mount["name"] for mount in claimed["containers"][0]["volumeMounts"]] == ["work", "shoal-token"]


def test_the_template_adds_what_the_pod_needs_beside():
    objects = of_kind(EVERYTHING)
    own, beside = pod(objects)["containers"]
    assert (own["name"], own["image"], own["args"], beside["name"]) == (
        "jupyterlab",
        "example/lab:1",
        ["--debug"],
        "beside",
    )
    assert own["resources"]["limits"] == {"memory": "4Gi"}
    assert {each["name"] for each in own["env"]} == {"HOME", "JUPYTER_TOKEN_FILE", "SHOAL_ON", "A"}
    assert [each["mountPath"] for each in own["volumeMounts"]][:2] == ["/data", "/home/me"]
    assert objects["PersistentVolumeClaim"]["metadata"]["name"] == "desk-work"
