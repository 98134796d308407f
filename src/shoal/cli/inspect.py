"""`shoal ps`, `shoal describe`, `shoal logs`: what runs, how it goes, and what it says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.named import find
from shoal.cli.names import AnyName
from shoal.cli.place import ContextOption, NamespaceOption, On, OnOption, runs_on
from shoal.cli.terminal import Output, console, say

if TYPE_CHECKING:
    from shoal.runs import ListedServer, Runs

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
    """List runs, those that are active or all, and model servers."""
    from shoal.told import run_as_data, server_as_data

    runs = runs_on(on, context, namespace)
    found = runs.all(replicas=output is Output.JSON)
    listed = [each for each in found if everything or each.look.phase not in _ENDED]
    servers = _servers(runs)
    if output is Output.JSON:
        told = [*(run_as_data(*each) for each in listed), *(server_as_data(*each) for each in servers)]
        print(json.dumps(told, indent=2))
        return
    if not listed and not servers:
        say("nothing runs" if not everything else "there are no runs")
        return
    from shoal.cli.listing import listing

    console().print(listing(listed, servers, clusters=on.several))


def describe(
    name: AnyName,
    output: OutputOption = Output.TABLE,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Tell everything about a run: its replicas, its conditions, the first failure with its last words. Or about a
    model server: where it is reached, and how it is."""
    from shoal.told import run_as_data, server_as_data

    found = find(runs_on(on, context, namespace), name)
    if found.kind == "ModelServer":
        told = found.describe()
        if output is Output.JSON:
            print(json.dumps(server_as_data(found, told.look), indent=2))
            return
        from shoal.cli.server_description import describe_server

        console().print(describe_server(found.name, found.place, told), crop=False)
        return
    description = found.describe()
    if output is Output.JSON:
        print(json.dumps(run_as_data(found, description.look), indent=2))
        return
    from shoal.cli.description import describe_run

    console().print(describe_run(found.name, found.place, description), crop=False)


def logs(
    name: AnyName,
    follow: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Go on as lines are written, until the run ends or the server is gone."),
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

    found = find(runs_on(on, context, namespace), name)
    print_logs(
        found.log_lines(LogChoice(follow, replica or (), attempt, everything, tail)),
        found.replicas_with_logs(),
    )


_ENDED = ("Succeeded", "Failed")


def _servers(runs: Runs) -> Sequence[ListedServer]:
    """All of them. Who may not list them still sees the runs."""
    from shoal.runs import RunError

    try:
        return runs.servers()
    except RunError as fault:
        say(f"model servers are not shown: {fault}")
        return ()
