"""Run a model server until it is told to end.

The ports are open before any model is loaded, so that probes are answered and clients wait for a model rather than for
a connection. SIGTERM takes no new requests, lets those under way end within the grace, and leaves.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from shoal.serving import batched_model, model_config
from shoal.serving.batching import Scheduler
from shoal.serving.batching_parameters import BatchingParameters
from shoal.serving.catalog import Catalog, LoadSettings, Version
from shoal.serving.grpc_service import GrpcServer
from shoal.serving.inference import Inference
from shoal.serving.metrics import BatchingMetrics, Metrics
from shoal.serving.model import Model
from shoal.serving.model_config import ModelConfig
from shoal.serving.rest_api import RestApi, RestServer, RestSettings
from shoal.serving.status import ServingError, invalid
from shoal.serving.versions import State

READY_LOOK_SECONDS = 0.2


MOST_THREADS = 128
"""Of each entrance by default, where calls are joined."""


def threads(batching: BatchingParameters | None = None) -> int:
    """How many requests are taken at a time: as in TensorFlow Serving four a processor, and enough to fill two batches,
    within reason, since each call that waits for others waits in a thread."""
    least = 4 * len(os.sched_getaffinity(0))
    return least if batching is None else max(least, min(MOST_THREADS, 2 * batching.max_batch_size))


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How to serve. `models` come from the command line or from `config_file`, which is read again every
    `config_poll_seconds` (0: never). A port 0 is any free one; None: not at all. Where `batching` is given, calls are
    joined by those parameters or, `per_model_batching`, by those in each version's folder. `grace` is how many seconds
    requests under way get at the end."""

    models: list[ModelConfig]
    host: str = "127.0.0.1"
    grpc_port: int | None = 8500
    rest_port: int | None = 8501
    loading: LoadSettings = field(default_factory=LoadSettings)
    rest: RestSettings = field(default_factory=lambda: RestSettings(threads()))
    grpc_threads: int = field(default_factory=threads)
    as_content: bool = False
    any_label: bool = False
    config_file: Path | None = None
    config_poll_seconds: float = 0.0
    batching: BatchingParameters | None = None
    per_model_batching: bool = False
    grace: float = 10.0


class Server:
    """Makes the servers listen. Raises ListenError where a port is taken."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._draining = False
        metrics = Metrics()

        def changed(version: Version) -> None:
            metrics.state(version)
            if version.state in (State.AVAILABLE, State.UNLOADING):
                _say(f"{version.model_name} version {version.number}: {version.state.name.lower()}")

        load: Callable[[Path], Model] = Model
        if batching := settings.batching:
            scheduler = Scheduler(batching.threads, batching.pool_name, BatchingMetrics(metrics, batching.pool_name))
            load = batched_model.loader(batching, settings.per_model_batching, scheduler, _say)
        self.catalog = Catalog(settings.loading, changed, load)
        inference = Inference(self.catalog, metrics)
        self.rest = self.grpc = None
        if settings.rest_port is not None:
            api = RestApi(inference, settings.rest, self.ready)
            self.rest = RestServer(api, settings.host, settings.rest_port, settings.grace)
        if settings.grpc_port is not None:
            host = f"[{settings.host}]" if ":" in settings.host else settings.host
            self.grpc = GrpcServer(
                inference,
                f"{host}:{settings.grpc_port}",
                settings.grpc_threads,
                settings.as_content,
                settings.any_label,
            )

    def ready(self) -> bool:
        """Whether requests can come."""
        return not self._draining and self.catalog.ready()

    def run(self, told_to_end: threading.Event) -> None:
        """Serve until `told_to_end`, and then until the requests under way have ended or the grace has."""
        self.catalog.configure(self._settings.models, first=True)
        for server in (self.rest, self.grpc):
            if server is not None:
                server.start()
        self.catalog.start()
        self._announce()
        if self._settings.config_file and self._settings.config_poll_seconds:
            threading.Thread(target=self._reread, args=[told_to_end], daemon=True).start()
        while not told_to_end.wait(READY_LOOK_SECONDS):
            if self.grpc is not None:
                self.grpc.ready(self.ready())
        self._draining = True
        self.catalog.stop()
        drained = None
        if self.grpc is not None:
            self.grpc.ready(False)
            drained = self.grpc.drain(self._settings.grace)
        if self.rest is not None:
            self.rest.stop()
        if drained is not None:
            drained.wait()

    def _announce(self) -> None:
        host = self._settings.host
        entrances = [f"gRPC at {host}:{self.grpc.port}"] if self.grpc else []
        entrances += [f"REST at http://{host}:{self.rest.port}/v1/models"] if self.rest else []
        names = ", ".join(model.name for model in self._settings.models) or "no model yet"
        _say(f"serving {names}: {' and '.join(entrances)} (Ctrl-C ends it)")

    def _reread(self, told_to_end: threading.Event) -> None:
        """Follow the config file. One that cannot be used is complained of once, and what is served stays."""
        assert self._settings.config_file is not None
        complaint = ""
        while not told_to_end.wait(self._settings.config_poll_seconds):
            try:
                models = model_config.read(self._settings.config_file)
                if models is None:
                    raise invalid(f"{self._settings.config_file}: has no model_config_list")
                self.catalog.configure(models, any_label=self._settings.any_label)
                complaint = ""
            except (ServingError, OSError) as fault:
                if str(fault) != complaint:
                    _say(f"error: {fault}")
                complaint = str(fault)


def serve(settings: ServerSettings) -> int:
    """Serve until SIGTERM or Ctrl-C; answers the number of the signal. Where requests outlast the grace, the process
    leaves from here, with 1. Raises ListenError where a port is taken."""
    told_to_end = threading.Event()
    received: list[int] = []

    def end(number: int, frame: object) -> None:
        received.append(number)
        told_to_end.set()

    server = Server(settings)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    server.run(told_to_end)
    if unanswered := server.catalog.requests:
        _say(f"left with {unanswered} requests unanswered after {settings.grace:g} s")
        os._exit(1)  # their threads would be waited for, however long they take
    return received[0]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
