"""Several processes at the same ports (`shoal serve --workers`), and the one that decides for all of them.

Python runs one thread at a time, so a second processor takes a second process. The process here answers no client. It
looks at the disk and decides which versions are served, with the catalog that a single process has; to load a version
means, here, that every worker loads it. Workers pass on to it what concerns the server as a whole. One that dies is
started again, and opens its ports when it has all that the others have
(docs/decisions/0010-one-process-decides-for-all-workers.md).
"""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from shoal.serving import control, metrics
from shoal.serving.catalog import Catalog, Version, labels_of
from shoal.serving.folders import check_unchanged
from shoal.serving.model_config import ModelConfig
from shoal.serving.running import announce, follow_config, say, told_by_signal, told_change
from shoal.serving.settings import ServerSettings
from shoal.serving.status import ServingError

LOOK_SECONDS = 0.2

LATER_SECONDS = 5.0
"""How long after the grace a worker is killed that has not ended."""

LONGEST_PAUSE_SECONDS = 30.0
"""Between the starts of a worker that dies before it serves."""


@dataclass(eq=False, slots=True)
class _Worker:
    number: int
    path: Path
    process: subprocess.Popen[bytes]
    listening: bool = False


@dataclass(slots=True)
class _Everywhere:
    """A version that each worker holds; takes the place of the model in the catalog here."""

    workers: Workers
    key: int

    def close(self) -> None:
        self.workers.unload(self.key)


class Workers:
    """The workers of one server. Files of theirs lie in `folder`, which nobody else may read."""

    def __init__(self, settings: ServerSettings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._counts = folder / "metrics"
        self._counts.mkdir()
        self._parent = folder / "parent"
        self.registry = CollectorRegistry()
        MultiProcessCollector(self.registry, str(self._counts))  # type: ignore[no-untyped-call]
        self._states = metrics.VersionStates(self.registry)
        self.catalog = Catalog(settings.loading, self.load, self._changed)
        self._keys = itertools.count()
        self._news = threading.Condition()
        self._started: dict[int, _Worker] = {}
        """By number, the processes that run now."""

        self._members: list[_Worker] = []
        """Those that have all of `_held`, and are told of each change."""

        self._held: dict[int, tuple[str, int, Path]] = {}
        self._models: Sequence[ModelConfig] = settings.models
        self._labels = labels_of(settings.models)
        self._configuring = threading.Lock()
        self._ending = threading.Event()
        self.failed = False

    def start(self, told_to_end: threading.Event) -> None:
        """Start the workers, and return when all of them listen or the end has come: one that cannot be started brings
        it, and is `failed`."""
        methods: control.Methods = {
            "join": self.join,
            "listening": self._listens,
            "statuses": self.catalog.statuses,
            "ready": lambda: not self._ending.is_set() and self.catalog.ready(),
            "configure": self.configure,
            "metrics": lambda: metrics.page(self.registry),
            "metric": lambda path: metrics.value(self.registry, path),
        }
        control.answer(self._parent, methods)
        for number in range(1, self._settings.workers + 1):
            threading.Thread(
                target=self._keep, args=[number, told_to_end], name=f"worker-{number}", daemon=True
            ).start()
        with self._news:
            while not told_to_end.is_set() and not self._all_listen():
                self._news.wait(LOOK_SECONDS)

    def configure(self, models: Sequence[ModelConfig], any_label: bool = False) -> None:
        """Serve these models and no others; returns when every worker does. Raises ServingError."""
        with self._configuring:
            labels = self._labels
            try:
                self.catalog.configure(models, any_label=any_label)
                labels = labels_of(models)
            finally:  # the models are those, even if their labels were refused
                with self._news:
                    self._models, self._labels = models, labels
                    members = list(self._members)
                _tell(members, "follow", models, labels)

    def load(self, version: Version) -> Any:
        """Have every worker load a version and answer by it. Raises ServingError if one of them cannot."""
        key = next(self._keys)
        what = version.model_name, version.number, version.folder.path
        have: set[_Worker] = set()
        try:
            while missing := self._missing(key, what, have):
                _ask(missing, "load", key, *what)
                have |= missing
                check_unchanged(version.folder)  # before any of them answers by it
        except ServingError:
            _tell(have | self._now(), "unload", key)
            raise
        _tell(self._now(), "serve", key)
        return _Everywhere(self, key)

    def unload(self, key: int) -> None:
        """Have every worker give a version up; returns when the last request in it has ended."""
        with self._news:
            del self._held[key]
        _tell(self._now(), "unload", key)

    def join(self, number: int) -> None:
        """Give a new worker all that the others have. From then on it is told what they are told."""
        worker = self._started[number]
        has: dict[int, tuple[str, int, Path]] = {}
        while True:
            with self._news:
                new = {key: what for key, what in self._held.items() if key not in has}
                old = has.keys() - self._held.keys()
                if not new and not old:
                    control.ask(worker.path, "follow", self._models, self._labels)
                    self._members.append(worker)
                    self._news.notify_all()
                    return
            for key, what in new.items():
                control.ask(worker.path, "load", key, *what)
                control.ask(worker.path, "serve", key)
            for key in old:
                control.ask(worker.path, "unload", key)
            has = {**{key: what for key, what in has.items() if key not in old}, **new}

    def end(self) -> bool:
        """Let all workers end in their grace; answers whether they did."""
        self._ending.set()
        with self._news:
            self._news.notify_all()
            workers = list(self._started.values())
        for worker in workers:
            worker.process.send_signal(signal.SIGTERM)
        good = True
        for worker in workers:
            try:
                good &= worker.process.wait(self._settings.grace + LATER_SECONDS) == 0 or not worker.listening
            except subprocess.TimeoutExpired:
                worker.process.kill()
                good = False
        return good

    def _changed(self, version: Version) -> None:
        self._states(version)
        told_change(version)

    def _missing(self, key: int, what: tuple[str, int, Path], have: set[_Worker]) -> set[_Worker]:
        """The members that have not loaded a version yet. Once none is left, it belongs to what is held."""
        with self._news:
            self._news.wait_for(lambda: self._members)
            missing = set(self._members) - have
            if not missing:
                self._held[key] = what
            return missing

    def _now(self) -> set[_Worker]:
        with self._news:
            return set(self._members)

    def _listens(self, number: int) -> None:
        with self._news:
            self._started[number].listening = True
            self._news.notify_all()

    def _all_listen(self) -> bool:
        listening = [worker for worker in self._started.values() if worker.listening]
        return len(listening) == self._settings.workers

    def _keep(self, number: int, told_to_end: threading.Event) -> None:
        """Start a worker, and start it again whenever it dies. The first must live, or the server ends."""
        pause = 0.0
        for start in itertools.count():
            if self._ending.wait(pause) or (worker := self._spawn(number, start)) is None:
                return
            code = worker.process.wait()
            with self._news:
                self._members = [member for member in self._members if member is not worker]
                mark_process_dead(worker.process.pid, str(self._counts))  # type: ignore[no-untyped-call]
            if self._ending.is_set():
                return
            if not start and not worker.listening:
                say(f"error: worker {number} has ended with {code} before it could serve")
                self.failed = True
                told_to_end.set()
                return
            pause = 0.0 if worker.listening else min(max(1.0, 2 * pause), LONGEST_PAUSE_SECONDS)
            say(f"worker {number} has ended with {code}; started again" + (f" in {pause:g} s" if pause else ""))

    def _spawn(self, number: int, start: int) -> _Worker | None:
        """Start a worker, unless the server ends."""
        path = self._folder / f"{number}-{start}"
        share = str(max(1, len(os.sched_getaffinity(0)) // self._settings.workers))
        env = {
            "TF_NUM_INTRAOP_THREADS": share,
            "TF_NUM_INTEROP_THREADS": share,
            **os.environ,
            "PROMETHEUS_MULTIPROC_DIR": str(self._counts),
        }
        with self._news:
            if self._ending.is_set():
                return None
            # Without -P a file in the folder where the server was started could stand for a module.
            command = [sys.executable, "-P", "-m", "shoal.serving.worker"]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, env=env, process_group=0)
            worker = self._started[number] = _Worker(number, path, process)
        with suppress(BrokenPipeError):
            assert process.stdin is not None
            process.stdin.write(pickle.dumps((self._settings, number, self._parent, path)))
            process.stdin.flush()  # and stays open: the worker ends when it closes
        return worker


def serve(settings: ServerSettings) -> int:
    """Serve in several processes until SIGTERM or Ctrl-C; answers the number of the signal. Leaves with 1 where a
    worker could not be started, or was left with requests unanswered."""
    with tempfile.TemporaryDirectory(prefix="shoal-serve-") as folder:
        workers = Workers(settings, Path(folder))
        told_to_end, received = told_by_signal()
        workers.catalog.configure(settings.models, first=True)
        workers.start(told_to_end)
        if not told_to_end.is_set():
            workers.catalog.start()
            announce(settings)
            follow_config(settings, workers.configure, told_to_end)
            told_to_end.wait()
        workers.catalog.stop()
        if not workers.end() or workers.failed:
            raise SystemExit(1)
    return received[0]


def _ask(workers: Collection[_Worker], method: str, *args: Any) -> None:
    """Call all of them at once, and wait for all. Raises the ServingError of one of them."""
    with ThreadPoolExecutor(max(1, len(workers))) as pool:
        calls = [pool.submit(control.ask, worker.path, method, *args) for worker in workers]
    for call in calls:
        call.result()


def _tell(workers: Collection[_Worker], method: str, *args: Any) -> None:
    """The same for what cannot fail: one that has died meanwhile is not missed."""
    with suppress(control.Gone):
        _ask(workers, method, *args)
