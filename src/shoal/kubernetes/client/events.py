"""What Kubernetes tells of a job or a model server in events. They are read as core/v1, where a field selector finds an
object's."""

from __future__ import annotations

from datetime import datetime

from shoal.kubernetes.operator.api import APIError
from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.kinds import Kind
from shoal.kubernetes.operator.views import Job, Metadata, Server, View
from shoal.runs import Event

MOST = 20
"""How many of the latest events are shown."""


class StoredEvent(View):
    metadata: Metadata
    type: str = ""
    reason: str = ""
    message: str = ""
    last_timestamp: datetime | None = None
    event_time: datetime | None = None


EVENTS = Kind("v1", "Event", "events", StoredEvent)


async def events_of(client: Client, object: Job | Server, now: float) -> list[Event]:
    """The latest events about it, the newest last. Who may not read them is told so in an event's place."""
    about = object.metadata
    fields = f"involvedObject.kind={object.kind},involvedObject.name={about.name},involvedObject.uid={about.uid}"
    try:
        found, _ = await client.list(EVENTS, about.namespace, fields=fields)
    except APIError as fault:
        if fault.code != 403:
            raise
        return [Event(now, "Warning", "Forbidden", str(fault))]
    return sorted(_event(each) for each in found)[-MOST:]


def _event(stored: StoredEvent) -> Event:
    seen = stored.last_timestamp or stored.event_time or stored.metadata.creation_timestamp
    return Event(seen.timestamp() if seen else 0.0, stored.type, stored.reason, stored.message)
