"""`shoal install --print`: what installs the operator, for those without Helm."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.terminal import refuse

if TYPE_CHECKING:
    from shoal.kubernetes.install import Values


class Part(StrEnum):
    """What to print."""

    ALL = "all"
    CRDS = "crds"
    OPERATOR = "operator"


def register(app: typer.Typer) -> None:
    app.command()(install)


def install(
    print_: Annotated[bool, typer.Option("--print", help="Print the objects. It is the only way so far.")] = False,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Where the operator runs.")] = "shoal-system",
    create_namespace: Annotated[bool, typer.Option(help="Print the namespace, too.")] = True,
    image: Annotated[
        str | None, typer.Option(help="The operator's image: REPOSITORY:TAG or REPOSITORY@DIGEST.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A value of the chart, as replicas=3.")
    ] = None,
    values_file: Annotated[
        Path | None, typer.Option("--values", "-f", metavar="FILE", help="Values of the chart, in YAML.")
    ] = None,
    only: Annotated[Part, typer.Option(help="The CRDs alone, as after an upgrade; or everything else.")] = Part.ALL,
) -> None:
    """Print what installs the operator: CRDs, namespace, rights, Deployment. The Helm chart makes the same objects.

    Install them with `shoal install --print | kubectl apply --server-side -f -`. What VALUE may be, and which KEYs
    there are, says charts/shoal/values.yaml; lists and mappings are written as in YAML: 'tolerations=[{key: gpu}]'.
    """
    from shoal.kubernetes.install import definitions, namespace_object, operator_objects
    from shoal.resources.yaml_text import write_yaml

    if not print_:
        refuse("nothing is installed by itself yet", "shoal install --print | kubectl apply --server-side -f -")
    _check_namespace(namespace)
    values = _values(values_file, set_ or [], image)
    objects: list[dict[str, Any]] = [] if only is Part.OPERATOR else definitions()
    if only is not Part.CRDS:
        objects += [namespace_object(namespace, values)] if create_namespace else []
        objects += operator_objects(values, namespace)
    print("---\n".join(write_yaml(each) for each in objects), end="")


def _values(file: Path | None, set_: list[str], image: str | None) -> Values:
    """The defaults, covered by those of the file, these by those of --set, and the image by --image."""
    from pydantic import ValidationError

    from shoal.kubernetes.install import Values

    chosen = _read(file) if file else {}
    for each in set_:
        _assign(chosen, each)
    try:
        values = Values.model_validate(chosen)
        if image:
            values.image = values.image.named(image)
    except ValidationError as error:
        fault = error.errors()[0]
        what = ".".join(map(str, fault["loc"]))
        refuse(f"{what}: {fault['msg']}", "charts/shoal/values.yaml lists the values and what they mean")
    except ValueError as error:
        refuse(f"--image: {error}")
    return values


def _read(file: Path) -> dict[str, Any]:
    from shoal.resources.yaml_text import YamlSyntaxError, read_yaml

    try:
        documents = list(read_yaml(file.read_text(encoding="utf-8")))
    except YamlSyntaxError as error:
        refuse(f"{file}: not valid YAML: {error}")
    if len(documents) > 1 or any(document.findings or not isinstance(document.value, dict) for document in documents):
        refuse(f"{file}: values are one mapping", "see charts/shoal/values.yaml")
    return documents[0].value if documents else {}


def _assign(values: dict[str, Any], text: str) -> None:
    from shoal.resources.yaml_text import YamlSyntaxError, read_yaml

    key, equals, written = text.partition("=")
    if not key or not equals:
        refuse(f"--set {text}: not KEY=VALUE", "as in --set replicas=3 or --set operator.workers=8")
    try:
        value = next((document.value for document in read_yaml(written)), "")
    except YamlSyntaxError as error:
        refuse(f"--set {text}: not valid YAML: {error}")
    # A dot within a key is written as \. as Helm has it: nodeSelector.kubernetes\.io/arch=amd64
    *outer, last = (part.replace("\0", ".") for part in key.replace("\\.", "\0").split("."))
    for part in outer:
        inner = values.setdefault(part, {})
        if not isinstance(inner, dict):
            refuse(f"--set {text}: {part} is no mapping")
        values = inner
    values[last] = value


def _check_namespace(namespace: str) -> None:
    import re

    from shoal.kubernetes.install.values import NAME

    if len(namespace) > 63 or not re.fullmatch(NAME, namespace):
        refuse(f"--namespace {namespace}: no name of a namespace", "lower-case letters, digits and dashes")
