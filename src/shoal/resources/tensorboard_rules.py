"""What a TensorBoard must fulfil beyond its schema. One rule a function, as in `rules`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shoal.resources.model_place import URI
from shoal.resources.place import Finding
from shoal.resources.rules import check_storage, without_consequences
from shoal.resources.tensorboard import BOARD_CONTAINER, names_a_run
from shoal.resources.web_app_rules import WrittenApp, check_mounted, check_own_container, check_service_name

LOG_DIRS = ("spec", "logDirs")


def check_name(board: WrittenApp) -> Iterator[Finding]:
    yield from check_service_name(board, "TensorBoard")


def check_run_names(board: WrittenApp) -> Iterator[Finding]:
    """TensorBoard is told NAME:PATH,NAME:PATH, and knows no quotes."""
    for name, folder in board.spec.get("logDirs", {}).items():
        if not names_a_run(name):
            problem = f'"{name}" cannot name a run' if name else "a run without a name"
            yield Finding((*LOG_DIRS, name), problem, "TensorBoard takes names without , and :, not beginning with /")
        if "," in folder:
            yield Finding((*LOG_DIRS, name), f'"{folder}" has a comma', "TensorBoard would take it for two folders")


def check_folders(board: WrittenApp) -> Iterator[Finding]:
    mounts = board.mounts(BOARD_CONTAINER)
    for name, folder in board.spec.get("logDirs", {}).items():
        path = (*LOG_DIRS, name)
        if not folder.startswith("/") and not URI.match(folder):
            yield Finding(path, f'"{folder}" is not absolute', "begin it with /, as the container sees it")
        elif "image" not in board.spec:
            yield from check_mounted(folder, path, mounts, "add spec.storage with the claim that the job writes to")


def check_sources(board: WrittenApp) -> Iterator[Finding]:
    yield from check_storage(board)
    for index, claim in enumerate(board.spec.get("storage", [])):
        if "size" in claim:
            path = ("spec", "storage", index, "size")
            yield Finding(path, "a claim that is made anew holds nothing to show", "name an existingClaim, or nfs")


def check_template(board: WrittenApp) -> Iterator[Finding]:
    yield from check_own_container(board, BOARD_CONTAINER, "TensorBoard")


RULES: tuple[Callable[[WrittenApp], Iterator[Finding]], ...] = (
    check_name,
    check_run_names,
    check_folders,
    check_sources,
    check_template,
)


def check_board_rules(value: Mapping[str, Any], known: list[Finding]) -> list[Finding]:
    """Findings of every rule, without those that only follow from one that is `known`."""
    board = WrittenApp(value)
    return without_consequences((finding for rule in RULES for finding in rule(board)), known)
