"""Arguments that several commands take: manifests, and names of runs and model servers with their completion in a
shell."""

from __future__ import annotations

from typing import Annotated

import typer


def complete_run(incomplete: str) -> list[str]:
    from shoal.local.runs import all_runs

    return [run.name for run in all_runs() if run.name.startswith(incomplete)]


def complete_any(incomplete: str) -> list[str]:
    from shoal.cli.named import KINDS
    from shoal.local.servers import all_servers

    kind, slash, name = incomplete.rpartition("/")
    servers = [server.name for server in all_servers() if server.name.startswith(name)]
    runs = complete_run(name)
    if not slash:
        return sorted({*runs, *servers})
    meant = KINDS.get(kind.lower())
    return [f"{kind}/{each}" for each in (servers if meant == "ModelServer" else runs if meant else ())]


RunName = Annotated[str, typer.Argument(metavar="NAME", help="The run's name.", autocompletion=complete_run)]
AnyName = Annotated[
    str, typer.Argument(metavar="NAME", help="NAME, tfjob/NAME or modelserver/NAME.", autocompletion=complete_any)
]
AnyNames = Annotated[
    list[str],
    typer.Argument(metavar="NAME...", help="NAME, tfjob/NAME or modelserver/NAME.", autocompletion=complete_any),
]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="A manifest, a folder of manifests, or - for stdin.")]
