"""`shoal predict`: ask a model server for a prediction, with inputs from files and from the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.model_server import (
    AtOption,
    CaOption,
    LabelOption,
    ModelArgument,
    RestOption,
    TimeoutOption,
    VersionOption,
    asked,
    connection,
)
from shoal.cli.table import table
from shoal.cli.terminal import console, refuse, say

if TYPE_CHECKING:
    from shoal.serving.client.image_input import ImageOptions
    from shoal.serving.client.prediction import Prediction


class PredictionOutput(StrEnum):
    """How a prediction is written."""

    TABLE = "table"
    JSON = "json"
    NPY = "npy"


def register(app: typer.Typer) -> None:
    app.command()(predict)


def predict(
    model: ModelArgument = None,
    files: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            "-i",
            metavar="[NAME=]FILE",
            help="JSON, CSV, .npy, .npz or an image; - is standard input. NAME: the input that it is for. Repeatable.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A small input, in JSON or as plain text. Repeatable."),
    ] = None,
    signature: Annotated[str, typer.Option(help="By default serving_default.")] = "",
    version: VersionOption = None,
    label: LabelOption = "",
    output_filter: Annotated[
        list[str] | None, typer.Option("--output-filter", metavar="NAME", help="Only this output. Repeatable.")
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", min=1, help="Send so many rows at a time; all at once by default.")
    ] = None,
    image_size: Annotated[
        str | None, typer.Option("--image-size", metavar="HEIGHTxWIDTH", help="Resize images to so many pixels.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="FACTOR", help="Multiply pixels, from 0 to 255, by this, as in 1/255.")
    ] = None,
    output: Annotated[
        PredictionOutput,
        typer.Option("--output", "-o", help="table; json; npy: .npy of one output, .npz of several."),
    ] = PredictionOutput.TABLE,
    at: AtOption = None,
    rest: RestOption = False,
    ca: CaOption = None,
    timeout: TimeoutOption = 60.0,
) -> None:
    """Ask a model server for a prediction: ours or TensorFlow Serving, over gRPC or REST.

    The server says which types and shapes the inputs have, so numbers in a file need not. All of an answer comes from
    one version of the model.
    """
    if output is PredictionOutput.NPY and sys.stdout.isatty():
        refuse("--output npy is no text", "write it to a file: … > out.npy")
    server = connection(at, rest, timeout, ca)
    from shoal.serving.client import prediction, rendering, sources
    from shoal.serving.client.inputs import Given

    given = Given(
        [sources.read_source(words) for words in files or ()],
        [sources.parse_setting(words) for words in settings or ()],
        _image_options(image_size, scale),
    )
    with _progress() as progress:
        answer = prediction.predict(
            server,
            asked(server, model, version, label),
            given,
            signature,
            output_filter or (),
            batch_size,
            progress,
        )
    match output:
        case PredictionOutput.TABLE:
            say(f"{answer.model} version {answer.version}, {answer.signature}")
            _print_table(answer)
        case PredictionOutput.JSON:
            print(rendering.to_json(answer))
        case PredictionOutput.NPY:
            sys.stdout.buffer.write(rendering.to_npy(answer.outputs))


def _image_options(size: str | None, scale: str | None) -> ImageOptions:
    from shoal.serving.client.image_input import ImageOptions

    pixels = None
    if size is not None:
        height, _, width = size.lower().partition("x")
        if not height.isdecimal() or not (width or height).isdecimal() or not int(height) * int(width or height):
            refuse(f"--image-size {size}: expected HEIGHTxWIDTH in pixels", "as in 224x224, or 224 for a square")
        pixels = (int(height), int(width or height))
    try:
        return ImageOptions(pixels, None if scale is None else float(Fraction(scale)))
    except (ValueError, ZeroDivisionError, OverflowError):
        refuse(f"--scale {scale}: expected a number or a fraction", "as in 1/255")


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, from the first of several batches on."""
    if not sys.stderr.isatty():
        yield lambda done, rows: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("rows"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", visible=False)
        yield lambda done, rows: bar.update(task, completed=done, total=rows, visible=True)


def _print_table(answer: Prediction) -> None:
    from shoal.serving.client import rendering

    heading, *lines = rendering.to_lines(answer.outputs)
    console().print(table(heading, lines))
