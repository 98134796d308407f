"""The operator looks after model servers on a real API server: their objects, their updates, their end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.api.model_servers import SERVER, model_server, wait_for_server
from tests.cluster.api.operators import OperatorProcess, established, operator_with_its_rights
from tests.cluster.api.tfjobs import KIND, names, reasons, role, tfjob
from tests.cluster.api_level import ApiCluster
from tests.cluster.errors import ClusterError
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until

OBJECTS = "deployments,services,configmaps,poddisruptionbudgets,horizontalpodautoscalers,ingresses"
CPU = {"requests": {"cpu": "10m"}}
HTTP_ROUTE: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "httproutes.gateway.networking.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/2997"},
    },
    "spec": {
        "group": "gateway.networking.k8s.io",
        "scope": "Namespaced",
        "names": {"kind": "HTTPRoute", "plural": "httproutes", "singular": "httproute", "listKind": "HTTPRouteList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }
                },
            }
        ],
    },
}
"""Of the Gateway API, which no cluster has by itself, only that there is such a kind."""


@pytest.fixture(scope="module", autouse=True)
def operator(api_cluster: ApiCluster) -> Iterator[OperatorProcess]:
    with operator_with_its_rights(api_cluster, "servers") as running:
        yield running


def test_a_server_comes_up_is_scaled_and_goes(namespace: Kubectl) -> None:
    namespace.apply(model_server("digits", replicas=2))
    server = wait_for_server(namespace, "digits", "Ready")
    assert server["status"]["readyReplicas"] == server["status"]["updatedReplicas"] == 2
    assert server["status"]["url"] == f"http://digits.{namespace.namespace}.svc:8501"
    assert names(namespace, OBJECTS) == {"digits", "digits-models"}
    namespace("wait", f"{SERVER}/digits", "--for=condition=Ready", "--timeout=1s")
    namespace("wait", f"{SERVER}/digits", "--for=condition=Available", "--timeout=1s")
    assert "ServerReady" in reasons(namespace, "digits")
    namespace("scale", f"{SERVER}/digits", "--replicas=3")
    assert wait_for_server(namespace, "digits", "Ready", 2)["status"]["replicas"] == 3
    header, row = namespace("get", "modelservers", "--no-headers=false").splitlines()
    assert header.split() == ["NAME", "STATE", "READY", "VERSIONS", "URL", "AGE"]
    assert row.split()[:3] == ["digits", "Ready", "3"]
    assert server["status"]["url"] in row
    # Pods that only pretend to serve tell of no version, and that is told.
    namespace.wait_for(f"{SERVER}/digits", lambda server: server["status"].get("silentReplicas") == 3, 60)
    namespace("delete", f"{SERVER}/digits")
    # The garbage collector learns of a new kind every half minute, and may have to wait for others then.
    wait_until(lambda: not names(namespace, f"{OBJECTS},pods"), 90, "the end of what it owned")


def test_an_update_takes_no_replica_before_the_next_is_ready(namespace: Kubectl) -> None:
    script = {"ready_after": "1s"}
    namespace.apply(model_server("digits", script, replicas=2))
    wait_for_server(namespace, "digits", "Ready")
    namespace.apply(model_server("digits", script, replicas=2, image="example/serving:2"))
    updating = wait_for_server(namespace, "digits", "Updating", 2)
    assert updating["status"]["readyReplicas"] >= 2
    seen = set()

    def done() -> bool:
        status = namespace.json("get", f"{SERVER}/digits")["status"]
        seen.add(status["readyReplicas"])
        return bool(status["phase"] == "Ready" and status["updatedReplicas"] == 2)

    wait_until(done, 30, "the end of the update")
    assert min(seen) >= 2
    images = {pod["spec"]["containers"][0]["image"] for pod in namespace.json("get", "pods")["items"]
              if "deletionTimestamp" not in pod["metadata"]}  # fmt: skip
    assert images == {"example/serving:2"}


def test_models_change_and_no_pod_does(namespace: Kubectl) -> None:
    namespace.apply(model_server("digits"))
    wait_for_server(namespace, "digits", "Ready")
    pods = names(namespace, "pods")
    namespace.apply(model_server("digits", models=[{"name": "other", "basePath": "s3://bucket/other"}]))
    wait_for_server(namespace, "digits", "Ready", 2)
    assert 'name: "other"' in namespace.json("get", "configmap/digits-models")["data"]["models.config"]
    assert names(namespace, "pods") == pods


def test_routes_come_and_go(namespace: Kubectl) -> None:
    namespace.apply(model_server("digits", ingress={"host": "models.example.com", "canaryWeight": 10}))
    server = wait_for_server(namespace, "digits", "Ready")
    assert server["status"]["url"] == "http://models.example.com"
    (rule,) = namespace.json("get", "ingress/digits")["spec"]["rules"]
    assert rule["http"]["paths"][0]["path"] == "/v1/models/digits"
    namespace.apply(model_server("digits"))
    wait_for_server(namespace, "digits", "Ready", 2)
    assert names(namespace, "ingresses") == set()


def test_an_autoscaler_takes_over_the_number_that_there_is(namespace: Kubectl) -> None:
    namespace.apply(model_server("digits", replicas=3, resources=CPU))
    wait_for_server(namespace, "digits", "Ready")
    scaling = {"minReplicas": 2, "maxReplicas": 5, "cpuUtilization": 80}
    namespace.apply(model_server("digits", autoscaling=scaling, resources=CPU))
    assert wait_for_server(namespace, "digits", "Ready", 2)["status"]["replicas"] == 3
    assert names(namespace, "horizontalpodautoscalers") == {"digits"}
    # As the autoscaler would, which knows no load here.
    namespace("scale", "deployment/digits", "--replicas=4")
    namespace.apply(model_server("digits", autoscaling=scaling, resources=CPU, image="example/serving:2"))
    assert wait_for_server(namespace, "digits", "Ready", 3)["status"]["replicas"] == 4
    namespace.apply(model_server("digits", replicas=1, resources=CPU))
    assert wait_for_server(namespace, "digits", "Ready", 4)["status"]["replicas"] == 1
    assert names(namespace, "horizontalpodautoscalers") == set()


def test_what_was_deleted_by_hand_comes_back(namespace: Kubectl) -> None:
    namespace.apply(model_server("digits"))
    wait_for_server(namespace, "digits", "Ready")
    for what in ("service/digits", "configmap/digits-models", "deployment/digits", "poddisruptionbudget/digits"):
        uid = namespace.json("get", what)["metadata"]["uid"]
        namespace("delete", what, "--wait=false")
        namespace.wait_for(what, lambda found, uid=uid: found["metadata"]["uid"] != uid)
    wait_for_server(namespace, "digits", "Ready")


def test_a_service_of_somebody_elses_is_left_alone(namespace: Kubectl) -> None:
    ports = [{"name": "http", "port": 80}]
    about = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "digits"}}
    namespace.apply({**about, "spec": {"selector": {"app": "mine"}, "ports": ports}})
    namespace.apply(model_server("digits"))
    server = wait_for_server(namespace, "digits", "Failed")
    assert server["status"]["message"].startswith("Service digits: is there already, and not the server's; rename")
    assert namespace.json("get", "service/digits")["spec"]["selector"] == {"app": "mine"}
    assert "CannotApply" in reasons(namespace, "digits")
    namespace("delete", f"{SERVER}/digits")
    assert namespace.exists("service/digits")


def test_a_kind_that_the_cluster_has_not_is_named(namespace: Kubectl, api_cluster: ApiCluster) -> None:
    gateway = {"name": "public", "host": "models.example.com", "weights": {"digits": 9, "next": 1}}
    namespace.apply(model_server("digits", gateway=gateway))
    server = wait_for_server(namespace, "digits", "Failed")
    assert server["status"]["message"] == "the cluster has no kind HTTPRoute of gateway.networking.k8s.io/v1"
    namespace("wait", f"{SERVER}/digits", "--for=condition=Available", "--timeout=20s")
    api_cluster.kubectl.apply(HTTP_ROUTE)
    api_cluster.kubectl.wait_for("crd/httproutes.gateway.networking.k8s.io", established)
    namespace.apply(model_server("digits", gateway=gateway, replicas=2))
    wait_for_server(namespace, "digits", "Ready", 2)
    (rule,) = namespace.json("get", "httproute/digits")["spec"]["rules"]
    assert [each["weight"] for each in rule["backendRefs"]] == [9, 1]
    namespace.apply(model_server("digits", replicas=2))
    wait_for_server(namespace, "digits", "Ready", 3)
    assert names(namespace, "httproutes") == set()
    api_cluster.kubectl("delete", "crd/httproutes.gateway.networking.k8s.io", "--wait=false")


def test_a_pod_that_is_refused_is_told(namespace: Kubectl) -> None:
    about = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}}
    namespace.apply({**about, "spec": {"hard": {"pods": "0"}}})
    namespace.wait_for("resourcequota/none", lambda quota: quota.get("status", {}).get("hard"))
    namespace.apply(model_server("digits"))
    assert "exceeded quota" in wait_for_server(namespace, "digits", "Failed")["status"]["message"]


def test_claims_are_made_once_and_owned(namespace: Kubectl) -> None:
    claim = {"name": "models", "mountPath": "/models", "size": "1Gi"}
    nfs = {"name": "nas", "mountPath": "/nas", "nfs": {"server": "nas.example", "path": "/models"}}
    models = [{"name": "digits", "basePath": "/models/digits"}]
    namespace.apply(model_server("digits", models=models, storage=[claim, nfs], replicas=0))
    wait_for_server(namespace, "digits", "Ready")
    owner = namespace.json("get", "persistentvolumeclaim/digits-models")["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"]) == ("ModelServer", "digits")
    volume = f"persistentvolume/{namespace.namespace}-digits-nas"
    assert namespace.exists(volume)
    namespace("delete", f"{SERVER}/digits")
    wait_until(lambda: not namespace.exists(volume), 30, "the end of the volume")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"replicas": 1, "autoscaling": {"maxReplicas": 2, "cpuUtilization": 1}}, "autoscaling decides how many"),
        ({"autoscaling": {"maxReplicas": 2}}, "exactly one of cpuUtilization and requestsInFlight"),
        ({"autoscaling": {"maxReplicas": 2, "requestsInFlight": 1}}, "TensorFlow Serving does not count them"),
        ({"autoscaling": {"minReplicas": 3, "maxReplicas": 2, "cpuUtilization": 1}}, "minReplicas is more than"),
        ({"podDisruptionBudget": {}}, "exactly one of maxUnavailable and minAvailable"),
        ({"storage": [{"name": "a", "mountPath": "/a"}]}, "exactly one of existingClaim, nfs and size"),
        ({"models": []}, "should have at least 1 items"),
        ({"models": [{"name": "a", "basePath": "/a", "versionPolicy": {}}]}, "exactly one of latest, all and specific"),
        ({"models": [{"name": "a b", "basePath": "/a"}]}, "should match"),
        ({"serverr": "Shoal"}, "serverr"),
    ],
)
def test_what_the_crd_refuses(spec: dict[str, Any], told: str, namespace: Kubectl) -> None:
    with pytest.raises(ClusterError, match=told):
        namespace.apply(model_server("digits", **spec))


def test_a_job_that_has_succeeded_leaves_a_server_of_its_model(namespace: Kubectl) -> None:
    serve = {"modelName": "digits", "basePath": "/train/model"}
    storage = [{"name": "train", "mountPath": "/train", "existingClaim": "train"}]
    job = tfjob("digits", {"ttlSecondsAfterFinished": 2}, Worker=role(exit="0@1s"), serve=serve, storage=storage)
    volume = f"train-{namespace.namespace}"
    namespace.within("").apply(by_hand(volume))
    namespace.apply(claim("train", volume), job)
    wait_for_server(namespace, "digits", "Ready")
    assert "ModelServerMade" in reasons(namespace, "digits")
    wait_until(lambda: not namespace.exists(f"{KIND}/digits"), 30, "the end of the job's time to live")
    server = namespace.json("get", f"{SERVER}/digits")
    assert "ownerReferences" not in server["metadata"]
    assert server["spec"]["models"] == [{"name": "digits", "basePath": "/train/model"}]
    pod = namespace.json("get", "deployment/digits")["spec"]["template"]["spec"]
    assert pod["volumes"][1]["persistentVolumeClaim"] == {"claimName": "train"}
    # What the job does not say is the user's.
    namespace("patch", f"{SERVER}/digits", "--type=merge", "-p", '{"spec": {"replicas": 2}}')
    wait_for_server(namespace, "digits", "Ready", 2)
    namespace.apply(job)
    namespace.wait_for(f"{KIND}/digits", is_served)
    assert namespace.json("get", f"{SERVER}/digits")["spec"]["replicas"] == 2
    namespace.within("")("delete", f"pv/{volume}", "--wait=false")


COMMON = {"accessModes": ["ReadWriteMany"], "storageClassName": "by-hand"}


def by_hand(name: str) -> dict[str, Any]:
    volume = {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/nowhere"}, **COMMON}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": volume}


def claim(name: str, volume: str) -> dict[str, Any]:
    wanted = {"resources": {"requests": {"storage": "1Gi"}}, "volumeName": volume, **COMMON}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": wanted}


def is_served(job: dict[str, Any]) -> bool:
    conditions = job.get("status", {}).get("conditions", [])
    return any((each["type"], each["status"]) == ("Served", "True") for each in conditions)
