"""One of several processes that answer at the same ports: python -m shoal.serving.worker, started by `workers`.

It loads what it is told to, and answers requests for it by itself. What concerns the server as a whole, such as states,
readiness, a new configuration and metrics, it asks of the process that has started it. It ends with that process: its
standard input is a pipe from there, and closes.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from shoal.listening import ListenError
from shoal.serving import control
from shoal.serving.catalog import Catalog, Version
from shoal.serving.folders import VersionFolder
from shoal.serving.metrics import Metrics
from shoal.serving.model import Model
from shoal.serving.model_config import ModelConfig
from shoal.serving.running import say, told_by_signal
from shoal.serving.serve import Server, leave, loader
from shoal.serving.settings import ServerSettings
from shoal.serving.status import ServingError
from shoal.serving.versions import State


class WorkerCatalog(Catalog):
    """The models in this process. All that is decided is asked of `parent`."""

    def __init__(self, settings: ServerSettings, parent: Path, load: Callable[[Version], Model]) -> None:
        super().__init__(settings.loading, load)
        self._parent = parent
        self._held: dict[int, Version] = {}

    def load_version(self, key: int, name: str, number: int, path: Path) -> None:
        """Bring a version into memory; it answers nobody yet."""
        version = Version(name, number, VersionFolder(path, 0))
        version.model = self._load(version)
        self._held[key] = version

    def serve_version(self, key: int) -> None:
        """Answer by a version that was loaded."""
        with self._news:
            version = self._held[key]
            served = self._serve(ModelConfig(version.model_name, version.folder.path.parent))
            served.versions[version.number] = version
            self._enter(version, State.AVAILABLE)

    def unload_version(self, key: int) -> None:
        """Give a version up, and return when the last request in it has ended."""
        version = self._held.pop(key, None)
        if version is None:
            return
        with self._news:
            served = self._served.get(version.model_name)
            if served and served.versions.get(version.number) is version:
                del served.versions[version.number]
            self._enter(version, State.UNLOADING)
        self._close_when_unused(version)

    def follow(self, models: Sequence[ModelConfig], labels: dict[str, dict[str, int]]) -> None:
        """Take over which models there are, and the labels that are in force."""
        with self._news:
            for name in self._served.keys() - {model.name for model in models}:
                del self._served[name]
            for model in models:
                self._serve(model).config = model
            self._labels = labels

    def statuses(
        self, name: str, version: int | None = None, label: str = ""
    ) -> list[tuple[int, State, ServingError | None]]:
        found: list[tuple[int, State, ServingError | None]] = control.ask(
            self._parent, "statuses", name, version, label
        )
        return found

    def ready(self) -> bool:
        try:
            return bool(control.ask(self._parent, "ready"))
        except control.Gone:
            return False

    def configure(self, models: Sequence[ModelConfig], first: bool = False, any_label: bool = False) -> None:
        control.ask(self._parent, "configure", models, any_label)


class WorkerMetrics(Metrics):
    """Counts in files that all workers share; `parent` adds them up."""

    def __init__(self, parent: Path) -> None:
        super().__init__()
        self._parent = parent

    def page(self) -> bytes:
        page: bytes = control.ask(self._parent, "metrics")
        return page

    def value(self, path: str) -> int:
        found: int = control.ask(self._parent, "metric", path)
        return found


def main() -> None:
    settings, number, parent, here = pickle.load(sys.stdin.buffer)
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    told_to_end, _ = told_by_signal()
    threading.Thread(target=_end_with_parent, args=[told_to_end], daemon=True).start()
    metrics = WorkerMetrics(parent)
    catalog = WorkerCatalog(settings, parent, loader(settings, metrics))
    methods: control.Methods = {
        "load": catalog.load_version,
        "serve": catalog.serve_version,
        "unload": catalog.unload_version,
        "follow": catalog.follow,
    }
    control.answer(here, methods)
    try:
        control.ask(parent, "join", number)
        server = Server(settings, catalog, metrics, shared_port=True)
        server.start()
        control.ask(parent, "listening", number)
    except (ServingError, ListenError) as fault:
        say(f"error: worker {number}: {fault}")
        raise SystemExit(1) from None
    server.until(told_to_end)
    leave(catalog, settings)


def _end_with_parent(told_to_end: threading.Event) -> None:
    sys.stdin.buffer.read()
    told_to_end.set()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # a thread may still wait in a call of ours
