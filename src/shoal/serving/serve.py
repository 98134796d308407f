"""Run a model server until it is told to end.

The ports are open before any model is loaded, so that probes are answered and clients wait for a model rather than for
a connection. SIGTERM takes no new requests, lets those under way end within the grace, and leaves.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from shoal.serving import batched_model
from shoal.serving.batching import Scheduler
from shoal.serving.catalog import Catalog, Version
from shoal.serving.grpc_service import GrpcServer
from shoal.serving.inference import Inference
from shoal.serving.metrics import BatchingMetrics, Metrics
from shoal.serving.model import Model, explain
from shoal.serving.request_log import RequestLog
from shoal.serving.rest_api import RestApi, RestServer
from shoal.serving.running import announce, follow_config, say, told_by_signal, told_change
from shoal.serving.settings import ServerSettings
from shoal.serving.warmup import warm_up

READY_LOOK_SECONDS = 0.2


class Server:
    """The entrances to the models of `catalog`. Raises ListenError where a port is taken."""

    def __init__(self, settings: ServerSettings, catalog: Catalog, metrics: Metrics, shared_port: bool = False) -> None:
        self._settings = settings
        self._catalog = catalog
        self._draining = False
        log = RequestLog(settings.request_log) if settings.request_log else None
        inference = Inference(catalog, metrics, log)
        self.rest = self.grpc = None
        if settings.rest_port is not None:
            api = RestApi(inference, settings.rest, self.ready)
            context = settings.tls.context() if settings.tls and settings.rest_tls else None
            self.rest = RestServer(api, settings.host, settings.rest_port, settings.grace, context, shared_port)
        if addresses := settings.grpc_addresses():
            self.grpc = GrpcServer(
                inference,
                addresses,
                settings.grpc_threads,
                settings.as_content,
                settings.any_label,
                settings.tls,
                settings.grpc_arguments,
                shared_port,
            )

    def ready(self) -> bool:
        """Whether requests can come."""
        return not self._draining and self._catalog.ready()

    def start(self) -> None:
        for server in (self.rest, self.grpc):
            if server is not None:
                server.start()

    def until(self, told_to_end: threading.Event) -> None:
        """Serve until `told_to_end`, and then until the requests under way have ended or the grace has."""
        while not told_to_end.wait(READY_LOOK_SECONDS):
            if self.grpc is not None:
                self.grpc.ready(self.ready())
        self._draining = True
        self._catalog.stop()
        drained = None
        if self.grpc is not None:
            self.grpc.ready(False)
            drained = self.grpc.drain(self._settings.grace)
        if self.rest is not None:
            self.rest.stop()
        if drained is not None:
            drained.wait()


def serve(settings: ServerSettings) -> int:
    """Serve in this process until SIGTERM or Ctrl-C; answers the number of the signal. Where requests outlast the
    grace, the process leaves from here, with 1. Raises ListenError where a port is taken."""
    metrics = Metrics()

    def changed(version: Version) -> None:
        metrics.state(version)
        told_change(version)

    catalog = Catalog(settings.loading, loader(settings, metrics), changed)
    server = Server(settings, catalog, metrics)
    told_to_end, received = told_by_signal()
    catalog.configure(settings.models, first=True)
    server.start()
    catalog.start()
    announce(settings)
    follow_config(settings, catalog.configure, told_to_end)
    server.until(told_to_end)
    leave(catalog, settings)
    return received[0]


def loader(settings: ServerSettings, metrics: Metrics) -> Callable[[Version], Model]:
    """What loads a version in this process, and makes it fit to answer. It raises ServingError."""
    load: Callable[[Path], Model] = Model
    if batching := settings.batching:
        scheduler = Scheduler(batching.threads, batching.pool_name, BatchingMetrics(metrics, batching.pool_name))
        load = batched_model.loader(batching, settings.per_model_batching, scheduler, say)

    def load_version(version: Version) -> Model:
        try:
            return _prepared(load(version.folder.path), version.folder.path, settings)
        except Exception as fault:
            raise explain(fault) from fault

    return load_version


def _prepared(model: Model, folder: Path, settings: ServerSettings) -> Model:
    """The model when it is fit to answer. Raises ServingError where it cannot be warmed up."""
    try:
        if settings.check_methods:
            model.check_methods()
        if settings.warm_up:
            warm_up(model, folder, settings.warm_up)
    except BaseException:
        model.close()
        raise
    return model


def leave(catalog: Catalog, settings: ServerSettings) -> None:
    """End the process here, with 1, if there are requests that have outlasted the grace."""
    if unanswered := catalog.requests:
        say(f"left with {unanswered} requests unanswered after {settings.grace:g} s")
        os._exit(1)  # their threads would be waited for, however long they take
