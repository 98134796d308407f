"""Which edits of a stored job can be honoured. One rule a function, as in `rules`.

A replica is made once and then runs as it was made, so what it was made from cannot change under it. While the job is
suspended there are no replicas: then, and in the very edit that suspends or resumes it, everything may change. That is
how Kueue places a job, by node selectors and tolerations that it writes as it resumes the job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.resources.place import Finding
from shoal.resources.quantity import parse_quantity
from shoal.resources.roles import Role
from shoal.resources.rules import SPECS, Manifest, WrittenRole
from shoal.resources.status import ConditionType, Phase
from shoal.resources.tfjob import SHOAL_OPERATOR, RestartPolicy

_ENDED = "the job has ended; delete it first, or give the new one another name"
_RUNS = "its replicas run as they were made; suspend the job, change it, and resume it (runPolicy.suspend)"


@dataclass(frozen=True, slots=True)
class Update:
    """A checked manifest as it was stored, and as it is to be."""

    before: Manifest
    after: Manifest

    def __iter__(self) -> Iterator[Manifest]:
        return iter((self.before, self.after))

    @property
    def begun(self) -> bool:
        """Whether the job was ever given replicas, and with them its claims."""
        conditions = self.before.value.get("status", {}).get("conditions") or []
        return any(condition.get("type") == ConditionType.CREATED for condition in conditions)

    @property
    def replicas_are_there(self) -> bool:
        """Whether replicas of a job that has begun are there, and will stay."""
        return not (_suspended(self.before) or _suspended(self.after))

    @property
    def remedy(self) -> str:
        phase = self.before.value.get("status", {}).get("phase")
        return _ENDED if phase in (Phase.SUCCEEDED, Phase.FAILED) else _RUNS


def _suspended(job: Manifest) -> bool:
    return bool(job.spec.get("runPolicy", {}).get("suspend"))


def keep_roles(update: Update) -> Iterator[Finding]:
    """The number of replicas may change at any time, the parts they play may not."""
    before, after = _by_role(update.before), _by_role(update.after)
    for role, written in after.items():
        if role not in before:
            yield Finding((*SPECS, written.key), "a role cannot be added to a job that has begun", update.remedy)
    for role, written in before.items():
        if role not in after:
            yield Finding((*SPECS, written.key), "a role cannot be taken from a job that has begun", update.remedy)


def keep_replicas(update: Update) -> Iterator[Finding]:
    before = _by_role(update.before)
    for role, written in _by_role(update.after).items():
        if role not in before:
            continue
        for name, default in (("template", None), ("restartPolicy", RestartPolicy.NEVER), ("gpu", None)):
            if written.spec.get(name, default) != before[role].spec.get(name, default):
                yield Finding((*SPECS, written.key, name), "cannot change now", update.remedy)


def keep_strategy(update: Update) -> Iterator[Finding]:
    """Who is restarted with whom follows from how the replicas train, and that they were told at their start."""
    yield from _keep(update, "strategy", "enableDynamicWorker")


def keep_code(update: Update) -> Iterator[Finding]:
    """A replica that is started again runs what the others run."""
    yield from _keep(update, "code")


def _keep(update: Update, *names: str) -> Iterator[Finding]:
    for name in names:
        if (update.after.spec.get(name) or None) != (update.before.spec.get(name) or None):
            yield Finding(("spec", name), "cannot change now", update.remedy)


def keep_storage(update: Update) -> Iterator[Finding]:
    """Replicas have mounted what was there when they were made."""
    before, after = ([{**claim, "size": None} for claim in job.spec.get("storage", [])] for job in update)
    if before != after:
        yield Finding(("spec", "storage"), "cannot change now", update.remedy)


def keep_claims(update: Update) -> Iterator[Finding]:
    """A claim or volume that was made is what it is, suspended or not; Kubernetes lets it grow at most."""
    yield from _keep_claims(update.before.spec, update.after.spec)


def _keep_claims(spec_before: Mapping[str, Any], spec_after: Mapping[str, Any]) -> Iterator[Finding]:
    before = {claim.get("name"): claim for claim in spec_before.get("storage", [])}
    for index, claim in enumerate(spec_after.get("storage", [])):
        made = before.get(claim.get("name"))
        if made is None:
            continue
        path = ("spec", "storage", index)
        hint = "add another under a new name"
        for name in ("nfs", "storageClassName"):
            if name in claim and claim.get(name) != made.get(name) and made.keys() & {"nfs", "size"} & claim.keys():
                yield Finding((*path, name), f"{claim['name']} was made already", hint)
        if "size" in made and "size" in claim and parse_quantity(claim["size"]) < parse_quantity(made["size"]):
            yield Finding((*path, "size"), f"{claim['size']} is less than the {made['size']} that were made", hint)


def _by_role(job: Manifest) -> dict[Role, WrittenRole]:
    return {role.kind.role: role for role in job.roles}


ALWAYS: tuple[Callable[[Update], Iterator[Finding]], ...] = (keep_claims,)
WHILE_REPLICAS_ARE_THERE: tuple[Callable[[Update], Iterator[Finding]], ...] = (
    keep_roles,
    keep_replicas,
    keep_strategy,
    keep_code,
    keep_storage,
)


def check_update(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Finding]:
    """What of an edit cannot be honoured. Both manifests are checked ones; that `before` has the status counts.

    A job that another controller runs may be edited as that one allows.
    """
    update = Update(Manifest(before), Manifest(after))
    manager = update.before.spec.get("runPolicy", {}).get("managedBy")
    if not update.begun or manager not in (None, SHOAL_OPERATOR):
        return []
    rules = (*ALWAYS, *(WHILE_REPLICAS_ARE_THERE if update.replicas_are_there else ()))
    return [finding for rule in rules for finding in rule(update)]


def check_claims_update(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Finding]:
    """The same for the other kinds: their pods follow every edit, their claims do not."""
    return list(_keep_claims(before.get("spec", {}), after.get("spec", {})))
