"""`shoal models`: what a model server serves, in which versions, and what they take and answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.inspect import OutputOption
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
from shoal.cli.terminal import Output, console, refuse, say

if TYPE_CHECKING:
    from shoal.serving.client.connection import Metadata, ModelVersion, TensorSpec

_STYLES = {"AVAILABLE": "green", "LOADING": "cyan", "UNLOADING": "cyan"}


def register(app: typer.Typer) -> None:
    app.command()(models)


def models(
    model: ModelArgument = None,
    signatures: Annotated[bool, typer.Option("--signatures", help="Show what the model takes and answers.")] = False,
    version: VersionOption = None,
    label: LabelOption = "",
    output: OutputOption = Output.TABLE,
    at: AtOption = None,
    rest: RestOption = False,
    ca: CaOption = None,
    timeout: TimeoutOption = 10.0,
) -> None:
    """List the models of a server, with the state of each version; or those of one model, or its signatures.

    TensorFlow Serving itself tells only of a model that is named; `shoal serve` lists all.
    """
    server = connection(at, rest, timeout, ca)
    from shoal.serving.client import prediction

    if signatures:
        chosen = asked(server, model, version, label)
        _show_signatures(chosen.name, prediction.explained(server, chosen, lambda: server.metadata(chosen)), output)
    elif model or version is not None or label:
        chosen = asked(server, model, version, label)
        _show_versions({chosen.name: prediction.versions(server, chosen)}, output)
    else:
        listed = server.models()
        if listed is None:
            refuse("this server does not list its models", "name one: shoal models MODEL")
        _show_versions(listed, output)


def _show_versions(listed: Mapping[str, list[ModelVersion]], output: Output) -> None:
    if output is Output.JSON:
        told = [{"name": name, "versions": [asdict(each) for each in found]} for name, found in listed.items()]
        print(json.dumps({"models": told}, indent=2))
        return
    if not listed:
        say("there are no models")
        return
    _print_table(
        ("NAME", "VERSION", "STATE", "LABELS", "ERROR"),
        (
            row
            for name, found in listed.items()
            for row in ([_cells(name, each) for each in found] or [(name, "", "none yet", "", "")])
        ),
    )


def _cells(name: str, found: ModelVersion) -> tuple[str, ...]:
    labels = "?" if found.labels is None else ", ".join(found.labels)
    error = "" if found.error_code == "OK" else f"{found.error_code}: {' '.join(found.error_message.split())}"
    return name, str(found.version), found.state, labels, error


def _show_signatures(name: str, metadata: Metadata, output: Output) -> None:
    if output is Output.JSON:
        told = {
            each.name: {"inputs": _as_data(each.inputs), "outputs": _as_data(each.outputs)}
            for each in metadata.signatures.values()
        }
        print(json.dumps({"model": name, "version": metadata.version, "signatures": told}, indent=2))
        return
    say(f"{name} version {metadata.version}")
    _print_table(
        ("SIGNATURE", "TENSOR", "NAME", "TYPE", "SHAPE"),
        (
            (
                signature.name,
                kind + (" (optional)" if each in signature.optional else ""),
                each,
                spec.type,
                spec.shown_shape,
            )
            for signature in metadata.signatures.values()
            for kind, tensors in (("input", signature.inputs), ("output", signature.outputs))
            for each, spec in tensors.items()
        ),
    )


def _as_data(tensors: Mapping[str, TensorSpec]) -> dict[str, Any]:
    """A size that may vary is null, and so is a shape of any rank."""
    return {name: {"type": spec.type, "shape": spec.shape} for name, spec in tensors.items()}


def _print_table(heading: Sequence[str], rows: Iterable[Iterable[str]]) -> None:
    from rich.text import Text

    styled = ([Text(cell, _STYLES.get(cell, "")) for cell in row] for row in rows)
    console().print(table(heading, styled, wrap=("ERROR",)))
