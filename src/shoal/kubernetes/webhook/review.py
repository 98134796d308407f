"""What to answer to an AdmissionReview (admission.k8s.io/v1), for `/validate` and for `/default`; others may be added.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-request-and-response
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from shoal.resources import Fault, ManifestError, parse
from shoal.resources.defaulting import default_roles
from shoal.resources.document import KINDS, check_job
from shoal.resources.place import Finding, format_path
from shoal.resources.update_rules import check_claims_update, check_update
from shoal.training.lint import Severity, lint

LONGEST_WARNING = 256
MOST_WARNINGS = 10
"""The API server cuts off what is longer, and drops what is too much
(https://kubernetes.io/blog/2020/09/03/warnings/#admission-webhooks)."""

Object = dict[str, Any]

Decide = Callable[[Object, Object | None], Object]
"""From an object, and how it is stored unless it is new, to what a review's response says besides."""


class ReviewError(ValueError):
    """What was sent is no AdmissionReview that can be answered."""


class _Request(msgspec.Struct, rename="camel"):
    uid: str
    operation: str
    sub_resource: str = ""
    object: Object | None = None
    old_object: Object | None = None


class _Review(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    request: _Request


def answer(decide: Decide, body: bytes) -> bytes:
    """The review's answer as JSON. Raises ReviewError for what is no review."""
    try:
        review = msgspec.json.decode(body, type=_Review)
    except (msgspec.DecodeError, RecursionError) as fault:
        raise ReviewError(f"no AdmissionReview: {fault}") from fault
    if (review.api_version, review.kind) != ("admission.k8s.io/v1", "AdmissionReview"):
        raise ReviewError(f"{review.api_version} {review.kind} where admission.k8s.io/v1 AdmissionReview is expected")
    response = {"uid": review.request.uid, "allowed": True} | _answer(decide, review.request)
    return msgspec.json.encode({"apiVersion": review.api_version, "kind": review.kind, "response": response})


def _answer(decide: Decide, request: _Request) -> Object:
    """Nothing is said of what keeps its spec as it is: its status and metadata must be free to change, and a job with a
    fault must be free to be deleted."""
    job, stored = request.object, request.old_object
    if job is None or request.sub_resource or request.operation not in ("CREATE", "UPDATE"):
        return {}
    if _metadata(job).get("deletionTimestamp") or (stored is not None and stored.get("spec") == job.get("spec")):
        return {}
    return decide(job, stored)


def _metadata(job: Object) -> Mapping[str, Any]:
    metadata = job.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _validate(resource: Object, stored: Object | None) -> Object:
    """Refused is what the loader refuses, and what a job that runs, or a claim that was made, cannot follow; what was
    wrong already may stay so."""
    kind = str(resource.get("kind"))
    check = KINDS[kind].check if kind in KINDS else check_job
    checked, findings = check(resource)
    kept: list[Finding] = []
    if stored is not None:
        checked_before, before = check(stored)
        known = {(finding.path, finding.problem) for finding in before}
        kept = [finding for finding in findings if (finding.path, finding.problem) in known]
        findings = [finding for finding in findings if finding not in kept]
        findings += (check_update if check is check_job else check_claims_update)(checked_before, checked)
    if findings:
        return refused("\n".join(_tell(findings)))
    warnings = [warning[:LONGEST_WARNING] for warning in [*_tell(kept), *_lint(resource)]][:MOST_WARNINGS]
    return {"warnings": warnings} if warnings else {}


def refused(message: str) -> Object:
    return {"allowed": False, "status": {"code": 422, "reason": "Invalid", "message": message}}


def patched(patch: list[Object]) -> Object:
    """`patch` is a JSON Patch."""
    return {"patchType": "JSONPatch", "patch": base64.b64encode(msgspec.json.encode(patch)).decode()}


def _tell(findings: list[Finding]) -> list[str]:
    return [str(Fault("", None, None, format_path(path), problem, hint)) for path, problem, hint, _ in findings]


def _lint(job: Object) -> list[str]:
    """Errors that `shoal run` refuses a job for. Here they are warnings: there is no `--no-lint` to insist with."""
    try:
        found = lint(parse(job), {})
    except ManifestError:
        return []
    return [f"{each.path}: {each.problem}; {each.hint}" for each in found if each.severity is Severity.ERROR]


def _default(job: Object, stored: Object | None) -> Object:
    spec, spec_before = job.get("spec"), (stored or {}).get("spec")
    written = spec.get("tfReplicaSpecs") if isinstance(spec, Mapping) else None
    before = spec_before.get("tfReplicaSpecs") if isinstance(spec_before, Mapping) else None
    wanted = default_roles(written, before)
    if wanted == written:
        return {}
    return patched([{"op": "replace", "path": "/spec/tfReplicaSpecs", "value": wanted}])


PATHS: dict[str, Decide] = {"/validate": _validate, "/default": _default}
