"""Which kinds of objects the operator deals with, where the API serves them, and as what they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from shoal.kubernetes.operator.views import (
    Bench,
    Board,
    Deployed,
    Deployment,
    Job,
    Lease,
    Named,
    Owned,
    Pod,
    PooledPod,
    Secret,
    Server,
)
from shoal.resources import KUBEFLOW_API, SHOAL_API

V = TypeVar("V", bound=Named)


@dataclass(frozen=True, slots=True)
class Kind(Generic[V]):
    """A kind of object: `Kind("apps/v1", "Deployment", "deployments", Owned)`."""

    api_version: str
    name: str
    plural: str
    view: type[V]
    namespaced: bool = True

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """Where the API serves the object, or all of them: of one namespace, or of the cluster for None."""
        root = "/apis/" if "/" in self.api_version else "/api/"
        inside = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        parts = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{self.api_version}{inside}/{self.plural}{parts}"


PODS = Kind("v1", "Pod", "pods", Pod)
POOLED_PODS = Kind("v1", "Pod", "pods", PooledPod)
SERVICES = Kind("v1", "Service", "services", Owned)
CONFIG_MAPS = Kind("v1", "ConfigMap", "configmaps", Owned)
CLAIMS = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims", Owned)
VOLUMES = Kind("v1", "PersistentVolume", "persistentvolumes", Owned, namespaced=False)
SECRETS = Kind("v1", "Secret", "secrets", Secret)
SERVICE_ACCOUNTS = Kind("v1", "ServiceAccount", "serviceaccounts", Owned)
ROLES = Kind("rbac.authorization.k8s.io/v1", "Role", "roles", Owned)
ROLE_BINDINGS = Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", Owned)
DEPLOYMENTS = Kind("apps/v1", "Deployment", "deployments", Deployment)
AUTOSCALERS = Kind("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", Owned)
DISRUPTION_BUDGETS = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", Owned)
INGRESSES = Kind("networking.k8s.io/v1", "Ingress", "ingresses", Owned)
HTTP_ROUTES = Kind("gateway.networking.k8s.io/v1", "HTTPRoute", "httproutes", Owned)
VOLCANO_GROUPS = Kind("scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups", Owned)
COSCHEDULING_GROUPS = Kind("scheduling.x-k8s.io/v1alpha1", "PodGroup", "podgroups", Owned)
EVENTS = Kind("events.k8s.io/v1", "Event", "events", Owned)
LEASES = Kind("coordination.k8s.io/v1", "Lease", "leases", Lease)

JOBS: dict[str, Kind[Job]] = {api: Kind(api, "TFJob", "tfjobs", Job) for api in (SHOAL_API, KUBEFLOW_API)}
"""TFJobs by `apiVersion`."""

SERVERS = Kind(SHOAL_API, "ModelServer", "modelservers", Server)
TENSORBOARDS = Kind(SHOAL_API, "TensorBoard", "tensorboards", Board)
WORKBENCHES = Kind(SHOAL_API, "Workbench", "workbenches", Bench)

DEPLOYED: tuple[Kind[Deployed], ...] = (SERVERS, TENSORBOARDS, WORKBENCHES)  # type: ignore[assignment]  # a kind is only read
"""Resources that are one Deployment and what belongs to it."""

_RENDERED: tuple[Kind[Any], ...] = (
    SERVICES,
    CONFIG_MAPS,
    CLAIMS,
    VOLUMES,
    SERVICE_ACCOUNTS,
    ROLES,
    ROLE_BINDINGS,
    DEPLOYMENTS,
    AUTOSCALERS,
    DISRUPTION_BUDGETS,
    INGRESSES,
    HTTP_ROUTES,
    VOLCANO_GROUPS,
    COSCHEDULING_GROUPS,
)
_BY_NAME = {(kind.api_version, kind.name): kind for kind in _RENDERED}


def kind_of(rendered: dict[str, object]) -> Kind[Any]:
    """The kind of an object that a renderer made."""
    return _BY_NAME[str(rendered["apiVersion"]), str(rendered["kind"])]
