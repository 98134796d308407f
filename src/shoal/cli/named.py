"""What a command line names: NAME, or KIND/NAME as for kubectl where a job and a model server share the name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from shoal.runs import Run, Runs, Server

Kind = Literal["TFJob", "ModelServer"]

KINDS: dict[str, Kind] = {
    "tfjob": "TFJob",
    "tfjobs": "TFJob",
    "modelserver": "ModelServer",
    "modelservers": "ModelServer",
    "ms": "ModelServer",
}


def find(runs: Runs, word: str) -> Run | Server:
    """The run or the model server that is meant. Raises RunError where there is none, or one of each.

    A server that a job has made to serve its model has the job's name, and is no reason to say more: the name alone is
    the job's then.
    """
    from shoal.runs import MissingError, RunError

    kind, name = _split(word)
    if kind == "TFJob":
        return runs.find(name)
    if kind == "ModelServer":
        return runs.find_server(name)
    try:
        run = runs.find(name)
    except MissingError as no_run:
        return _only_server(runs, name, no_run)
    try:
        server = runs.find_server(name)
    except RunError:  # there is none, or this user may not see it
        return run
    if server.made_for == name:
        return run
    raise RunError(
        f"there are a job and a model server named {name!r}", f"say which: tfjob/{name} or modelserver/{name}"
    )


def find_run(runs: Runs, word: str) -> Run:
    """The run that is meant, for commands that are about nothing else. Raises RunError where there is none."""
    from shoal.runs import MissingError, RunError

    kind, name = _split(word)
    if kind != "ModelServer":
        try:
            return runs.find(name)
        except MissingError as no_run:
            _only_server(runs, name, no_run)
    raise RunError(f"{name} is a model server, not a run", f"end it with `shoal rm modelserver/{name}{runs.options}`")


def _only_server(runs: Runs, name: str, no_run: Exception) -> Server:
    """The server of the name, where there is no run. Raises a MissingError that knows all names."""
    from shoal.resources.suggestion import nearest
    from shoal.runs import MissingError

    assert isinstance(no_run, MissingError)
    try:
        return runs.find_server(name)
    except MissingError as no_server:
        if not no_server.known:
            raise no_run from None
        known = [*no_run.known, *no_server.known]
        meant = nearest(name, known)
        hint = f"did you mean {meant}?" if meant else f"known names: {', '.join(known[:5])}"
        raise MissingError(f"there is no run and no model server named {name!r}", hint, known) from None


def _split(word: str) -> tuple[Kind | None, str]:
    kind, slash, name = word.partition("/")
    known = KINDS.get(kind.lower()) if slash else None
    return (known, name) if known else (None, word)
