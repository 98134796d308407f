"""A hypothesis strategy of valid TFJob manifests, in which every field of the schema turns up sooner or later.

Most values are drawn from the schema itself, so a field that is added is drawn with no change here. What must hold
between fields (a mount names a volume, a request stays below its limit) is drawn by hand. No value equals its default:
what the models leave out on the way back would else be hard to tell from what they lose.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from hypothesis import strategies as st

from shoal.resources import KUBEFLOW_API, SHOAL_API, SHOAL_ONLY, ReplicaType, Strategy
from shoal.resources.schema import tfjob_schema

Json = dict[str, Any]
Path = tuple[str, ...]

WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8) | st.sampled_from(
    ["yes", "012", "1e3", "null", "a: b", "- a", "#", "two\nlines\n", " ", "22:22", "$(A)", "größe", "\U0001f420"]
)
LABELS = st.from_regex(r"[a-z]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)
QUANTITIES = st.integers(2, 64) | st.sampled_from(["500m", "2", "4Gi", "1.5", "1e3", "100M", "0.5Ti"])
TIMES = st.builds(
    lambda seconds, micros: datetime(1970, 1, 2, tzinfo=UTC) + timedelta(seconds=seconds, microseconds=micros),
    st.integers(0, 4_000_000_000),
    st.integers(0, 999_999),
).map(lambda time: time.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
PLAIN = st.recursive(
    st.booleans() | st.integers(-(2**31), 2**31) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
REPLICA_NAMES = st.builds("{}-{}".format, st.sampled_from(["chief", "ps", "worker", "evaluator"]), st.integers(0, 2000))


@cache
def jobs(api: str) -> st.SearchStrategy[Json]:
    """Valid TFJob manifests of one API version."""
    return _job(api)


@st.composite
def _job(draw: st.DrawFn, api: str) -> Json:
    without = () if api == SHOAL_API else SHOAL_ONLY
    job = {"apiVersion": api, "kind": "TFJob", "metadata": draw(_metadata())}
    roles = draw(_roles(api))
    kinds = {ReplicaType(key) for key in roles}
    spec = _drawn(draw, ("spec",), without, half=True)
    spec["tfReplicaSpecs"] = roles
    if "strategy" in spec:
        spec["strategy"] = draw(st.sampled_from(_strategies(kinds)))
    if not _may_be_dynamic(spec, kinds):
        spec.pop("enableDynamicWorker", None)
    others = sum(role.get("replicas", 1) for key, role in roles.items() if key != "Worker")
    workers = roles.get("Worker", {}).get("replicas")
    if workers is None:  # the API server's rules ask for it, in this spelling
        spec.pop("scaling", None)
    if gang := spec.get("runPolicy", {}).get("schedulingPolicy"):
        total = sum(role.get("replicas", 1) for role in roles.values())
        if "scaling" in spec:
            total = others + min(workers, spec["scaling"].get("minWorkers", 1))
        gang |= {"minAvailable": draw(st.integers(1, total))} if "minAvailable" in gang else {}
    if not spec.get("runPolicy", True):
        del spec["runPolicy"]
    job["spec"] = spec
    if draw(st.booleans()):
        job["status"] = {"phase": "Running", **_drawn(draw, ("status",), half=True)}
        job["status"]["startTime"] = draw(TIMES)
    return job


@st.composite
def _metadata(draw: st.DrawFn) -> Json:
    metadata = _drawn(draw, ("metadata",))
    return {**metadata, "name": draw(LABELS)}


@st.composite
def _roles(draw: st.DrawFn, api: str) -> Json:
    chief = draw(st.sampled_from([None, ReplicaType.CHIEF, ReplicaType.MASTER]))
    kinds = [kind for kind in (ReplicaType.PS, ReplicaType.EVALUATOR) if draw(st.booleans())]
    kinds += [chief] if chief else []
    kinds += [ReplicaType.WORKER] if chief is None or draw(st.booleans()) else []
    roles = {}
    for kind in draw(st.permutations(kinds)):
        key = draw(st.sampled_from([kind.value, kind.value.lower(), kind.value.upper()]))
        alone = kind not in (ReplicaType.PS, ReplicaType.WORKER)
        roles[key] = draw(_replica_spec(api, most=1 if alone else 5))
    return roles


@st.composite
def _replica_spec(draw: st.DrawFn, api: str, most: int) -> Json:
    path = ("spec", "tfReplicaSpecs", "*")
    without = () if api == SHOAL_API else SHOAL_ONLY
    spec = _drawn(draw, path, without, half=True)
    if "replicas" in spec:
        spec["replicas"] = draw(st.integers(1, most))
    return {**spec, "template": draw(_template(devices="gpu" not in spec))}


@st.composite
def _template(draw: st.DrawFn, devices: bool) -> Json:
    path = ("spec", "tfReplicaSpecs", "*", "template")
    template = _drawn(draw, path)
    pod = _drawn(draw, (*path, "spec"))
    volumes = draw(st.lists(_volume(), max_size=3, unique_by=lambda volume: volume["name"]))
    names = draw(st.lists(LABELS, max_size=2, unique=True))
    pod["containers"] = [
        draw(_container(name, volumes, devices)) for name in ["tensorflow", *(n for n in names if n != "tensorflow")]
    ]
    if volumes:
        pod["volumes"] = volumes
    return {**template, "spec": pod}


@st.composite
def _volume(draw: st.DrawFn) -> Json:
    path = ("spec", "tfReplicaSpecs", "*", "template", "spec", "volumes", "[]")
    return {**_drawn(draw, path), "name": f"v-{draw(LABELS)}"}


@st.composite
def _container(draw: st.DrawFn, name: str, volumes: list[Json], devices: bool) -> Json:
    path = ("spec", "tfReplicaSpecs", "*", "template", "spec", "containers", "[]")
    container = _drawn(draw, path)
    container |= {"name": name, "image": draw(WORDS)}
    if "command" not in container and draw(st.booleans()):
        container["command"] = ["python", "train.py", draw(WORDS)]
    if volumes and draw(st.booleans()):
        container["volumeMounts"] = [
            {"name": volume["name"], "mountPath": f"/mnt/{number}"} for number, volume in enumerate(volumes)
        ]
    if draw(st.booleans()):
        amount = draw(QUANTITIES)
        container["resources"] = {"limits": {"memory": amount}, "requests": {"memory": amount}}
        if devices:
            container["resources"]["limits"]["nvidia.com/gpu"] = draw(st.integers(1, 8))
    return container


def _strategies(kinds: set[ReplicaType]) -> list[str]:
    """What the roles allow."""
    chief = kinds & {ReplicaType.CHIEF, ReplicaType.MASTER}
    allowed = [Strategy.INDEPENDENT]
    if ReplicaType.PS in kinds:
        allowed += [Strategy.BETWEEN_GRAPH_ASYNC, Strategy.BETWEEN_GRAPH_SYNC]
        allowed += [Strategy.PARAMETER_SERVER] if chief else []
    else:
        allowed.append(Strategy.ALL_REDUCE)
    allowed += [Strategy.IN_GRAPH] if chief else []
    return [strategy.value for strategy in allowed]


def _may_be_dynamic(spec: Json, kinds: set[ReplicaType]) -> bool:
    strategy = spec.get("strategy", Strategy.INDEPENDENT)
    return ReplicaType.WORKER in kinds and strategy in (Strategy.BETWEEN_GRAPH_ASYNC, Strategy.INDEPENDENT)


@st.composite
def _scaling(draw: st.DrawFn) -> Json:
    fewest = draw(st.integers(2, 9))
    others = {"step": st.integers(2, 9), "gainPercent": st.integers(1, 99), "stabilizationSeconds": st.integers(1, 999)}
    return {
        **draw(st.sampled_from([{}, {"minWorkers": fewest}])),
        "maxWorkers": fewest + draw(st.integers(0, 9)),
        **draw(st.fixed_dictionaries({}, optional=others)),
    }


@st.composite
def _storage(draw: st.DrawFn) -> list[Json]:
    claims = []
    for name in draw(st.lists(LABELS, min_size=1, max_size=3, unique=True)):
        claim: Json = {"name": name, "mountPath": f"/shared/{name}"}
        match draw(st.sampled_from(["existingClaim", "nfs", "size"])):
            case "existingClaim":
                claim["existingClaim"] = draw(LABELS)
            case "nfs":
                claim["nfs"] = {"server": draw(WORDS), "path": f"/{draw(LABELS)}"}
            case _:
                claim |= {"size": draw(QUANTITIES)} | draw(st.sampled_from([{}, {"storageClassName": "fast"}]))
        claims.append(claim | draw(st.sampled_from([{}, {"readOnly": True}])))
    return claims


@st.composite
def _code(draw: st.DrawFn) -> Json:
    archive = {"name": draw(LABELS), "digest": draw(st.text("0123456789abcdef", min_size=64, max_size=64))}
    match draw(st.sampled_from(["git", "configMap", "claim"])):
        case "git":
            git = {"url": f"https://{draw(WORDS)}", "revision": draw(LABELS)}
            return {
                "git": git
                | draw(st.sampled_from([{}, {"path": "a/b"}, {"image": "example/git"}, {"secretName": "token"}]))
            }
        case "configMap":
            return {"configMap": archive}
        case _:
            return {"claim": {**archive, "path": draw(LABELS)}}


def _by_kind(values: Callable[[], st.SearchStrategy[Any]]) -> st.SearchStrategy[Json]:
    return st.deferred(lambda: st.dictionaries(st.sampled_from([k.value for k in ReplicaType]), values(), min_size=1))


_INDICES = st.dictionaries(
    st.sampled_from(["chief", "ps", "worker", "evaluator"]), st.sampled_from(["0", "0-3,7"]), min_size=1
)
_COUNTS = st.dictionaries(REPLICA_NAMES, st.integers(1, 99), min_size=1, max_size=3)
_REPLICA_STATUS = st.fixed_dictionaries(
    {"active": st.integers(1, 99)},
    optional={
        "succeeded": st.integers(1, 99),
        "failed": st.integers(1, 99),
        "selector": WORDS,
        "labelSelector": st.fixed_dictionaries({"matchLabels": st.dictionaries(LABELS, WORDS, max_size=2)}),
    },
)

BY_HAND: dict[str, st.SearchStrategy[Any] | None] = {
    "metadata.name": None,
    "metadata.generateName": None,
    "spec.tfReplicaSpecs": None,
    "spec.storage": _storage(),
    "spec.scaling": _scaling(),
    "spec.code": _code(),
    "spec.tfReplicaSpecs.*.template": None,
    "spec.tfReplicaSpecs.*.template.spec": None,
    "spec.tfReplicaSpecs.*.template.spec.containers": None,
    "spec.tfReplicaSpecs.*.template.spec.initContainers": None,
    "spec.tfReplicaSpecs.*.template.spec.volumes": None,
    "spec.tfReplicaSpecs.*.template.spec.containers.[].resources": None,
    "spec.tfReplicaSpecs.*.template.spec.containers.[].volumeMounts": None,
    "status.phase": st.sampled_from(["Running", "Restarting", "Suspended", "Succeeded", "Failed"]),
    "status.replicaStatuses": _by_kind(lambda: _REPLICA_STATUS),
    "status.attempts": _COUNTS,
    "status.inPlaceRestarts": _COUNTS,
    "status.started": _INDICES,
    "status.completed": _INDICES,
    "status.scaling.rates": st.dictionaries(st.integers(1, 99).map(str), st.floats(0.001, 1e6), min_size=1, max_size=3),
    "status.progress.loss": st.floats(-1e6, 1e6),
    "status.progress.stepsPerSecond": st.floats(0.001, 1e6),
}
"""Fields that are drawn in their own way, or (None) left to the functions above."""


def _schema(path: Path) -> Json:
    schema = tfjob_schema()
    for step in path:
        match step:
            case "*":
                schema = schema["additionalProperties"]
            case "[]":
                schema = schema["items"]
            case _:
                schema = schema["properties"][step]
    return schema


def _drawn(draw: st.DrawFn, path: Path, without: tuple[str, ...] = (), half: bool = False) -> Json:
    """Some fields of an object: all that it must have and, of the others, each with one chance in two where it is
    `half`, else a few."""
    fields, needed = _fields(path, without)
    if half:
        chosen = [name for name in fields if name in needed or draw(st.booleans())]
    else:
        chosen = [*needed, *(name for name in draw(_few(fields)) if name not in needed)]
    values = {name: draw(_value((*path, name), without)) for name in chosen}
    return {name: value for name, value in values.items() if value != {} or "template" in path}


@cache
def _fields(path: Path, without: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All fields of an object that are drawn here, and those of them that it must have."""
    schema = _schema(path)
    dotted = {name: ".".join((*path, name)) for name in schema["properties"]}
    fields = [name for name, at in dotted.items() if at not in without and BY_HAND.get(at, True) is not None]
    return tuple(fields), tuple(name for name in schema.get("required", ()) if name in fields)


@cache
def _few(names: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), max_size=2, unique=True) if names else st.just([])


@cache
def _value(path: Path, without: tuple[str, ...] = ()) -> st.SearchStrategy[Any]:
    by_hand = BY_HAND.get(".".join(path))
    if by_hand is not None:
        return by_hand
    schema = _schema(path)
    if schema.get("x-kubernetes-int-or-string"):
        return QUANTITIES if "pattern" in schema else st.integers(2, 9) | WORDS
    match schema["type"]:
        case "object" if "properties" in schema:
            return _object(path, without)
        case "object" if "additionalProperties" in schema:
            values = _value((*path, "*"), without)
            return st.dictionaries(WORDS, values, min_size=1, max_size=2)
        case "object":
            return st.dictionaries(WORDS, PLAIN, min_size=1, max_size=2)
        case "array":
            keys = schema.get("x-kubernetes-list-map-keys", ())

            def identity(item: Json) -> tuple[Any, ...]:
                return tuple(item.get(key, schema["items"]["properties"][key].get("default")) for key in keys)

            items = _value((*path, "[]"), without)
            return st.lists(items, min_size=1, max_size=2, unique_by=identity if keys else None)
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(max(2, schema.get("minimum", 2)), 2**31 - 1)
        case "number":
            return st.floats(0.001, 1e6)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("format") == "date-time":
        return TIMES
    return st.from_regex(schema["pattern"].replace("$", r"\Z")) if "pattern" in schema else WORDS


def _object(path: Path, without: tuple[str, ...]) -> st.SearchStrategy[Json]:
    half = "template" not in path and path[0] != "metadata"

    @st.composite
    def draw_object(draw: st.DrawFn) -> Json:
        return _drawn(draw, path, without, half)

    return draw_object()


APIS = (SHOAL_API, KUBEFLOW_API)
