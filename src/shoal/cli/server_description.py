"""What `shoal describe` shows of a model server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shoal.cli.description import conditions_table, events_table
from shoal.runs import Place, ServerDescription

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shoal.resources import ServerStatus


def describe_server(name: str, place: Place, description: ServerDescription) -> RenderableType:
    """The server in full, for people."""
    from rich.console import Group
    from rich.text import Text

    status = description.look.status
    facts = Text(no_wrap=True, overflow="ignore")  # an address must still be one piece when it is copied
    for label, value in _facts(name, place, description):
        facts.append(f"{label:10}", "bold").append(f"{value}\n")
    parts: list[RenderableType] = [facts]
    if status.conditions:
        parts += [conditions_table(status.conditions)]
    if description.events:
        parts += [Text(), events_table(description.events)]
    return Group(*parts)


def _facts(name: str, place: Place, description: ServerDescription) -> list[tuple[str, str]]:
    status = description.look.status
    facts = [("Name", name), ("Phase", description.look.phase)]
    if status.message:
        facts.append(("Message", status.message))
    if server := description.server:
        models = ", ".join(f"{model.name} ({model.base_path})" for model in server.spec.models)
        facts += [("Server", server.spec.serves_by.value), ("Models", models)]
    else:
        facts.append(("Manifest", description.fault))
    told = f"{status.replicas} there, {status.ready_replicas} ready, {status.updated_replicas} as the spec says"
    if status.silent_replicas:
        told += f"; {status.silent_replicas} silent when asked for their models"
    facts.append(("Replicas", told))
    facts += [("Serves", said) for said in _versions(status)]
    facts += [(label, at) for label, at in (("REST", status.url), ("gRPC", status.grpc)) if at]
    facts.append((place.label, place.value))
    if place.cluster:
        facts.append(("Cluster", place.cluster))
    return facts


def _versions(status: ServerStatus) -> Iterator[str]:
    """A line for each version: `digits 2 AVAILABLE (3 replicas)`."""
    for model in status.models:
        if not model.versions:
            yield f"{model.name}: no version yet"
        for version in model.versions:
            count = f"{version.replicas} {'replica' if version.replicas == 1 else 'replicas'}"
            why = f": {version.message}" if version.message else ""
            yield f"{model.name} {version.version} {version.state} ({count}){why}"
