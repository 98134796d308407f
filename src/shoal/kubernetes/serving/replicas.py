"""How many replicas there are: Deployment, autoscaler, and what a drain of nodes may take of them."""

from __future__ import annotations

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.gpu_names import GPU_NAMES, GPUNames
from shoal.kubernetes.labels import metadata
from shoal.kubernetes.serving.pods import START_SECONDS, pod_template, selector
from shoal.resources import ModelServer
from shoal.resources.model_server import DisruptionBudget

IN_FLIGHT = "shoal_serving_requests_in_progress"


def deployment(server: ModelServer, gpus: GPUNames = GPU_NAMES) -> Object:
    """A new pod is ready before an old one goes. Without `replicas` where an autoscaler says how many there are."""
    spec: Object = {
        "selector": {"matchLabels": selector(server)},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
        "revisionHistoryLimit": 3,
        "progressDeadlineSeconds": START_SECONDS,
        "template": pod_template(server, gpus),
    }
    if server.spec.autoscaling is None:
        spec["replicas"] = 1 if server.spec.replicas is None else server.spec.replicas
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(server, server.name), "spec": spec}


def autoscaler(server: ModelServer) -> Object | None:
    """None where the number of replicas is fixed."""
    scaling = server.spec.autoscaling
    if scaling is None:
        return None
    if scaling.cpu_utilization is not None:
        target: Object = {"type": "Utilization", "averageUtilization": scaling.cpu_utilization}
        metric: Object = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    else:
        target = {"type": "AverageValue", "averageValue": str(scaling.requests_in_flight)}
        metric = {"type": "Pods", "pods": {"metric": {"name": IN_FLIGHT}, "target": target}}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata(server, server.name),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": server.name},
            "minReplicas": scaling.min_replicas or 1,
            "maxReplicas": scaling.max_replicas,
            "metrics": [metric],
        },
    }


def disruption_budget(server: ModelServer) -> Object:
    """By default one at a time, so that no drain waits for ever, and none takes all."""
    budget = server.spec.pod_disruption_budget or DisruptionBudget(max_unavailable=1)
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(server, server.name),
        "spec": {**budget.dump(), "selector": {"matchLabels": selector(server)}},
    }
