"""`shoal gpu simulate` on a trace of six GPUs."""

from __future__ import annotations

import json
import sys
from xml.etree import ElementTree

import pytest

from shoal.cli.gpu import ModeName, PolicyName
from shoal.pool import Mode
from shoal.pool.policies import POLICIES
from tests.unit.gpu.traces import tiny

COMMAND = ("gpu", "simulate", "--seeds", "2", "--jobs", "2", "--trace")


def test_a_table_beside_what_was_published(shoal, tmp_path):
    code, out, err = shoal(*COMMAND, tiny(tmp_path))
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()[1:]]
    assert [row[:3] for row in rows] == [
        [variant, policy, "node-bound"]
        for variant in ("bare", "default")
        for policy in ("best-fit", "fgd", "shadow-price")
    ]
    assert rows[4][6:] == ["90.50", f"{float(rows[4][3]) - 90.5:+.2f}"]
    assert rows[3][6] == "80.25"
    assert len(rows[0]) == 6  # nothing was published of this variant


def test_as_json_and_as_a_chart(shoal, tmp_path):
    chart = tmp_path / "chart.svg"
    trace = tiny(tmp_path)
    fgd = (*COMMAND, trace, "--variant", "default", "--policy", "fgd", "-o", "json", "--mode", "pooled")
    code, out, _ = shoal(*fgd, "--mode", "node-bound", "--plot", chart)
    pooled, bound = json.loads(out)
    assert code == 0
    assert (pooled["mode"], bound["mode"]) == ("pooled", "node-bound")
    assert bound["published"] == bound["published_fgd"] == 90.5
    assert 0 < bound["least"] <= bound["allocated_percent"] <= bound["most"] <= 100
    assert bound["seeds"] == 2
    drawn = ElementTree.fromstring(chart.read_text())
    assert [title.text for title in drawn.iter("{http://www.w3.org/2000/svg}title")] == [
        f"{row['allocated_percent']:.2f} %" for row in (pooled, bound)
    ]
    assert json.loads(shoal(*fgd).out) == [pooled]  # whatever process a replay fell to


def test_real_times_are_replayed_where_a_list_has_them(shoal, tmp_path):
    code, out, err = shoal(*COMMAND, tiny(tmp_path), "--times", "--policy", "best-fit", "-o", "json")
    assert (code, err) == (0, "")
    (only,) = json.loads(out)
    assert (only["variant"], only["tasks"], only["waited"], only["never"]) == ("default", 5, 0, 0)
    assert only["allocated_peak"] == pytest.approx(100 * 3.63 / 6)
    words = ("--times", "--policy", "best-fit", "--hosts", "33", "-o", "json")
    (fewer,) = json.loads(shoal(*COMMAND, tmp_path, *words).out)
    assert fewer["waited"] + fewer["never"] > 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--variant", "none"], "--variant none: {trace} has no such pod list\nhint: it has bare, default\n"),
        (["--plot", "x.svg", "--times"], "--plot draws how demand was met"),
        (["--plot", "{trace}/none/x.svg"], "there is no folder {trace}/none"),
    ],
)
def test_what_cannot_be_replayed_is_refused(shoal, tmp_path, words, told):
    trace = tiny(tmp_path)
    code, out, err = shoal(*COMMAND, trace, *(word.format(trace=trace) for word in words))
    assert (code, out) == (2, "")
    assert told.format(trace=trace) in err


def test_a_bad_trace_is_refused_with_its_place(shoal, tmp_path):
    (tiny(tmp_path) / "tiny_pod_list_bare.csv").write_text("cpu_milli,memory_mib,num_gpu,gpu_milli\n1,1,one,1000\n")
    code, _, err = shoal(*COMMAND, tmp_path)
    assert code == 2
    assert f"{tmp_path}/tiny_pod_list_bare.csv:2: column num_gpu: 'one' is no whole number" in err
    (tmp_path / "tiny_pod_list_bare.csv").write_text("cpu_milli,memory_mib,num_gpu,gpu_milli\n1,1,0,0\n")
    code, _, err = shoal(*COMMAND, tmp_path)
    assert code == 2
    assert "bare: no task of the trace asks for a GPU" in err


def test_what_is_not_installed_is_named(shoal, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("shoal.pool", "shoal.gpu"))]:
        monkeypatch.delitem(sys.modules, name)
    for room in ("pool", "gpu"):  # each import sets it anew, and later tests want the one that they have imported
        monkeypatch.setattr(sys.modules["shoal"], room, getattr(sys.modules["shoal"], room))
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    code, _, err = shoal(*COMMAND, tiny(tmp_path))
    assert code == 2
    assert 'hint: pip install "shoal[gpu]"' in err


def test_the_commands_names_are_the_pools():
    assert [name.value for name in PolicyName] == list(POLICIES)
    assert [name.value for name in ModeName] == [mode.value for mode in Mode]
