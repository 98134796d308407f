"""`shoal run` and `shoal resume`: start a job and watch it, or leave it running."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from shoal.cli.delivery import delivery_of, pin_code
from shoal.cli.named import find_run
from shoal.cli.names import FileArgument, RunName
from shoal.cli.place import ContextOption, NamespaceOption, On, OnOption, runs_on
from shoal.cli.terminal import Exit, complain, refuse, say

if TYPE_CHECKING:
    from shoal.resources import Document, ModelServer, TensorBoard
    from shoal.runs import Look, Run, Runs

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
    file: FileArgument,
    name: Annotated[str | None, typer.Option(help="Name the run; by default it is the job's name.")] = None,
    detach: Detach = False,
    replace: Annotated[bool, typer.Option("--replace", help="Start over if a run of that name exists.")] = False,
    prefork: Prefork = True,
    lint: Annotated[bool, typer.Option(help="Refuse a job in which `shoal lint` finds an error.")] = True,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
    code: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", file_okay=False, help="On Kubernetes: send this folder along; replicas start in it."
        ),
    ] = None,
    code_claim: Annotated[
        str | None, typer.Option(metavar="CLAIM", help="Where the folder goes if it is too large for a ConfigMap.")
    ] = None,
) -> None:
    """Run the jobs of a manifest: on this machine, one process per replica, or on Kubernetes, one pod per replica. A
    ModelServer alone is served here, by `shoal serve`; a TensorBoard alone is shown here.

    The exit code is 0 only if every job succeeded: 1 a job failed, 2 the request was refused, 3 a job was stopped
    by somebody else, 130 Ctrl-C (on this machine all processes are ended, and `shoal resume` goes on from the last
    checkpoint; on Kubernetes the job goes on without this terminal).
    """
    from shoal.resources import load, parse

    documents = load(file)
    jobs = [document.job for document in documents if document.job]
    servers = [document.server for document in documents if document.server]
    boards = [document.board for document in documents if document.board]
    if not jobs and servers:
        _serve(servers, file, on, detach)
    if not jobs and boards:
        _show(boards, file, on, detach)
    benches = [document.workbench for document in documents if document.workbench]
    if not jobs and benches:
        refuse(f"{file} has a Workbench alone", f"kubectl apply -f {file}; `shoal workbench` starts JupyterLab here")
    if not jobs:
        refuse(f"{file}: there is no TFJob, no ModelServer and no TensorBoard in it")
    if on is On.LOCAL:
        for server in servers:
            say(f"ModelServer {server.name} is left out: run it from a file of its own, or give the job spec.serve")
        for board in boards:
            say(f"TensorBoard {board.name} is left out: run it from a file of its own, or `shoal tensorboard NAME`")
        for bench in benches:
            say(f"Workbench {bench.name} is left out: `shoal workbench` starts JupyterLab here")
    for each in jobs:
        pin_code(each)
    if lint:
        _lint(documents)
    if name is not None:
        if len(jobs) > 1:
            refuse(f"{file} has {len(jobs)} jobs, and --name names one", "run them from files of their own")
        jobs[0].metadata.name = name
        parse(jobs[0].dump(), source="--name")
    names = [job.name for job in jobs]
    if twice := next((each for each in names if names.count(each) > 1), None):
        refuse(f"two jobs are named {twice!r}", "give each a metadata.name of its own")
    with delivery_of(code, code_claim, on, context, documents) as delivery:
        runs = runs_on(on, context, namespace, prefork, delivery)
        begun = runs.create(documents, file, replace)
    _start(runs, begun, detach)


def resume(
    name: RunName,
    detach: Detach = False,
    prefork: Prefork = True,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
) -> None:
    """Go on with a run that was stopped or interrupted, from its last checkpoint."""
    runs = runs_on(on, context, namespace, prefork)
    found = find_run(runs, name)
    phase = found.look().snapshot.status.phase
    if phase.final:
        refuse(f"run {name!r} has {phase.value.lower()}", "start over with `shoal run FILE --replace`")
    if found.alive:
        refuse(f"run {name!r} is running", f"see it with `shoal logs -f {name}{runs.options}`")
    found.suspend(False)
    _start(runs, [found], detach)


def _serve(servers: Sequence[ModelServer], file: str, on: On, detach: bool) -> NoReturn:
    """Serve the models of one ModelServer, in this process, until it is told to end."""
    _refuse_all_but_one_here("ModelServer", len(servers), file, on, detach)
    from shoal.cli.serve import serve
    from shoal.kubernetes.serving.config import model_list
    from shoal.local.model_folders import local_models
    from shoal.local.servers import registered

    (server,) = servers
    ports = server.spec.service_ports
    with TemporaryDirectory(prefix="shoal-") as folder, registered(server):
        config = Path(folder) / "models.config"
        config.write_text(model_list(local_models(server)), encoding="utf-8")
        serve(config_file=config, port=ports.grpc, rest_port=ports.rest, any_label=True)
    raise AssertionError  # it exits


def _show(boards: Sequence[TensorBoard], file: str, on: On, detach: bool) -> NoReturn:
    """Show one TensorBoard until it is told to end."""
    _refuse_all_but_one_here("TensorBoard", len(boards), file, on, detach)
    from shoal.cli.tensorboard import show
    from shoal.local.boards import board_of, local_log_dirs
    from shoal.local.ports import free_port

    (board,) = boards
    port = free_port()
    show(board_of(local_log_dirs(board), port), port)


def _refuse_all_but_one_here(kind: str, count: int, file: str, on: On, detach: bool) -> None:
    """One resource that is no job runs in this process, in the foreground; more cannot, and a cluster needs no help."""
    if on is not On.LOCAL:
        refuse(f"{file} has a {kind} alone, which needs no watching", f"kubectl apply -f {file}")
    if count > 1:
        refuse(f"{file} has {count} {kind}s", "run them from files of their own, each on ports of its own")
    if detach:
        refuse(f"a {kind} runs in the foreground here", "leave --detach out")


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


def _start(runs: Runs, begun: Sequence[Run], detach: bool) -> None:
    from shoal.cli.display import display, summary

    if detach:
        for each in begun:
            runs.leave(each)
            watch, end = (f"`shoal {words} {each.name}{runs.options}`" for words in ("logs -f", "stop"))
            say(f"{each.name} runs; watch it with {watch}, end it with {end}")
        return
    with display() as show:
        looks, interrupted = runs.follow(begun, show)
    for run, look in zip(begun, looks, strict=True):
        if not look.alive:
            summary(run, look)
    if interrupted and any(look.phase != "Succeeded" for look in looks):  # else it was served, and that is its end
        say(runs.after_interruption)
        raise SystemExit(Exit.INTERRUPTED)
    raise SystemExit(_exit_code(looks))


def _exit_code(looks: Sequence[Look]) -> Exit:
    phases = [look.phase for look in looks]
    if all(phase == "Succeeded" for phase in phases):
        return Exit.OK
    return Exit.FAILED if "Failed" in phases else Exit.STOPPED
