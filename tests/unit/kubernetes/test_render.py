"""Golden files of what is rendered, and the facts in them that matter.

After an intended change: UPDATE_GOLDEN=1 pytest tests/unit/kubernetes, and read the diff.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from shoal.kubernetes.render import render
from shoal.kubernetes.workloads import Workload
from shoal.resources import load
from shoal.training import cluster_spec, replica_ids

HERE = Path(__file__).parent
COMPAT = HERE.parents[2] / "examples" / "compat"
MANIFESTS = [
    HERE / "everything.yaml",
    HERE / "code.yaml",
    *sorted(COMPAT.glob("*.yaml")),
    *sorted(COMPAT.glob("*.json")),
]


def jobs(path):
    return [document.job for document in load(path) if document.job]


def objects(path, kind=Workload.PODS):
    return [each for job in jobs(path) for each in render(job, kind)]


def of_kind(kind, path=HERE / "everything.yaml", workload=Workload.PODS):
    return {each["metadata"]["name"]: each for each in objects(path, workload) if each["kind"] == kind}


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("kind", Workload)
def test_golden(path, kind):
    golden = HERE / "golden" / f"{path.stem}.{kind.value}.yaml"
    rendered = yaml.safe_dump_all(objects(path, kind), sort_keys=False)
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(rendered)
    assert rendered == golden.read_text()


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_each_pod_is_told_what_training_decides(path):
    """The kubelet's expansion of `$(SHOAL_CLUSTER_SPEC)` gives exactly the cluster spec of the pure core."""
    for job in jobs(path):
        made = list(render(job))
        maps = [each for each in made if each["kind"] == "ConfigMap"]
        for id in replica_ids(job):
            pod = next(p for p in made if p["kind"] == "Pod" and p["metadata"]["name"] == f"{job.name}-{id}")
            container = next(
                c for c in pod["spec"]["containers"] if c["name"] == job.replicas[id.role].container["name"]
            )
            env = {each["name"]: each.get("value") for each in container["env"]}
            if len(replica_ids(job)) == 1:
                assert "TF_CONFIG" not in env
                continue
            shared = maps[0]["data"]["cluster-spec.json"]
            told = json.loads(env["TF_CONFIG"].replace("$(SHOAL_CLUSTER_SPEC)", shared))
            assert told["task"] == {"type": id.role.value, "index": id.index}
            services = {s["metadata"]["name"]: s for s in made if s["kind"] == "Service"}
            for tasks in told["cluster"].values():
                for address in tasks.values() if isinstance(tasks, dict) else tasks:
                    host, _, port = address.partition(":")
                    service = services[host.split(".")[0]]
                    assert service["spec"]["ports"][0]["port"] == int(port)
                    assert service["spec"]["publishNotReadyAddresses"] is True
                    assert service["spec"]["clusterIP"] == "None"
            expected = cluster_spec(job, id, dict.fromkeys(replica_ids(job), "x"))
            assert set(told["cluster"]) == set(expected)


def test_a_service_finds_its_pod_and_no_other():
    made = objects(HERE / "everything.yaml")
    pods = [each["metadata"] for each in made if each["kind"] == "Pod"]
    for service in (
        each for each in made if each["kind"] == "Service" and "tensorboard" not in each["metadata"]["name"]
    ):
        found = [pod["name"] for pod in pods if service["spec"]["selector"].items() <= pod["labels"].items()]
        assert found == [service["metadata"]["name"]]


def test_storage_becomes_volumes_claims_and_mounts():
    volumes, claims = of_kind("PersistentVolume"), of_kind("PersistentVolumeClaim")
    assert set(volumes) == {"team-a-everything-data"}
    assert set(claims) == {"everything-data", "everything-shared"}
    assert claims["everything-data"]["spec"]["volumeName"] == "team-a-everything-data"
    assert volumes["team-a-everything-data"]["spec"]["nfs"] == {"server": "nfs.example.com", "path": "/exports/data"}
    assert claims["everything-shared"]["spec"]["storageClassName"] == "rook-cephfs"
    spec = of_kind("Pod")["everything-worker-0"]["spec"]
    mounted = {mount["mountPath"]: mount for mount in spec["containers"][0]["volumeMounts"]}
    claimed = {volume["name"]: volume["persistentVolumeClaim"]["claimName"] for volume in spec["volumes"]}
    assert claimed == {"data": "everything-data", "shared": "everything-shared", "old": "results"}
    assert mounted["/data"]["readOnly"] is True
    assert "volumeMounts" not in spec["containers"][1], "a sidecar mounts what it asks for itself"


def test_gpus_are_limits_and_an_affinity():
    spec = of_kind("Pod")["everything-worker-1"]["spec"]
    assert spec["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": 2}
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    wanted = {"key": "shoal.dev/gpu-model", "operator": "In", "values": ["A100", "H100"]}
    assert required["nodeSelectorTerms"] == [{"matchExpressions": [wanted]}]
    assert "affinity" not in of_kind("Pod")["everything-ps-0"]["spec"]


def test_shoal_jobs_are_restricted_and_kubeflow_jobs_left_as_they_are():
    spec = of_kind("Pod")["everything-chief-0"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"]:
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    kubeflow = next(iter(of_kind("Pod", COMPAT / "gpu.yaml").values()))
    assert "securityContext" not in kubeflow["spec"]


def test_controllers():
    assert set(of_kind("Deployment", workload=Workload.CONTROLLERS)) == {
        "everything-ps-0",
        "everything-worker-0",
        "everything-worker-1",
        "everything-tensorboard",
    }
    jobs = of_kind("Job", workload=Workload.CONTROLLERS)
    assert set(jobs) == {"everything-chief-0", "everything-evaluator-0"}
    assert jobs["everything-chief-0"]["spec"]["backoffLimit"] == 3
    policies = {each["spec"]["template"]["spec"]["restartPolicy"] for each in jobs.values()}
    assert policies <= {"Never", "OnFailure"}


def test_rendering_leaves_the_job_as_it_was():
    job = jobs(HERE / "everything.yaml")[0]
    before = job.model_dump_json()
    list(render(job))
    assert job.model_dump_json() == before


def test_gangs():
    group = of_kind("PodGroup")["everything"]
    assert group["apiVersion"] == "scheduling.volcano.sh/v1beta1"
    assert group["spec"] == {
        "minMember": 3,
        "queue": "research",
        "priorityClassName": "high",
        "minResources": {"cpu": "6"},
    }
    pod = of_kind("Pod")["everything-ps-0"]
    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "everything"
