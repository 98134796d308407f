"""`shoal gpu`: the pool of GPUs. `simulate` replays a cluster's trace against policies of placement; `plugin` is in a
module of its own."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import gpu_broker, gpu_plugin, gpu_pool, gpu_run, gpu_serve
from shoal.cli.table import table
from shoal.cli.terminal import Output, console, need_folder, refuse

if TYPE_CHECKING:
    from shoal.gpu.simulation import Case, Grown
    from shoal.gpu.trace import Trace
    from shoal.pool.replay import Flow

app = typer.Typer(name="gpu", help="The pool of GPUs.", no_args_is_help=True)


class PolicyName(StrEnum):
    """Names of `shoal.pool.policies.POLICIES`, which is not imported for them: it needs more than the base."""

    BEST_FIT = "best-fit"
    FGD = "fgd"
    SHADOW_PRICE = "shadow-price"


class ModeName(StrEnum):
    NODE_BOUND = "node-bound"
    POOLED = "pooled"


def register(root: typer.Typer) -> None:
    """Add the group."""
    gpu_broker.register(app)
    gpu_serve.register(app)
    gpu_run.register(app)
    gpu_pool.register(app)
    gpu_plugin.register(app)
    root.add_typer(app)


@app.command()
def simulate(
    trace: Annotated[Path, typer.Option(help="A folder with a node list and pod lists in CSV.", show_default=False)],
    seeds: Annotated[int, typer.Option(min=1, help="Replays of each variant, each with a seed of its own.")] = 10,
    policy: Annotated[
        list[PolicyName] | None, typer.Option(help="A policy; may be repeated. All, unless given.", show_default=False)
    ] = None,
    mode: Annotated[
        list[ModeName] | None,
        typer.Option(
            help="Where a task's GPUs may lie; may be repeated. Node-bound, unless given.", show_default=False
        ),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            help="A pod list, by the end of its name; may be repeated. All, unless given.", show_default=False
        ),
    ] = None,
    demand: Annotated[
        float, typer.Option(min=1, max=1000, help="Percent of the GPUs that tasks ask for in all.")
    ] = 130,
    times: Annotated[
        bool, typer.Option("--times", help="Replay tasks as they came and went, and tell how long they waited.")
    ] = False,
    hosts: Annotated[
        float, typer.Option(min=0.01, max=100, help="With --times: the percent of the hosts that the tasks have.")
    ] = 100,
    output: Annotated[Output, typer.Option("--output", "-o", help="How the result is written.")] = Output.TABLE,
    plot: Annotated[Path | None, typer.Option(help="Draw the table into this SVG file, too.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Replays at a time.")] = os.cpu_count() or 1,
) -> None:
    """Replay a trace: how much of the GPUs would a policy have allocated?

    Tasks are sampled with replacement until they ask for DEMAND percent of the GPUs, and placed as they come; what does
    not fit is skipped, and nothing leaves.
    """
    try:
        from shoal.gpu.simulation import Case, live, variants_with_times
        from shoal.gpu.trace import TraceError, read_trace
        from shoal.pool.request import Mode
    except ModuleNotFoundError as missing:
        refuse(f"this needs {missing.name}, which is not installed", 'pip install "shoal[gpu]"')
    if plot and times:
        refuse("--plot draws how demand was met, which --times does not ask", "leave one of them out")
    need_folder("--plot", plot)
    try:
        read = read_trace(trace)
        for name in variant or ():
            if name not in read.variants:
                refuse(f"--variant {name}: {trace} has no such pod list", f"it has {', '.join(read.variants)}")
        chosen = variant or (variants_with_times(read) if times else list(read.variants))
        cases = [
            Case(name, which.value, Mode(where.value))
            for name in dict.fromkeys(chosen)
            for which in dict.fromkeys(policy or PolicyName)
            for where in dict.fromkeys(mode or [ModeName.NODE_BOUND])
        ]
        if times:
            _show_flow(list(live(read, cases, hosts)), output)
        else:
            _show_growth(read, _grown(read, cases, seeds, demand, jobs), output, plot)
    except TraceError as fault:
        refuse(str(fault), fault.hint)


def _grown(trace: Trace, cases: list[Case], seeds: int, demand: float, jobs: int) -> list[Grown]:
    from rich.progress import Progress

    from shoal.gpu.simulation import grow

    results = []
    stderr = console(stderr=True)
    with Progress(console=stderr, transient=True, disable=not stderr.is_terminal) as progress:
        replays = progress.add_task("replaying", total=len(cases) * seeds)
        for grown in grow(trace, cases, seeds, demand, jobs):
            if grown is None:
                progress.advance(replays)
            else:
                results.append(grown)
    return results


def _show_growth(trace: Trace, results: list[Grown], output: Output, plot: Path | None) -> None:
    published = [trace.published.get((r.case.variant, r.case.policy, round(r.percent))) for r in results]
    best = [trace.published.get((r.case.variant, "fgd", round(r.percent))) for r in results]
    if plot:
        from shoal.gpu.chart import chart

        plot.write_text(chart(results, published), encoding="utf-8")
    if output is Output.JSON:
        rows = [
            {
                **_case(grown.case),
                "demand_percent": grown.percent,
                "allocated_percent": round(grown.mean, 3),
                "least": round(grown.least, 3),
                "most": round(grown.most, 3),
                "seeds": len(grown.runs),
                "published": known,
                "published_fgd": fgd,
            }
            for grown, known, fgd in zip(results, published, best, strict=True)
        ]
        print(json.dumps(rows, indent=2))
        return
    _table(
        ["VARIANT", "POLICY", "MODE", "ALLOCATED %", "LEAST", "MOST", "PUBLISHED", "AGAINST FGD'S"],
        [
            [
                *grown.case,
                f"{grown.mean:.2f}",
                f"{grown.least:.2f}",
                f"{grown.most:.2f}",
                "" if known is None else f"{known:.2f}",
                "" if fgd is None else f"{grown.mean - fgd:+.2f}",
            ]
            for grown, known, fgd in zip(results, published, best, strict=True)
        ],
    )


def _show_flow(results: list[tuple[Case, Flow]], output: Output) -> None:
    if output is Output.JSON:
        print(json.dumps([{**_case(case), **asdict(flow)} for case, flow in results], indent=2))
        return
    _table(
        [
            "VARIANT",
            "POLICY",
            "MODE",
            "TASKS",
            "WAITED",
            "NEVER PLACED",
            "MEAN WAIT",
            "95 %",
            "LONGEST",
            "MEAN USE",
            "PEAK",
        ],
        [
            [
                *case,
                str(flow.tasks),
                str(flow.waited),
                str(flow.never),
                f"{flow.delay_mean:.1f} s",
                f"{flow.delay_p95:.0f} s",
                f"{flow.delay_max:.0f} s",
                f"{flow.allocated_mean:.1f} %",
                f"{flow.allocated_peak:.1f} %",
            ]
            for case, flow in results
        ],
    )


def _case(case: Case) -> dict[str, str]:
    return {"variant": case.variant, "policy": case.policy, "mode": case.mode.value}


def _table(columns: list[str], rows: list[list[str]]) -> None:
    console().print(table(columns, rows, right=columns[3:]))
