"""What a workbench must fulfil beyond its schema. One rule a function, as in `rules`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shoal.resources.model_place import holds
from shoal.resources.place import Finding
from shoal.resources.rules import check_storage, without_consequences
from shoal.resources.web_app_rules import WrittenApp, check_mounted, check_own_container, check_service_name
from shoal.resources.workbench import WORKBENCH_CONTAINER

FOLDER = ("spec", "folder")


def check_name(bench: WrittenApp) -> Iterator[Finding]:
    yield from check_service_name(bench, "workbench")


def check_folder(bench: WrittenApp) -> Iterator[Finding]:
    """What is written anywhere else is lost with the pod, and JupyterLab must write to its home."""
    folder = bench.spec.get("folder")
    if folder is None:
        return
    if "image" not in bench.spec:
        yield from check_mounted(folder, FOLDER, bench.mounts(WORKBENCH_CONTAINER), "add spec.storage with a claim")
    for claim in bench.spec.get("storage", []):
        if claim.get("readOnly") and holds(claim.get("mountPath", ""), folder):
            yield Finding(FOLDER, f"{folder} is on {claim['name']}, which is read-only", "JupyterLab writes to it")


def check_template(bench: WrittenApp) -> Iterator[Finding]:
    yield from check_own_container(bench, WORKBENCH_CONTAINER, "JupyterLab")


RULES: tuple[Callable[[WrittenApp], Iterator[Finding]], ...] = (check_name, check_folder, check_storage, check_template)


def check_workbench_rules(value: Mapping[str, Any], known: list[Finding]) -> list[Finding]:
    """Findings of every rule, without those that only follow from one that is `known`."""
    bench = WrittenApp(value)
    return without_consequences((finding for rule in RULES for finding in rule(bench)), known)
