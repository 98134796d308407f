"""One manifest: which resource it is, whether it is valid, and as what it is handed on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from shoal.resources.check import Checker
from shoal.resources.errors import Fault, ManifestError
from shoal.resources.place import Finding, Path, format_path
from shoal.resources.rules import check_rules
from shoal.resources.schema import tfjob_schema
from shoal.resources.suggestion import nearest
from shoal.resources.tfjob import KUBEFLOW_API, SHOAL_API, TFJob

KIND = "TFJob"
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
    resource: TFJob | Other

    @property
    def job(self) -> TFJob | None:
        return self.resource if isinstance(self.resource, TFJob) else None


def parse(manifest: Mapping[str, Any], source: str = "") -> TFJob:
    """A TFJob from plain values, as an API server sends them.

    Raises ManifestError with every fault. `source` is what the faults call the manifest.
    """
    resource, findings = read_resource(dict(manifest))
    if not findings and not isinstance(resource, TFJob):
        findings = [Finding(("kind",), f"expected {KIND}, found {manifest.get('kind')}")]
    if findings or not isinstance(resource, TFJob):
        raise ManifestError(
            Fault(source, None, None, format_path(path), problem, hint) for path, problem, hint, _ in findings
        )
    return resource


def split_list(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The manifests in a document: the items of a `List`, as `kubectl get -o yaml` writes it, else itself."""
    if (
        isinstance(value, dict)
        and str(value.get("kind", "")) in ("List", f"{KIND}List")
        and isinstance(value.get("items"), list)
    ):
        for index, item in enumerate(value["items"]):
            yield (*path, "items", index), item
    else:
        yield path, value


def read_resource(value: Any) -> tuple[TFJob | Other | None, list[Finding]]:
    """The resource that `value` describes, or all that is wrong with it."""
    if not isinstance(value, dict):
        return None, [Finding((), "not a manifest", "a manifest is a mapping with apiVersion, kind, metadata and spec")]
    findings = _check_kind(value)
    if not _is_job(value):
        return (None, findings) if findings else (Other(value), [])
    checked, found = check_job(value)
    findings += found
    if findings:
        return None, findings
    try:
        return TFJob.model_validate(checked), []
    except ValidationError as error:
        return None, [Finding(tuple(fault["loc"]), fault["msg"]) for fault in error.errors()]


def check_job(value: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """The valid part of a TFJob manifest, and all that is wrong with it beyond its kind and version."""
    # An outdated or misspelt version is a fault of its own; what else is wrong is worth knowing at the same time.
    api = value.get("apiVersion")
    known = {**value, "kind": KIND, "apiVersion": api if api in (SHOAL_API, KUBEFLOW_API) else KUBEFLOW_API}
    checker = Checker(tfjob_schema())
    checked = checker.check(known)
    return checked, checker.findings + check_rules(checked, checker.findings)


def _is_job(value: dict[str, Any]) -> bool:
    return str(value.get("kind", "")).lower() == KIND.lower()


def _check_kind(value: dict[str, Any]) -> list[Finding]:
    for key in ("apiVersion", "kind"):
        if not isinstance(value.get(key), str):
            problem = "missing" if value.get(key) is None else "expected text"
            example = SHOAL_API if key == "apiVersion" else KIND
            return [Finding((key,), problem, f"every manifest says what it is, as in {key}: {example}")]
    kind, api = value["kind"], value["apiVersion"]
    group = api.rpartition("/")[0]
    findings = []
    if _is_job(value):
        if kind != KIND:
            findings.append(Finding(("kind",), f'no such kind as "{kind}"', f"did you mean {KIND}?"))
        if api not in (SHOAL_API, KUBEFLOW_API):
            findings.append(Finding(("apiVersion",), *_wrong_version(api, group)))
    elif group == SHOAL_GROUP:
        meant = nearest(kind, [KIND])
        findings.append(
            Finding(("kind",), f'{api} has no kind "{kind}"', f"did you mean {meant}?" if meant else f"it has {KIND}")
        )
    elif group == KUBEFLOW_GROUP:
        meant = nearest(kind, [KIND], threshold=0.9)
        hint = f"did you mean {meant}?" if meant else f"remove the document, or write the job as a {KIND}"
        findings.append(Finding(("kind",), f"Shoal does not run a {kind}", hint))
    return findings


def _wrong_version(api: str, group: str) -> tuple[str, str]:
    if group in (KUBEFLOW_GROUP, OLD_GROUP):
        return f"{api} is outdated", f"write {KUBEFLOW_API}; fields that have moved are listed too"
    meant = nearest(api, [SHOAL_API, KUBEFLOW_API])
    hint = f"did you mean {meant}?" if meant else f"write {SHOAL_API}, or {KUBEFLOW_API}"
    return f'no TFJob in "{api}"', hint
