"""One manifest: which resource it is, whether it is valid, and as what it is handed on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from shoal.resources.check import Checker
from shoal.resources.errors import Fault, ManifestError
from shoal.resources.model_server import ModelServer
from shoal.resources.model_server_rules import check_server_rules
from shoal.resources.place import Finding, Path, format_path
from shoal.resources.pod_template import Schema
from shoal.resources.rules import check_rules
from shoal.resources.schema import model_server_schema, tensorboard_schema, tfjob_schema, workbench_schema
from shoal.resources.suggestion import nearest
from shoal.resources.tensorboard import TensorBoard
from shoal.resources.tensorboard_rules import check_board_rules
from shoal.resources.tfjob import KUBEFLOW_API, SHOAL_API, TFJob
from shoal.resources.workbench import Workbench
from shoal.resources.workbench_rules import check_workbench_rules

Known = TFJob | ModelServer | TensorBoard | Workbench
"""The resources that are Shoal's."""

R = TypeVar("R", TFJob, ModelServer, TensorBoard, Workbench)

SHOAL_GROUP, VERSION = SHOAL_API.split("/")
KUBEFLOW_GROUP = KUBEFLOW_API.split("/")[0]
OLD_GROUP = "tensorflow.org"
"""The group of the first TFJobs, of 2017."""


@dataclass(frozen=True, slots=True)
class Other:
    """An object of a kind that is not Shoal's, such as a claim beside the job that uses it. It is kept as written."""

    value: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.value["kind"])

    @property
    def name(self) -> str:
        metadata = self.value.get("metadata")
        return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""


@dataclass(frozen=True, slots=True)
class Document:
    """A resource, and where it was read from. `number` counts the documents of the source, `line` its lines, from 1."""

    source: str
    number: int
    line: int
    resource: Known | Other

    @property
    def job(self) -> TFJob | None:
        return self.resource if isinstance(self.resource, TFJob) else None

    @property
    def server(self) -> ModelServer | None:
        return self.resource if isinstance(self.resource, ModelServer) else None

    @property
    def board(self) -> TensorBoard | None:
        return self.resource if isinstance(self.resource, TensorBoard) else None

    @property
    def workbench(self) -> Workbench | None:
        return self.resource if isinstance(self.resource, Workbench) else None


def parse(manifest: Mapping[str, Any], source: str = "") -> TFJob:
    """A TFJob from plain values, as an API server sends them.

    Raises ManifestError with every fault. `source` is what the faults call the manifest.
    """
    return _parse(manifest, source, TFJob)


def parse_server(manifest: Mapping[str, Any], source: str = "") -> ModelServer:
    """The same for a ModelServer."""
    return _parse(manifest, source, ModelServer)


def parse_board(manifest: Mapping[str, Any], source: str = "") -> TensorBoard:
    """The same for a TensorBoard."""
    return _parse(manifest, source, TensorBoard)


def parse_workbench(manifest: Mapping[str, Any], source: str = "") -> Workbench:
    """The same for a Workbench."""
    return _parse(manifest, source, Workbench)


def _parse(manifest: Mapping[str, Any], source: str, wanted: type[R]) -> R:
    resource, findings = read_resource(dict(manifest))
    if not findings and not isinstance(resource, wanted):
        findings = [Finding(("kind",), f"expected {wanted.__name__}, found {manifest.get('kind')}")]
    if findings or not isinstance(resource, wanted):
        raise ManifestError(
            Fault(source, None, None, format_path(path), problem, hint) for path, problem, hint, _ in findings
        )
    return resource


def split_list(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The manifests in a document: the items of a `List`, as `kubectl get -o yaml` writes it, else itself."""
    if (
        isinstance(value, dict)
        and str(value.get("kind", "")) in ("List", *(f"{kind}List" for kind in KINDS))
        and isinstance(value.get("items"), list)
    ):
        for index, item in enumerate(value["items"]):
            yield (*path, "items", index), item
    else:
        yield path, value


def read_resource(value: Any) -> tuple[Known | Other | None, list[Finding]]:
    """The resource that `value` describes, or all that is wrong with it."""
    if not isinstance(value, dict):
        return None, [Finding((), "not a manifest", "a manifest is a mapping with apiVersion, kind, metadata and spec")]
    findings = _check_kind(value)
    known = _kind_of(value)
    if known is None:
        return (None, findings) if findings else (Other(value), [])
    checked, found = known.check(value)
    findings += found
    if findings:
        return None, findings
    try:
        return known.model.model_validate(checked), []
    except ValidationError as error:
        return None, [Finding(tuple(fault["loc"]), fault["msg"]) for fault in error.errors()]


def check_job(value: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """The valid part of a TFJob manifest, and all that is wrong with it beyond its kind and version."""
    return _check(value, "TFJob", (KUBEFLOW_API, SHOAL_API), tfjob_schema(), check_rules)


def check_server(value: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """The same for a ModelServer."""
    return _check(value, "ModelServer", (SHOAL_API,), model_server_schema(), check_server_rules)


def check_board(value: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """The same for a TensorBoard."""
    return _check(value, "TensorBoard", (SHOAL_API,), tensorboard_schema(), check_board_rules)


def check_workbench(value: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """The same for a Workbench."""
    return _check(value, "Workbench", (SHOAL_API,), workbench_schema(), check_workbench_rules)


def _check(
    value: dict[str, Any],
    kind: str,
    apis: tuple[str, ...],
    schema: Schema,
    rules: Callable[[Mapping[str, Any], list[Finding]], list[Finding]],
) -> tuple[dict[str, Any], list[Finding]]:
    # An outdated or misspelt version is a fault of its own; what else is wrong is worth knowing at the same time.
    api = value.get("apiVersion")
    checker = Checker(schema)
    checked = checker.check({**value, "kind": kind, "apiVersion": api if api in apis else apis[0]})
    return checked, checker.findings + rules(checked, checker.findings)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of Shoal's: in which API versions it is there, and how a manifest of it is read."""

    apis: tuple[str, ...]
    model: type[Known]
    check: Callable[[dict[str, Any]], tuple[dict[str, Any], list[Finding]]]


KINDS = {
    "TFJob": _Kind((SHOAL_API, KUBEFLOW_API), TFJob, check_job),
    "ModelServer": _Kind((SHOAL_API,), ModelServer, check_server),
    "TensorBoard": _Kind((SHOAL_API,), TensorBoard, check_board),
    "Workbench": _Kind((SHOAL_API,), Workbench, check_workbench),
}


def _kind_of(value: dict[str, Any]) -> _Kind | None:
    return next((known for kind, known in KINDS.items() if _is(kind, value)), None)


def _is(kind: str, value: dict[str, Any]) -> bool:
    """A TFJob is ours whatever its group; others have kinds of the other names, too."""
    group = str(value.get("apiVersion", "")).rpartition("/")[0]
    same = str(value.get("kind", "")).lower() == kind.lower()
    return same and (kind == "TFJob" or group in (SHOAL_GROUP, KUBEFLOW_GROUP, ""))


def _check_kind(value: dict[str, Any]) -> list[Finding]:
    for key in ("apiVersion", "kind"):
        if not isinstance(value.get(key), str):
            problem = "missing" if value.get(key) is None else "expected text"
            example = SHOAL_API if key == "apiVersion" else "TFJob"
            return [Finding((key,), problem, f"every manifest says what it is, as in {key}: {example}")]
    kind, api = value["kind"], value["apiVersion"]
    group = api.rpartition("/")[0]
    findings = []
    for name, known in KINDS.items():
        if _is(name, value):
            if kind != name:
                findings.append(Finding(("kind",), f'no such kind as "{kind}"', f"did you mean {name}?"))
            if api not in known.apis:
                findings.append(Finding(("apiVersion",), *_wrong_version(name, known.apis, api, group)))
            return findings
    if group == SHOAL_GROUP:
        meant = nearest(kind, list(KINDS))
        known_here = f"it has {', '.join(KINDS)}"
        findings.append(
            Finding(("kind",), f'{api} has no kind "{kind}"', f"did you mean {meant}?" if meant else known_here)
        )
    elif group == KUBEFLOW_GROUP:
        meant = nearest(kind, ["TFJob"], threshold=0.9)
        hint = f"did you mean {meant}?" if meant else "remove the document, or write the job as a TFJob"
        findings.append(Finding(("kind",), f"Shoal does not run a {kind}", hint))
    return findings


def _wrong_version(kind: str, apis: tuple[str, ...], api: str, group: str) -> tuple[str, str]:
    if kind == "TFJob" and group in (KUBEFLOW_GROUP, OLD_GROUP):
        return f"{api} is outdated", f"write {KUBEFLOW_API}; fields that have moved are listed too"
    meant = nearest(api, apis)
    hint = f"did you mean {meant}?" if meant else f"write {', or '.join(apis)}"
    return f'no {kind} in "{api}"', hint
