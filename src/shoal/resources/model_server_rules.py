"""What a ModelServer must fulfil beyond its schema. One rule a function, as in `rules`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shoal.resources.model_place import URI
from shoal.resources.model_server import SERVER_CONTAINER, Ports
from shoal.resources.place import Finding, Path
from shoal.resources.rules import check_storage, without_consequences
from shoal.resources.tfjob import ServerKind
from shoal.resources.web_app_rules import WrittenApp, check_mounted, check_own_container, check_service_name

METRICS = ("cpuUtilization", "requestsInFlight")


class WrittenServer(WrittenApp):
    """A checked ModelServer manifest."""

    @property
    def models(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        for index, model in enumerate(self.spec.get("models", [])):
            yield ("spec", "models", index), model

    @property
    def by_shoal(self) -> bool:
        return self.spec.get("server") == ServerKind.SHOAL


def check_name(server: WrittenServer) -> Iterator[Finding]:
    yield from check_service_name(server, "server")


def check_base_paths(server: WrittenServer) -> Iterator[Finding]:
    for path, model in server.models:
        base = model.get("basePath", "/")
        if base.startswith("/"):
            continue
        place = (*path, "basePath")
        if not URI.match(base):
            yield Finding(place, f'"{base}" is not absolute', "begin it with /, as the container sees it")
        elif server.by_shoal:
            yield Finding(place, "Shoal's server reads folders alone", "mount it, or use server: TensorFlowServing")


def check_mounts(server: WrittenServer) -> Iterator[Finding]:
    """The images that Shoal knows hold no model, so one must be mounted."""
    if "image" in server.spec:
        return
    mounts = server.mounts(SERVER_CONTAINER)
    for path, model in server.models:
        place, otherwise = (*path, "basePath"), "add spec.storage, or an image that has the model"
        yield from check_mounted(model.get("basePath", ""), place, mounts, otherwise)


def check_versions(server: WrittenServer) -> Iterator[Finding]:
    for path, model in server.models:
        policy = model.get("versionPolicy")
        if policy is None:
            continue
        place = (*path, "versionPolicy")
        given = [kind for kind in ("latest", "all", "specific") if kind in policy]
        if not given:
            yield Finding(place, "no policy", "give one of latest, all: true, and specific", absent=True)
        elif len(given) > 1:
            yield Finding((*place, given[1]), f"a second policy beside {given[0]}", "keep one of the two")
        elif policy.get("all") is False:
            yield Finding((*place, "all"), "false says nothing", "write true, or leave the policy out")
        named = policy.get("specific", {}).get("versions")
        for label, version in model.get("labels", {}).items():
            if named and version not in named:
                problem = f"version {version} is not served"
                yield Finding((*path, "labels", label), problem, "add it to versionPolicy.specific.versions")


def check_scale(server: WrittenServer) -> Iterator[Finding]:
    scaling = server.spec.get("autoscaling")
    if scaling is None:
        return
    path: Path = ("spec", "autoscaling")
    if "replicas" in server.spec:
        yield Finding(("spec", "replicas"), "autoscaling decides how many there are", "remove it, or autoscaling")
    given = [metric for metric in METRICS if metric in scaling]
    if not given:
        yield Finding(path, "by what?", f"give one of {' and '.join(METRICS)}", absent=True)
    elif len(given) > 1:
        yield Finding((*path, given[1]), f"a second measure beside {given[0]}", "keep one of the two")
    if scaling.get("minReplicas", 1) > scaling.get("maxReplicas", scaling.get("minReplicas", 1)):
        yield Finding((*path, "minReplicas"), "more than maxReplicas", f"at most {scaling['maxReplicas']}")
    if "requestsInFlight" in scaling and not server.by_shoal:
        yield Finding((*path, "requestsInFlight"), "TensorFlow Serving does not count them", "use cpuUtilization")
    resources = server.spec.get("resources", {})
    if "cpuUtilization" in scaling and not any("cpu" in resources.get(kind, {}) for kind in ("requests", "limits")):
        yield Finding((*path, "cpuUtilization"), "percent of what?", "add spec.resources.requests.cpu")


def check_ports(server: WrittenServer) -> Iterator[Finding]:
    given = server.spec.get("ports", {})
    others = {name: number for name, number in Ports().model_dump(exclude_none=True).items() if name not in given}
    taken: dict[int, str] = {}
    for name, number in {**others, **given}.items():
        if number in taken:
            yield Finding(("spec", "ports", name), f"{number} is {taken[number]} already", "choose another")
        taken.setdefault(number, name)


def check_batching(server: WrittenServer) -> Iterator[Finding]:
    batching = server.spec.get("batching", {})
    sizes, largest = batching.get("allowedBatchSizes"), batching.get("maxBatchSize")
    if not sizes:
        return
    path = ("spec", "batching", "allowedBatchSizes")
    if sizes != sorted(set(sizes)):
        yield Finding(path, "the sizes do not rise", f"write {sorted(set(sizes))}")
    elif largest is not None and sizes[-1] != largest:
        yield Finding(path, f"ends in {sizes[-1]}, and maxBatchSize is {largest}", "make the two equal")


def check_budget(server: WrittenServer) -> Iterator[Finding]:
    budget = server.spec.get("podDisruptionBudget")
    if budget is None:
        return
    path = ("spec", "podDisruptionBudget")
    if len(budget) == 0:
        yield Finding(path, "empty", "give one of maxUnavailable and minAvailable", absent=True)
    elif len(budget) > 1:
        yield Finding((*path, "minAvailable"), "a second bound beside maxUnavailable", "keep one of the two")


def check_routes(server: WrittenServer) -> Iterator[Finding]:
    weights = server.spec.get("gateway", {}).get("weights")
    if weights is None:
        return
    path = ("spec", "gateway", "weights")
    if server.name not in weights:
        yield Finding(path, "this server has no share", f"add {server.name}: 1, or remove the weights")
    if not sum(weights.values()):
        yield Finding(path, "nobody has a share", "give one server a weight above 0")


def check_template(server: WrittenServer) -> Iterator[Finding]:
    yield from check_own_container(server, SERVER_CONTAINER, "the server")


def check_gpus(server: WrittenServer) -> Iterator[Finding]:
    for name in server.spec.get("resources", {}).get("limits", {}) if "gpu" in server.spec else ():
        if name.endswith("/gpu"):
            place = ("spec", "resources", "limits", name)
            yield Finding(place, "GPUs are asked for twice", "remove this limit, or spec.gpu")


def check_server_rules(value: Mapping[str, Any], known: list[Finding]) -> list[Finding]:
    """Findings of every rule, without those that only follow from one that is `known`."""
    server = WrittenServer(value)
    return without_consequences((finding for rule in RULES for finding in rule(server)), known)


RULES: tuple[Callable[[WrittenServer], Iterator[Finding]], ...] = (
    check_name,
    check_base_paths,
    check_mounts,
    check_versions,
    check_scale,
    check_ports,
    check_storage,
    check_batching,
    check_budget,
    check_routes,
    check_template,
    check_gpus,
)
