"""`shoal run` and `shoal resume`: start a job and watch it, or leave it running."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.names import RunName
from shoal.cli.terminal import Exit, complain, refuse, say

if TYPE_CHECKING:
    from shoal.local.manifests import Wanted
    from shoal.local.runs import Run, Snapshot
    from shoal.resources import Document, Phase

Detach = Annotated[bool, typer.Option("--detach", "-d", help="Leave the job running and return.")]
Prefork = Annotated[
    bool,
    typer.Option(
        help="Import TensorFlow once and fork every replica of a `python FILE` job from there: starts faster."
    ),
]


def register(app: typer.Typer) -> None:
    app.command()(run)
    app.command()(resume)


def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A manifest, a folder of manifests, or - for stdin.")],
    name: Annotated[str | None, typer.Option(help="Name the run; by default it is the job's name.")] = None,
    detach: Detach = False,
    replace: Annotated[bool, typer.Option("--replace", help="Start over if a run of that name exists.")] = False,
    prefork: Prefork = True,
    lint: Annotated[bool, typer.Option(help="Refuse a job in which `shoal lint` finds an error.")] = True,
) -> None:
    """Run the jobs of a manifest on this machine, one process per replica.

    The exit code is 0 only if every job succeeded: 1 a job failed, 2 the request was refused, 3 a job was stopped
    by somebody else, 130 Ctrl-C (all processes are ended; `shoal resume` goes on from the last checkpoint).
    """
    from shoal.local.manifests import jobs_in
    from shoal.resources import load, parse

    documents = load(file)
    wanted = jobs_in(documents)
    if not wanted:
        refuse(f"{file}: there is no TFJob in it")
    if lint:
        _lint(documents)
    if name is not None:
        if len(wanted) > 1:
            refuse(f"{file} has {len(wanted)} jobs, and --name names one", "run them from files of their own")
        wanted[0].job.metadata.name = name
        parse(wanted[0].job.dump(), source="--name")
    source = Path.cwd() if file == "-" else _folder_of(Path(file))
    runs = _make_room(wanted, replace)
    for each, wants in zip(runs, wanted, strict=True):
        each.create(wants.text(), source)
    _start(runs, detach, prefork)


def resume(name: RunName, detach: Detach = False, prefork: Prefork = True) -> None:
    """Go on with a run that was stopped or interrupted, from its last checkpoint."""
    from shoal.local import manifests
    from shoal.local.runs import find

    found = find(name)
    phase = found.snapshot().status.phase
    if phase.final:
        refuse(f"run {name!r} has {phase.value.lower()}", "start over with `shoal run FILE --replace`")
    if found.alive:
        refuse(f"run {name!r} is running", f"see it with `shoal logs -f {name}`")
    manifests.edit(found, lambda job: setattr(job.spec.run_policy, "suspend", None))
    _start([found], detach, prefork)


def _lint(documents: list[Document]) -> None:
    """Say what would go wrong in minutes of training before it begins: errors are refused, warnings told in a line."""
    from shoal.cli.linting import findings_of
    from shoal.training.lint import Severity

    found = [(each.source, finding) for each in documents if each.job for finding in findings_of(each.job, each.source)]
    errors = [(source, finding) for source, finding in found if finding.severity is Severity.ERROR]
    for source, finding in errors:
        complain(f"{source}: {finding.rule} {finding.path}: {finding.problem}", finding.hint)
    if errors:
        say("hint: docs/lint.md explains each rule; --no-lint runs it all the same")
        raise SystemExit(Exit.REFUSED)
    if found:
        rules = ", ".join(sorted({finding.rule for _, finding in found}))
        say(f"{len(found)} {'warning' if len(found) == 1 else 'warnings'} ({rules}); read them with `shoal lint`")


def _folder_of(path: Path) -> Path:
    absolute = path.absolute()
    return absolute if absolute.is_dir() else absolute.parent


def _make_room(wanted: list[Wanted], replace: bool) -> list[Run]:
    """The runs to create. Where one exists, nothing is touched unless the user said so."""
    from shoal.local.runs import Run

    names = [wants.job.name for wants in wanted]
    if twice := next((name for name in names if names.count(name) > 1), None):
        refuse(f"two jobs are named {twice!r}", "give each a metadata.name of its own")
    runs = [Run(name) for name in names]
    for each in runs:
        if not each.exists:
            continue
        if each.alive:
            refuse(
                f"a run named {each.name!r} is running",
                f"stop it with `shoal stop {each.name}`, or use --name for another",
            )
        if not replace:
            refuse(
                f"a run named {each.name!r} exists ({each.snapshot().status.phase.value.lower()})",
                "start over with --replace, or use --name for another",
            )
    for each in runs:
        if each.exists:
            each.remove()
    return runs


def _start(runs: list[Run], detach: bool, prefork: bool) -> None:
    from shoal.local.running import detach as leave_supervisor

    if detach:
        for each in runs:
            leave_supervisor(each, prefork=prefork)
            say(f"{each.name} runs; watch it with `shoal logs -f {each.name}`, end it with `shoal stop {each.name}`")
        return
    phases = asyncio.run(_watch(runs, prefork))
    raise SystemExit(_exit_code(phases))


async def _watch(runs: list[Run], prefork: bool) -> list[Phase]:
    """Supervise the runs in this process, and show them until all have ended."""
    from shoal.cli.display import display, summary
    from shoal.local.running import Interruption, look_after

    with Interruption() as interruption, display() as show:

        async def look(each: Run) -> Phase:
            def on_change(snapshot: Snapshot) -> None:
                show(each.name, snapshot)

            return (await look_after(each, interruption, prefork=prefork, on_change=on_change)).phase

        phases = await asyncio.gather(*map(look, runs))
    for each in runs:
        summary(each)
    if interruption.received:
        say("hint: go on with `shoal resume NAME`")
        raise SystemExit(Exit.INTERRUPTED)
    return list(phases)


def _exit_code(phases: list[Phase]) -> Exit:
    from shoal.resources import Phase

    if all(phase is Phase.SUCCEEDED for phase in phases):
        return Exit.OK
    return Exit.FAILED if Phase.FAILED in phases else Exit.STOPPED
