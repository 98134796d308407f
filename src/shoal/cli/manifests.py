"""`shoal render`, `lint`, `convert`: work on manifests without running them."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.gpu_options import GPUModelLabel, GPUResource
from shoal.cli.names import FileArgument
from shoal.cli.terminal import Exit, Output, complain, refuse, say
from shoal.kubernetes.gpu_names import GPU_NAMES, GPUNames

if TYPE_CHECKING:
    from shoal.resources import Document


class Format(StrEnum):
    """How objects are written."""

    YAML = "yaml"
    JSON = "json"


class As(StrEnum):
    """What `shoal render` makes of a replica."""

    PODS = "pods"
    CONTROLLERS = "controllers"


class Group(StrEnum):
    """The API group of a TFJob."""

    SHOAL = "shoal.dev"
    KUBEFLOW = "kubeflow.org"


def register(app: typer.Typer) -> None:
    for command in (render, lint, convert):
        app.command()(command)


def render(
    file: FileArgument,
    workload: Annotated[
        As, typer.Option("--as", help="Bare pods; or Deployments and Jobs, which survive the loss of a node.")
    ] = As.PODS,
    namespace: Annotated[str | None, typer.Option("--namespace", "-n", help="For those that name none.")] = None,
    gpu_resource: GPUResource = GPU_NAMES.resource,
    gpu_model_label: GPUModelLabel = GPU_NAMES.model_label,
    output: Annotated[Format, typer.Option("--output", "-o")] = Format.YAML,
) -> None:
    """Print the plain Kubernetes objects of a job, a model server, a TensorBoard or a workbench, for clusters without
    Shoal's operator.

    Try them with `shoal render FILE | kubectl apply --dry-run=server -f -`.
    """
    from shoal.kubernetes.render import render as objects_of
    from shoal.kubernetes.serving.render import render_server
    from shoal.kubernetes.tensorboard import render_board
    from shoal.kubernetes.workbench import render_workbench
    from shoal.kubernetes.workloads import Workload
    from shoal.resources import ModelServer, Other, TensorBoard, TFJob

    gpus = GPUNames(gpu_resource, gpu_model_label)
    objects: list[object] = []
    for document in _load(file):
        resource = document.resource
        if isinstance(resource, Other):
            objects.append(resource.value)
            continue
        if namespace and not resource.metadata.namespace:
            resource.metadata.namespace = namespace
        if isinstance(resource, TFJob):
            objects += objects_of(resource, Workload(workload.value), gpus)
        elif isinstance(resource, ModelServer):
            objects += render_server(resource, gpus)
        elif isinstance(resource, TensorBoard):
            objects += render_board(resource)
        else:
            objects += render_workbench(resource)
    if output is Format.JSON:
        print(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=2))
    else:
        from shoal.resources.yaml_text import write_yaml

        print("---\n".join(write_yaml(each) for each in objects), end="")


def lint(
    file: FileArgument,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings, too.")] = False,
    output: Annotated[Output, typer.Option("--output", "-o", help="table, or json for programs.")] = Output.TABLE,
) -> None:
    """Look for what would go wrong in training, before it does. Exit code 1 if something would.

    Rules and how to silence one: docs/lint.md.
    """
    from shoal.cli.linting import findings_of
    from shoal.training.lint import Severity

    found = [
        (document.source, document.job.name, each)
        for document in _load(file)
        if document.job is not None
        for each in findings_of(document.job, document.source)
    ]
    if output is Output.JSON:
        rows = [{"file": source, "job": name, **each.as_data()} for source, name, each in found]
        print(json.dumps(rows, indent=2))
    else:
        for source, _, each in found:
            print(f"{source}: {each}")
    errors = [each for _, _, each in found if each.severity is Severity.ERROR]
    if output is Output.TABLE:
        say(f"{len(errors)} errors, {len(found) - len(errors)} warnings" if found else "nothing to complain about")
    if errors or (strict and found):
        raise SystemExit(Exit.FAILED)


def convert(
    file: FileArgument,
    to: Annotated[Group, typer.Option("--to", help="The API group to convert to.")],
    lossy: Annotated[bool, typer.Option("--lossy", help="Leave out what the other group cannot say.")] = False,
) -> None:
    """Rewrite TFJobs for the other API group; everything else in the file is kept as it is."""
    from shoal.resources import KUBEFLOW_API, SHOAL_API, Fault, ManifestError, Other, TFJob, dump
    from shoal.resources import convert as converted
    from shoal.resources.yaml_text import write_yaml

    texts: list[str] = []
    faults: list[Fault] = []
    documents = _load(file)
    for document in documents:
        if isinstance(document.resource, Other):
            texts.append(write_yaml(document.resource.value))
            continue
        if not isinstance(document.resource, TFJob):
            texts.append(dump(document.resource))
            continue
        try:
            target = converted(document.resource, SHOAL_API if to is Group.SHOAL else KUBEFLOW_API, lossy=lossy)
            texts.append(dump(target))
        except ManifestError as error:
            number = document.number if len(documents) > 1 else None
            faults += [replace(fault, source=document.source, document=number) for fault in error.faults]
    if faults:
        for fault in faults:
            complain(str(fault))
        say("hint: --lossy leaves out what the other group cannot say")
        raise SystemExit(Exit.REFUSED)
    print("---\n".join(texts), end="")


def _load(file: str) -> list[Document]:
    from shoal.resources import Other, load

    documents = load(file)
    if all(isinstance(document.resource, Other) for document in documents):
        refuse(f"{file}: there is no TFJob and no other resource of Shoal's in it")
    return documents
