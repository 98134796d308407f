"""What a server does besides serving, in one process or in several: what it says, signals, the file that it follows."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable

from shoal.serving import model_config
from shoal.serving.catalog import Version
from shoal.serving.settings import ServerSettings
from shoal.serving.status import ServingError, invalid
from shoal.serving.versions import State


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def told_change(version: Version) -> None:
    """Say that a version has come or goes."""
    if version.state in (State.AVAILABLE, State.UNLOADING):
        say(f"{version.model_name} version {version.number}: {version.state.name.lower()}")


def announce(settings: ServerSettings) -> None:
    """Say what is served where."""
    host = settings.host
    entrances = [f"gRPC at {host}:{settings.grpc_port}"] if settings.grpc_port else []
    entrances += [f"gRPC at unix:{settings.grpc_socket}"] if settings.grpc_socket else []
    scheme = "https" if settings.rest_tls else "http"
    entrances += [f"REST at {scheme}://{host}:{settings.rest_port}/v1/models"] if settings.rest_port else []
    names = ", ".join(model.name for model in settings.models) or "no model yet"
    many = f" in {settings.workers} processes" if settings.workers > 1 else ""
    say(f"serving {names}{many}: {' and '.join(entrances)} (Ctrl-C ends it)")


def told_by_signal() -> tuple[threading.Event, list[int]]:
    """An event that SIGTERM and Ctrl-C set, and the numbers of those that came."""
    told_to_end = threading.Event()
    received: list[int] = []

    def end(number: int, frame: object) -> None:
        received.append(number)
        told_to_end.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    return told_to_end, received


def follow_config(settings: ServerSettings, configure: Callable[..., None], told_to_end: threading.Event) -> None:
    """Follow the config file, if there is one, in a thread. A file that cannot be used is complained of once, and what
    is served stays."""
    if settings.config_file and settings.config_poll_seconds:
        threading.Thread(target=_reread, args=[settings, configure, told_to_end], daemon=True).start()


def _reread(settings: ServerSettings, configure: Callable[..., None], told_to_end: threading.Event) -> None:
    assert settings.config_file is not None
    complaint = ""
    while not told_to_end.wait(settings.config_poll_seconds):
        try:
            models = model_config.read(settings.config_file)
            if models is None:
                raise invalid(f"{settings.config_file}: has no model_config_list")
            configure(models, any_label=settings.any_label)
            complaint = ""
        except (ServingError, OSError) as fault:
            if str(fault) != complaint:
                say(f"error: {fault}")
            complaint = str(fault)
