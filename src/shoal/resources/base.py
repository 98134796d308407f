"""What every resource model shares: camelCase on the wire, no field that nobody declared, times as RFC 3339."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema
from pydantic.alias_generators import to_camel

NonEmpty = Annotated[str, Field(min_length=1)]


class Model(BaseModel):
    """Base of all resource models. Field names are snake_case in Python and camelCase in manifests."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        use_enum_values=False,
        validate_default=False,
    )

    def dump(self) -> dict[str, Any]:
        """The manifest form: camelCase keys, JSON types, nothing that is as it is by default."""
        # Not `exclude_unset`: what is changed within a part that was left at its default counts as unset.
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)


class Metadata(Model):
    """The part of `ObjectMeta` that Shoal reads; the rest is kept as written."""

    model_config = ConfigDict(extra="allow")

    name: str
    namespace: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Resource(Model):
    """Base of what stands in a document of its own: wanted (`spec`) and observed (`status`)."""

    api_version: str
    kind: str
    metadata: Metadata = Field(description="Name, namespace, labels and annotations.")
    spec: Model
    status: Model

    def dump(self) -> dict[str, Any]:
        """The manifest form, always with `apiVersion` and `kind`; the status only where something has happened."""
        manifest = {"apiVersion": self.api_version, "kind": self.kind, **super().dump()}
        return {**manifest, "status": self.status.dump()} if "status" in manifest else manifest

    @property
    def name(self) -> str:
        return self.metadata.name


def parse_time(value: object) -> object:
    """Seconds since the epoch from an RFC 3339 string, which names its zone; numbers pass through."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value.isoformat()} names no time zone; end it with Z for UTC")
        return value.timestamp()
    return value


def format_time(seconds: float) -> str:
    """RFC 3339 in UTC with microseconds, as Kubernetes' MicroTime writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


Timestamp = Annotated[
    float,
    BeforeValidator(parse_time),
    PlainSerializer(format_time, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""Seconds since the epoch in Python, RFC 3339 in YAML and JSON."""
