"""`shoal image`: a container image of a job's folder."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.names import FileArgument
from shoal.cli.terminal import Exit, complain, refuse, say

if TYPE_CHECKING:
    from shoal.resources import TFJob


class BuilderName(StrEnum):
    """Programs that build images."""

    DOCKER = "docker"
    PODMAN = "podman"
    BUILDAH = "buildah"


def register(app: typer.Typer) -> None:
    app.command()(image)


def image(
    file: FileArgument,
    tag: Annotated[
        str | None, typer.Option(help="The image's name; by default the job's, with a tag that tells its content.")
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="The image to build on; by default the one that the manifest names.")
    ] = None,
    print_: Annotated[bool, typer.Option("--print", help="Print the Dockerfile, and build nothing.")] = False,
    push: Annotated[bool, typer.Option("--push", help="Push the image to the registry in its name.")] = False,
    builder: Annotated[
        BuilderName | None, typer.Option(help="What builds it; by default the first of these that works here.")
    ] = None,
) -> None:
    """Build an image of a manifest's folder: its scripts at /shoal/code, and what its requirements.txt names.

    Prints the image's name. What .gitignore and .shoalignore name is left out. Exit code 1: the builder failed.
    """
    from shoal.code import image as images

    jobs = _jobs(file)
    base = base or _base(file, jobs)
    with images.staged(Path.cwd() if file == "-" else _folder(Path(file)), base) as staged:
        if print_:
            print(staged.dockerfile, end="")
            return
        chosen = images.builder(builder.value if builder else None)
        name = tag or f"{jobs[0].name}:{staged.digest}"
        say(f"building {name} of {len(staged.archive.files)} files on {base}, with {chosen.name}")
        if code := chosen.build(staged.folder, name):
            complain(f"{chosen.name} could not build it: exit code {code}", "its own words are above")
            raise SystemExit(Exit.FAILED)
        if push and (code := chosen.push(name)):
            hint = "its own words are above; --tag gives it a name with your registry in it"
            complain(f"{chosen.name} could not push {name}: exit code {code}", hint)
            raise SystemExit(Exit.FAILED)
    print(name)


def _jobs(file: str) -> list[TFJob]:
    from shoal.resources import load

    jobs = [document.job for document in load(file) if document.job]
    if not jobs:
        refuse(f"{file}: there is no TFJob in it")
    return jobs


def _base(file: str, jobs: list[TFJob]) -> str:
    """The image of the containers that train, where they agree."""
    named = sorted({str(spec.container["image"]) for job in jobs for spec in job.replicas.values()})
    if len(named) > 1:
        refuse(f"{file} names {len(named)} images: {', '.join(named)}", "say which to build on: --base IMAGE")
    return named[0]


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent
