"""`shoal ps`, `shoal describe`, `shoal logs`: what runs, how it goes, and what it says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.names import RunName
from shoal.cli.place import ContextOption, NamespaceOption, On, OnOption, runs_on
from shoal.cli.terminal import Output, console, say

if TYPE_CHECKING:
    from shoal.runs import Look, Run

OutputOption = Annotated[Output, typer.Option("--output", "-o", help="table, or json for programs.")]


def register(app: typer.Typer) -> None:
    app.command()(ps)
    app.command()(describe)
    app.command()(logs)


def ps(
    everything: Annotated[bool, typer.Option("--all", "-a", help="Show runs that have ended, too.")] = False,
    output: OutputOption = Output.TABLE,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """List runs: those that are active, or all."""
    found = runs_on(on, context, namespace).all(replicas=output is Output.JSON)
    listed = [(run, look) for run, look in found if everything or look.phase not in _ENDED]
    if output is Output.JSON:
        print(json.dumps([_as_data(run, look) for run, look in listed], indent=2))
        return
    if not listed:
        say("nothing runs" if not everything else "there are no runs")
        return
    from rich.table import Table

    from shoal.cli.display import STYLES, describe_progress, elapsed
    from shoal.runs import INTERRUPTED

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("NAME", "PHASE", "REPLICAS", "PROGRESS", "RETRIES", "TIME"):
        table.add_column(column, no_wrap=column != "PROGRESS")  # on a narrow terminal, progress alone gives way
    for run, (snapshot, phase, _) in listed:
        counts = snapshot.status.replica_statuses.values()
        active = sum(c.active for c in counts) if phase != INTERRUPTED else 0
        up = f"{active} running, {sum(c.succeeded for c in counts)} done"
        style = STYLES.get(phase, "")
        table.add_row(
            run.name,
            f"[{style}]{phase}[/]",
            up,
            describe_progress(snapshot),
            str(snapshot.status.retries),
            elapsed(snapshot),
        )
    console().print(table)


def describe(
    name: RunName,
    output: OutputOption = Output.TABLE,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Tell everything about a run: its replicas, its conditions, the first failure with its last words."""
    run = runs_on(on, context, namespace).find(name)
    description = run.describe()
    if output is Output.JSON:
        print(json.dumps(_as_data(run, description.look), indent=2))
        return
    from shoal.cli.description import describe_run

    console().print(describe_run(run.name, run.place, description), crop=False)


def logs(
    name: RunName,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on as lines are written, until the run ends.")
    ] = False,
    replica: Annotated[
        list[str] | None, typer.Option(help="Only this replica, as in worker-1; may be repeated.")
    ] = None,
    attempt: Annotated[int | None, typer.Option(help="Only this attempt, counted from 1; by default the last.")] = None,
    everything: Annotated[bool, typer.Option("--all-attempts", help="Every attempt, not only the last.")] = False,
    tail: Annotated[int | None, typer.Option(help="Only the last lines of each log.", min=0)] = None,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Print what the replicas wrote, each line with its replica's name."""
    from shoal.cli.logs import print_logs
    from shoal.runs import LogChoice

    run = runs_on(on, context, namespace).find(name)
    print_logs(
        run.log_lines(LogChoice(follow, replica or (), attempt, everything, tail)),
        run.replicas_with_logs(),
    )


_ENDED = ("Succeeded", "Failed")


def _as_data(run: Run, look: Look) -> dict[str, Any]:
    label, place = run.place
    return {"name": run.name, label.lower(): place, **json.loads(look.snapshot.dump()), "phase": look.phase}
