"""Traces as files: what is read, and what a bad one is told."""

from __future__ import annotations

import pytest

from shoal.gpu.trace import TraceError, read_requests, read_tasks, read_trace
from shoal.pool import GPU, Host, Request
from shoal.pool.replay import Task
from tests.unit.gpu.traces import tiny


def test_what_a_trace_says(tmp_path):
    trace = read_trace(tiny(tmp_path))
    assert trace.hosts[1] == Host("n1", 32_000, 65_536, (GPU("G2"),) * 4)
    assert list(trace.variants) == ["bare", "default"]
    assert trace.published == {("default", "fgd", 130): 90.5, ("default", "best-fit", 130): 80.25}
    asked = read_requests(trace.variants["default"])
    assert asked[1] == Request(1, 470, 0, 2_000, 1_024, frozenset({"T4", "G2"}))
    assert asked[3] == Request(0, 1_000, 0, 4_000, 1_024)
    assert read_requests(trace.variants["bare"])[1].models == frozenset()
    tasks = read_tasks(trace.variants["default"])
    assert tasks[1] == Task(asked[1], 10, 200)
    assert tasks[2].leaves == 200  # its end is not known: it stays until the last that is


@pytest.mark.parametrize(
    ("file", "before", "after", "told"),
    [
        (
            "tiny_node_list.csv",
            "n1,32000",
            "n1,many",
            "tiny_node_list.csv:3: column cpu_milli: 'many' is no whole number",
        ),
        ("tiny_node_list.csv", "4,G2", "4,", "tiny_node_list.csv:3: column model: empty, though the node has GPUs"),
        ("tiny_node_list.csv", "n1,", "n0,", "tiny_node_list.csv: column sn: two nodes have the same name"),
        ("tiny_node_list.csv", "cpu_milli", "cpu", "tiny_node_list.csv:1: no column cpu_milli"),
        ("tiny_node_list.csv", "n1,32000", "n1,-1", "column cpu_milli: -1 is not between"),
        (
            "tiny_pod_list_default.csv",
            ",470,",
            ",4700,",
            "default.csv:3: column gpu_milli: 4700 is not between 0 and 1000",
        ),
        ("tiny_pod_list_default.csv", ",470,", ",0,", "column gpu_milli: 0, though the task asks for a GPU"),
        ("tiny_pod_list_default.csv", ",30,40,", ",30,20,", "default.csv:5: column deletion_time: 20 is before"),
        ("tiny_pod_list_default.csv", "p1,", "p1,extra,", "default.csv:3: more cells than"),
        ("tiny_pod_list_default.csv", "p1,", 'p1",\n"', "not readable as CSV"),
        (
            "published_allocation_percent.csv",
            "90.5",
            "much",
            "csv:2: column mean_allocated_percent: 'much' is no number",
        ),
    ],
)
def test_a_bad_cell_is_named_by_file_line_and_column(tmp_path, file, before, after, told):
    path = tiny(tmp_path) / file
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after, 1))
    with pytest.raises(TraceError) as refused:
        read_tasks(read_trace(tmp_path).variants["default"])
    assert told in str(refused.value)


def test_a_folder_that_is_none_or_lacks_its_files(tmp_path):
    for folder, told in [(tmp_path / "none", "no such folder"), (tmp_path, "0 files match *node_list*.csv")]:
        with pytest.raises(TraceError) as refused:
            read_trace(folder)
        assert told in str(refused.value)
    (tmp_path / "a_node_list.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,1,A\n")
    with pytest.raises(TraceError) as refused:
        read_trace(tmp_path)
    assert "no file matches *pod_list_*.csv" in str(refused.value)
