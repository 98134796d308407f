"""What a TFJob must fulfil beyond its schema. One rule a function; each says what it found, and where.

The rules read the checked manifest, not the models, so that they speak of keys as the user wrote them, and still have
their say when another part of the manifest is faulty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shoal.resources.code import ARCHIVE_NAME, CODE_NAME, SECRET_NAME
from shoal.resources.place import Finding, Path
from shoal.resources.pod_rules import check_pod
from shoal.resources.roles import ReplicaType, Role
from shoal.resources.shoal_only import shoal_only_fields
from shoal.resources.suggestion import nearest
from shoal.resources.tfjob import CONTAINER_NAME, KUBEFLOW_API, Strategy

LONGEST_NAME = 63
"""A replica's name is a host name's first label (RFC 1035)."""

ROOM_FOR_WORKERS = 999
"""The highest worker index that a job's name must leave room for, so that it can be scaled."""

SPECS = ("spec", "tfReplicaSpecs")
CODE_SOURCES = ("git", "configMap", "claim")


@dataclass(frozen=True)
class Written:
    """A checked manifest of any kind: plain values of the right types, of which any may be missing."""

    value: Mapping[str, Any]

    @property
    def name(self) -> str | None:
        name: str | None = self.value.get("metadata", {}).get("name")
        return name

    @property
    def spec(self) -> Mapping[str, Any]:
        spec: Mapping[str, Any] = self.value.get("spec", {})
        return spec


@dataclass(frozen=True, slots=True)
class WrittenRole:
    """One entry of `tfReplicaSpecs`, under the key that the user wrote."""

    key: str
    kind: ReplicaType
    spec: Mapping[str, Any]

    @property
    def count(self) -> int:
        count: int = self.spec.get("replicas", 1)
        return count


class Manifest(Written):
    """A checked TFJob manifest."""

    @property
    def for_kubeflow(self) -> bool:
        return self.value.get("apiVersion") == KUBEFLOW_API

    @cached_property
    def roles(self) -> list[WrittenRole]:
        specs = self.spec.get("tfReplicaSpecs", {}).items()
        return [WrittenRole(key, kind, spec) for key, spec in specs if (kind := ReplicaType.parse(key))]

    def replicas(self, *kinds: ReplicaType) -> int:
        return sum(role.count for role in self.roles if role.kind in kinds)


def check_name(job: Manifest) -> Iterator[Finding]:
    """Kubeflow asks for a DNS-1035 label; the names made from it must be host names too."""
    path = ("metadata", "name")
    if job.name is None:
        generated = "generateName" in job.value.get("metadata", {})
        yield Finding(path, "missing", "name the job: generateName is not enough" if generated else "name the job")
        return
    if not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", job.name):
        yield Finding(path, f'"{job.name}" cannot be a host name', as_label(job.name))
    longest = max((_longest_replica_name(job.name, role) for role in job.roles), key=len, default=job.name)
    if (over := len(longest) - LONGEST_NAME) > 0:
        yield Finding(
            path, f"too long for replicas such as {longest}", f"shorten it to {len(job.name) - over} characters"
        )


def _longest_replica_name(name: str, role: WrittenRole) -> str:
    last = max(role.count - 1, ROOM_FOR_WORKERS if role.kind is ReplicaType.WORKER else 0)
    return f"{name}-{role.kind.role.value}-{last}"


def as_label(name: str) -> str:
    """What to do about a name that is no DNS-1035 label."""
    label = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-").lstrip("0123456789-")
    rule = "use lower-case letters, digits and dashes, and begin with a letter"
    return f"{rule}, as in {label}" if label else rule


def check_role_names(job: Manifest) -> Iterator[Finding]:
    first: dict[Role, str] = {}
    for key in job.spec.get("tfReplicaSpecs", {}):
        kind = ReplicaType.parse(key)
        if kind is None:
            meant = nearest(key, list(ReplicaType))
            known = f"the roles are {', '.join(ReplicaType)}"
            yield Finding((*SPECS, key), "no such role", f"did you mean {meant}?" if meant else known)
        elif kind.role not in first:
            first[kind.role] = key
        elif ReplicaType.parse(first[kind.role]) is kind:
            yield Finding((*SPECS, key), f"the same role as {first[kind.role]}", "remove one of the two")
        else:
            yield Finding((*SPECS, key), f"{first[kind.role]} and {key} are the same role", "keep Chief alone")


def check_role_counts(job: Manifest) -> Iterator[Finding]:
    for role in job.roles:
        if role.kind.role in (Role.CHIEF, Role.EVALUATOR) and role.count > 1:
            path = (*SPECS, role.key, "replicas")
            yield Finding(path, f"TensorFlow knows one {role.kind.role.value}, found {role.count}", "write 1")
    if not job.replicas(ReplicaType.CHIEF, ReplicaType.MASTER, ReplicaType.WORKER):
        yield Finding(SPECS, "nobody trains: no chief and no worker", "add a Worker or a Chief", absent=True)


def check_pods(job: Manifest) -> Iterator[Finding]:
    shared = [claim["name"] for claim in job.spec.get("storage", []) if "name" in claim]
    for role in job.roles:
        path = (*SPECS, role.key, "template", "spec")
        pod = role.spec.get("template", {}).get("spec", {})
        yield from check_pod(pod, path, shared)
        names = [container.get("name") for container in pod.get("containers", [])]
        unreadable = None in names  # a finding by itself, and perhaps the name that is looked for
        if job.for_kubeflow and names and not unreadable and CONTAINER_NAME not in names:
            hint = f"rename the container that trains (here: {', '.join(filter(None, names))})"
            yield Finding((*path, "containers"), f"no container is named {CONTAINER_NAME}", hint, absent=True)


def check_gpus(job: Manifest) -> Iterator[Finding]:
    """GPUs are asked for in one way: from the pool, or from a device plugin."""
    for role in job.roles:
        if "gpu" not in role.spec:
            continue
        path = (*SPECS, role.key, "template", "spec", "containers")
        containers = role.spec.get("template", {}).get("spec", {}).get("containers", [])
        for index, container in enumerate(containers):
            for name in container.get("resources", {}).get("limits", {}):
                if name.endswith("/gpu"):
                    place = (*path, index, "resources", "limits", name)
                    yield Finding(place, "GPUs are asked for twice", "remove this limit, or the role's gpu")


def check_kubeflow_fields(job: Manifest) -> Iterator[Finding]:
    if job.for_kubeflow:
        for path in shoal_only_fields(job.value):
            hint = "convert the manifest: shoal convert --to shoal.dev"
            yield Finding(path, f"{KUBEFLOW_API} has no such field, shoal.dev/v1 has", hint)


def check_dynamic_workers(job: Manifest) -> Iterator[Finding]:
    if not job.spec.get("enableDynamicWorker"):
        return
    path = ("spec", "enableDynamicWorker")
    if not any(role.kind is ReplicaType.WORKER for role in job.roles):
        yield Finding(path, "there is no Worker to come and go", "remove it, or add a Worker")
    strategy = job.spec.get("strategy", Strategy.INDEPENDENT)
    if strategy not in (Strategy.BETWEEN_GRAPH_ASYNC, Strategy.INDEPENDENT):
        yield Finding(path, f"{strategy} needs all workers known from the start", f"use {Strategy.BETWEEN_GRAPH_ASYNC}")


def check_strategy(job: Manifest) -> Iterator[Finding]:
    """A strategy that was named has the roles that it cannot do without."""
    path = ("spec", "strategy")
    strategy = job.spec.get("strategy")
    servers = (Strategy.PARAMETER_SERVER, Strategy.BETWEEN_GRAPH_ASYNC, Strategy.BETWEEN_GRAPH_SYNC)
    if strategy in servers and not job.replicas(ReplicaType.PS):
        yield Finding(path, f"{strategy} needs a parameter server", "add a PS, or choose another strategy")
    coordinated = (Strategy.PARAMETER_SERVER, Strategy.IN_GRAPH)
    if strategy in coordinated and not job.replicas(ReplicaType.CHIEF, ReplicaType.MASTER):
        yield Finding(path, f"{strategy} needs a chief, which drives the workers", "add a Chief")
    if strategy == Strategy.ALL_REDUCE and job.replicas(ReplicaType.PS):
        yield Finding(path, f"{strategy} has no use for parameter servers", "remove PS, or choose another strategy")


def check_gang(job: Manifest) -> Iterator[Finding]:
    wanted = job.spec.get("runPolicy", {}).get("schedulingPolicy", {}).get("minAvailable", 0)
    if wanted > (total := job.replicas(*ReplicaType)):
        path = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
        yield Finding(path, f"{wanted} replicas can never start together: the job has {total}", f"at most {total}")


def check_scaling(job: Manifest) -> Iterator[Finding]:
    """Bounds in order, workers between them to count, and a gang that the fewest of them still make."""
    if "scaling" not in job.spec:
        return
    path = ("spec", "scaling")
    fewest, most = job.spec["scaling"].get("minWorkers", 1), job.spec["scaling"].get("maxWorkers")
    if not any(role.kind is ReplicaType.WORKER for role in job.roles):
        yield Finding(path, "there is no Worker to scale", "remove it, or add a Worker")
    if most is not None and fewest > most:
        yield Finding((*path, "minWorkers"), f"more than maxWorkers, which is {most}", f"at most {most}")
    wanted = job.spec.get("runPolicy", {}).get("schedulingPolicy", {}).get("minAvailable", 0)
    total = fewest + job.replicas(*(kind for kind in ReplicaType if kind is not ReplicaType.WORKER))
    if wanted > total:
        told = f"with {fewest} workers the job has {total} replicas, and minAvailable asks for {wanted}"
        yield Finding((*path, "minWorkers"), told, f"at least {fewest + wanted - total}, or a lower minAvailable")


def check_storage(manifest: Written) -> Iterator[Finding]:
    sources = ("existingClaim", "nfs", "size")
    for index, claim in enumerate(manifest.spec.get("storage", [])):
        path: Path = ("spec", "storage", index)
        given = [source for source in sources if source in claim]
        if not given:
            yield Finding(path, "no source", "give one of existingClaim, nfs, or size (to make a claim)", absent=True)
        elif len(given) > 1:
            yield Finding((*path, given[1]), f"a second source beside {given[0]}", "keep one of the two")
        elif "storageClassName" in claim and "size" not in claim:
            yield Finding((*path, "storageClassName"), "a class is for a claim to make", "give its size, or remove it")


def check_code(job: Manifest) -> Iterator[Finding]:
    """One source; paths that stay within it; and no volume or container of the user's that takes the name."""
    if "code" not in job.spec:
        return
    path: Path = ("spec", "code")
    code = job.spec["code"]
    given = [source for source in CODE_SOURCES if source in code]
    if not given:
        yield Finding(path, "no source", f"give one of {', '.join(CODE_SOURCES)}", absent=True)
    elif len(given) > 1:
        yield Finding((*path, given[1]), f"a second source beside {given[0]}", "keep one of the two")
    for source in given:
        within = str(code[source].get("path", ""))
        if within.startswith("/") or ".." in within.split("/"):
            yield Finding((*path, source, "path"), f'"{within}" leads out of it', "write a path within it, without ..")
    yield from (
        Finding((*place, index, "name"), f'"{each["name"]}" is what spec.code adds to the pod', "rename it")
        for place, named in _named_in_pods(job)
        for index, each in enumerate(named)
        if each.get("name") in (CODE_NAME, ARCHIVE_NAME, SECRET_NAME)
    )


def _named_in_pods(job: Manifest) -> Iterator[tuple[Path, Sequence[Mapping[str, Any]]]]:
    """The lists whose items become volumes and containers of pods."""
    yield ("spec", "storage"), job.spec.get("storage", [])
    for role in job.roles:
        pod = role.spec.get("template", {}).get("spec", {})
        for kind in ("volumes", "containers", "initContainers"):
            yield (*SPECS, role.key, "template", "spec", kind), pod.get(kind, [])


RULES: tuple[Callable[[Manifest], Iterator[Finding]], ...] = (
    check_name,
    check_role_names,
    check_role_counts,
    check_pods,
    check_gpus,
    check_kubeflow_fields,
    check_dynamic_workers,
    check_strategy,
    check_gang,
    check_scaling,
    check_storage,
    check_code,
)


def check_rules(value: Mapping[str, Any], known: list[Finding]) -> list[Finding]:
    """Findings of every rule, without those that only follow from one that is `known`."""
    job = Manifest(value)
    return without_consequences((finding for rule in RULES for finding in rule(job)), known)


def without_consequences(found: Iterable[Finding], known: list[Finding]) -> list[Finding]:
    """Where a value was faulty, its absence is no further news."""
    faulty = {finding.path for finding in known}
    return [finding for finding in found if not _follows(finding, faulty)]


def _follows(finding: Finding, faulty: set[Path]) -> bool:
    path = finding.path
    within = any(path[:end] in faulty for end in range(len(path) + 1))
    return within or (finding.absent and any(known[:-1] == path for known in faulty))
