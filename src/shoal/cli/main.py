"""The command's entry: every group of commands by name, and what becomes of an error that a user can mend."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Annotated

import typer

from shoal import __version__
from shoal.cli import (
    bench,
    control,
    gpu,
    image,
    inspect,
    install,
    manifests,
    models,
    operator,
    predict,
    run,
    serve,
    tenant,
    tensorboard,
    ui,
    workbench,
)
from shoal.cli.terminal import Exit, complain

app = typer.Typer(
    name="shoal",
    help="Train TensorFlow models on one machine or on Kubernetes, from the same manifest.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
for group in (
    run,
    inspect,
    control,
    tensorboard,
    workbench,
    ui,
    manifests,
    image,
    serve,
    predict,
    models,
    bench,
    gpu,
    tenant,
    operator,
    install,
):
    group.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"shoal {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. A mistake of the user's ends in a sentence and a hint, never in a traceback."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except SystemExit as left:
        # Click leaves with 1 where the reader has gone; `shoal logs NAME | head` is no failure.
        if isinstance(left.__context__, BrokenPipeError):
            sys.exit(Exit.OK)
        raise
    except Exception as fault:
        sys.exit(_explain(fault))


def _explain(fault: Exception) -> Exit:
    """Say what the user can mend, and answer the exit code; raise what only we can."""
    from shoal.local.process import LaunchError
    from shoal.local.runs import runs_folder
    from shoal.resources import ManifestError
    from shoal.runs import RunError
    from shoal.serving.client.errors import ClientError, Unanswered

    match fault:
        case ManifestError():
            for each in fault.faults:
                complain(str(each))
        case RunError() | LaunchError() | ClientError():
            complain(str(fault), fault.hint)
        case OSError() if fault.filename:
            within = Path(str(fault.filename)).is_relative_to(runs_folder().parent)
            hint = f"runs live in {runs_folder()}; SHOAL_HOME names another place than ~/.shoal" if within else ""
            complain(f"{fault.filename}: {fault.strerror}", hint)
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            complain(f"{fault.strerror}", f"runs live in {runs_folder()}: see what they take with `du -sh`")
        case _:
            raise fault
    return Exit.TIMEOUT if isinstance(fault, Unanswered) else Exit.REFUSED
