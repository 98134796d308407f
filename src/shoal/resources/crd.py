"""The CustomResourceDefinitions of TFJob, for `shoal.dev` and for `kubeflow.org`.

The schemas are those that manifests are checked against. Rules beyond a schema are said in CEL as far as the API
server can weigh them; the rest is left to the webhook, which has the loader's rules.
"""

from __future__ import annotations

from typing import Any

from shoal.resources.definition import HOST_NAME, STORAGE, Names, Rules, definition, stored_schema
from shoal.resources.schema import tfjob_schema
from shoal.resources.tfjob import KUBEFLOW_API, SHOAL_API, SHOAL_ONLY

_ROLES = "['chief', 'master', 'worker', 'ps', 'evaluator']"


def _has(*roles: str) -> str:
    """Whether a spec has a replica of one of the roles."""
    role = f"role.lowerAscii() in {list(roles)}"
    return (
        f"self.tfReplicaSpecs.exists(role, {role}"
        " && (!has(self.tfReplicaSpecs[role].replicas) || self.tfReplicaSpecs[role].replicas > 0))"
    )


_DYNAMIC = "has(self.enableDynamicWorker) && self.enableDynamicWorker"
_MIN_AVAILABLE = "self.runPolicy.schedulingPolicy.minAvailable"
_WITHIN = "!has(self.path) || (!self.path.startsWith('/') && !self.path.split('/').exists(part, part == '..'))"

RULES: Rules = {
    "": [HOST_NAME],
    "spec": [
        (
            "(has(self.runPolicy) && has(self.runPolicy.managedBy) ? self.runPolicy.managedBy : '') == "
            "(has(oldSelf.runPolicy) && has(oldSelf.runPolicy.managedBy) ? oldSelf.runPolicy.managedBy : '')",
            "runPolicy.managedBy cannot change",
        ),
        (
            f"!({_DYNAMIC}) || self.tfReplicaSpecs.exists(role, role.lowerAscii() == 'worker')",
            "enableDynamicWorker: there is no Worker to come and go",
        ),
        (
            f"!has(self.runPolicy) || !has(self.runPolicy.schedulingPolicy) || !has({_MIN_AVAILABLE}) || "
            f"{_MIN_AVAILABLE} <= self.tfReplicaSpecs.map(role, has(self.tfReplicaSpecs[role].replicas) ? "
            "self.tfReplicaSpecs[role].replicas : 1).sum()",
            "runPolicy.schedulingPolicy.minAvailable: the job has fewer replicas",
        ),
        (
            "!has(self.strategy) || !(self.strategy in ['ParameterServer', 'BetweenGraphAsync', 'BetweenGraphSync'])"
            f" || {_has('ps')}",
            "strategy: ParameterServer, BetweenGraphAsync and BetweenGraphSync need a PS",
        ),
        (
            f"!has(self.strategy) || !(self.strategy in ['ParameterServer', 'InGraph']) || {_has('chief', 'master')}",
            "strategy: ParameterServer and InGraph need a Chief, which drives the workers",
        ),
        (
            f"!has(self.strategy) || self.strategy != 'AllReduce' || !{_has('ps')}",
            "strategy: AllReduce has no use for a PS",
        ),
        (
            f"!has(self.strategy) || !({_DYNAMIC}) || self.strategy in ['BetweenGraphAsync', 'Independent']",
            "enableDynamicWorker: only BetweenGraphAsync and Independent can do without knowing all workers",
        ),
        (
            "!has(self.scaling) || ('Worker' in self.tfReplicaSpecs && has(self.tfReplicaSpecs['Worker'].replicas))",
            "scaling: it changes the replicas of Worker: write both, in this spelling",
        ),
    ],
    "spec.tfReplicaSpecs": [
        (
            f"self.all(role, role.lowerAscii() in {_ROLES})",
            "the roles are Chief (or Master), Worker, PS and Evaluator",
        ),
        (
            "self.all(role, self.exists_one(other, other.lowerAscii() == role.lowerAscii()))",
            "a role is written twice",
        ),
        (
            "!(self.exists(role, role.lowerAscii() == 'chief') && self.exists(role, role.lowerAscii() == 'master'))",
            "Chief and Master are the same role",
        ),
        (
            "self.all(role, !(role.lowerAscii() in ['chief', 'master', 'evaluator'])"
            " || !has(self[role].replicas) || self[role].replicas <= 1)",
            "at most one chief and one evaluator replica",
        ),
        (
            "self.exists(role, role.lowerAscii() in ['chief', 'master', 'worker'])",
            "nobody trains: add a Worker or a Chief",
        ),
    ],
    "spec.runPolicy.schedulingPolicy.queue": [("self == oldSelf", "runPolicy.schedulingPolicy.queue cannot change")],
    "spec.scaling": [
        ("(has(self.minWorkers) ? self.minWorkers : 1) <= self.maxWorkers", "minWorkers is more than maxWorkers"),
    ],
    "spec.storage.[]": STORAGE,
    "spec.code": [
        (
            "(has(self.git) ? 1 : 0) + (has(self.configMap) ? 1 : 0) + (has(self.claim) ? 1 : 0) == 1",
            "give exactly one of git, configMap and claim",
        ),
    ],
    "spec.code.git": [(_WITHIN, "path must stay within the repository")],
    "spec.code.claim": [(_WITHIN, "path must stay within the claim")],
}

MAX_ROLES = 5
"""The API server weighs a rule by how often it may run."""

SCALE = {
    "specReplicasPath": ".spec.tfReplicaSpecs.Worker.replicas",
    "statusReplicasPath": ".status.replicaStatuses.Worker.active",
    "labelSelectorPath": ".status.replicaStatuses.Worker.selector",
}

COLUMNS = (
    ("State", "string", ".status.phase", 0),
    ("Step", "integer", ".status.progress.step", 0),
    ("Workers", "integer", ".spec.tfReplicaSpecs.Worker.replicas", 1),
    ("Retries", "integer", ".status.retries", 1),
    ("Message", "string", ".status.message", 1),
    ("Age", "date", ".metadata.creationTimestamp", 0),
)


def shoal_crd() -> dict[str, Any]:
    """`tfjobs.shoal.dev`, with all fields."""
    return _crd(SHOAL_API, without=())


def kubeflow_crd() -> dict[str, Any]:
    """`tfjobs.kubeflow.org`, with Kubeflow's fields; it takes the place of Kubeflow's own definition."""
    return _crd(KUBEFLOW_API, without=SHOAL_ONLY)


def _crd(api_version: str, without: tuple[str, ...]) -> dict[str, Any]:
    schema = stored_schema(tfjob_schema(), RULES, without)
    schema["properties"]["spec"]["properties"]["tfReplicaSpecs"]["maxProperties"] = MAX_ROLES
    names = Names("TFJob", "tfjobs", "tfj" if api_version == SHOAL_API else "")
    return definition(api_version, names, schema, COLUMNS, SCALE)
