"""Arguments that several commands take: manifests, and names of runs with their completion in a shell."""

from __future__ import annotations

from typing import Annotated

import typer


def complete_run(incomplete: str) -> list[str]:
    from shoal.local.runs import all_runs

    return [run.name for run in all_runs() if run.name.startswith(incomplete)]


RunName = Annotated[str, typer.Argument(metavar="NAME", help="The run's name.", autocompletion=complete_run)]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="A manifest, a folder of manifests, or - for stdin.")]
