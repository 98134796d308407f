"""Traces of a cluster as CSV files, in the form of Alibaba's `openb` traces.

A folder holds one list of nodes (`*node_list*.csv`), lists of tasks (`*pod_list_VARIANT.csv`), and maybe
`published_allocation_percent.csv`, what others reached on them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shoal.pool.inventory import GPU, Host
from shoal.pool.replay import Task
from shoal.pool.request import WHOLE, Request

NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
TASK_COLUMNS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
TIME_COLUMNS = ("creation_time", "deletion_time")
RESULT_COLUMNS = ("workload", "policy", "gpu_demand_percent", "mean_allocated_percent")

PUBLISHED = "published_allocation_percent.csv"

PUBLISHED_NAMES = {"BestFit": "best-fit", "FGD": "fgd"}
"""What the authors call policies that are ours, too."""


class TraceError(Exception):
    """A trace that cannot be read: which file, line and column, and what to do."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.hint = hint


@dataclass(frozen=True)
class Row:
    """A line of a CSV file, which knows where it stands."""

    file: Path
    line: int
    cells: dict[str, str | None]

    def text(self, column: str) -> str:
        return (self.cells.get(column) or "").strip()

    def number(self, column: str, default: int | None = None, most: int | None = None) -> int:
        """A whole number that is not negative; a default where the cell is empty."""
        written = self.text(column)
        if not written and default is not None:
            return default
        try:
            number = int(written)
        except ValueError:
            raise self.fault(column, f"{written!r} is no whole number") from None
        if number < 0 or (most is not None and number > most):
            raise self.fault(column, f"{number} is not between 0 and {most if most is not None else '2^63'}")
        return number

    def fault(self, column: str, what: str) -> TraceError:
        return TraceError(f"{self.file}:{self.line}: column {column}: {what}", "correct the cell, or take the line out")


@dataclass(frozen=True)
class Trace:
    """What a folder holds."""

    hosts: tuple[Host, ...]
    variants: dict[str, Path]
    published: dict[tuple[str, str, int], float]
    """Allocated percent by variant, policy and percent of demand."""


def read_trace(folder: Path) -> Trace:
    """Read a folder's nodes and what it has beside them. The lists of tasks are read when they are asked for."""
    if not folder.is_dir():
        raise TraceError(f"{folder}: no such folder", "--trace names a folder with a node list and pod lists in CSV")
    lists = sorted(folder.glob("*node_list*.csv"))
    if len(lists) != 1:
        raise TraceError(f"{folder}: {len(lists)} files match *node_list*.csv, where one should", "leave one there")
    variants = {file.stem.partition("pod_list_")[2]: file for file in sorted(folder.glob("*pod_list_*.csv"))}
    if not variants:
        raise TraceError(f"{folder}: no file matches *pod_list_*.csv", "each list of tasks is a variant to replay")
    published = folder / PUBLISHED
    hosts = tuple(_host(row) for row in _rows(lists[0], NODE_COLUMNS))
    if len({host.name for host in hosts}) != len(hosts):
        raise TraceError(f"{lists[0]}: column sn: two nodes have the same name", "a name stands for one node")
    if not any(host.gpus for host in hosts):
        raise TraceError(f"{lists[0]}: column gpu: no node has a GPU", "a replay needs some")
    return Trace(
        hosts,
        variants,
        dict(_result(row) for row in _rows(published, RESULT_COLUMNS)) if published.is_file() else {},
    )


def read_requests(file: Path) -> list[Request]:
    """What each task of a list asks for."""
    return [_request(row) for row in _rows(file, TASK_COLUMNS)]


def read_tasks(file: Path) -> list[Task]:
    """The same with the times. A task whose end is not known stays until the last one that is."""
    rows = list(_rows(file, (*TASK_COLUMNS, *TIME_COLUMNS)))
    end = max((row.number("deletion_time", default=0) for row in rows), default=0)
    tasks = []
    for row in rows:
        arrives, leaves = row.number("creation_time"), row.number("deletion_time", default=end)
        if leaves < arrives:
            raise row.fault("deletion_time", f"{leaves} is before the task's creation at {arrives}")
        tasks.append(Task(_request(row), arrives, leaves))
    return tasks


def _rows(file: Path, columns: tuple[str, ...]) -> Iterator[Row]:
    try:
        with file.open(newline="", encoding="utf-8") as text:
            reader = csv.DictReader(text, strict=True)
            missing = [column for column in columns if column not in (reader.fieldnames or ())]
            if missing:
                has = ", ".join(reader.fieldnames or ()) or "nothing"
                raise TraceError(f"{file}:1: no column {', '.join(missing)}", f"the first line has {has}")
            for cells in reader:
                if None in cells:
                    raise TraceError(f"{file}:{reader.line_num}: more cells than the first line has columns")
                yield Row(file, reader.line_num, cells)
    except (csv.Error, UnicodeDecodeError) as fault:
        raise TraceError(f"{file}: not readable as CSV: {fault}") from fault


def _host(row: Row) -> Host:
    count, model = row.number("gpu", most=1024), row.text("model")
    if count and not model:
        raise row.fault("model", "empty, though the node has GPUs")
    return Host(row.text("sn"), row.number("cpu_milli"), row.number("memory_mib"), (GPU(model),) * count)


def _request(row: Row) -> Request:
    gpus = row.number("num_gpu", most=1024)
    share = row.number("gpu_milli", default=WHOLE, most=WHOLE) if gpus else WHOLE
    if not share:
        raise row.fault("gpu_milli", "0, though the task asks for a GPU")
    models = frozenset(row.text("gpu_spec").split("|")) - {""}
    return Request(gpus, share, 0, row.number("cpu_milli"), row.number("memory_mib"), models)


def _result(row: Row) -> tuple[tuple[str, str, int], float]:
    written = row.text("mean_allocated_percent")
    try:
        reached = float(written)
    except ValueError:
        raise row.fault("mean_allocated_percent", f"{written!r} is no number") from None
    variant = row.text("workload").rpartition("pod_list_")[2]
    name = row.text("policy")
    return (variant, PUBLISHED_NAMES.get(name, name), row.number("gpu_demand_percent")), reached
