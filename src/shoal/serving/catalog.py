"""The models that are served: found on disk, loaded, handed to requests, given up.

One thread looks at the disk and decides (`versions`); each load and unload runs in a thread of its own, so a model that
cannot be read, or that takes minutes, holds nobody up. A request uses the version that it began with: a version that is
being given up answers nobody new, and is closed when the last request in it has ended.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shoal.serving.folders import Found, VersionFolder, check_unchanged, find_versions
from shoal.serving.model_config import ModelConfig
from shoal.serving.status import Code, ServingError
from shoal.serving.versions import Settling, State, next_step

if TYPE_CHECKING:
    from shoal.serving.model import Model

LOOK_AGAIN_SECONDS = 0.5
"""How soon the disk is looked at again while something is being copied there, or waits for its next try."""


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """How models come into memory. `poll_seconds` 0: the disk is looked at until all that is there has been loaded, and
    then no more. `retries` counts further tries after the first failure."""

    poll_seconds: float = 1.0
    retries: int = 5
    retry_seconds: float = 60.0
    threads: int = 4


@dataclass(slots=True)
class Version:
    """One version of a model. `requests` are those in it now; `error` is why it was not loaded."""

    model_name: str
    number: int
    folder: VersionFolder
    state: State = State.START
    error: ServingError | None = None
    model: Model | None = None
    requests: int = 0
    failures: int = 0
    retry_at: float = 0.0


@dataclass(slots=True)
class _Served:
    config: ModelConfig
    versions: dict[int, Version] = field(default_factory=dict)
    settling: Settling = field(default_factory=Settling)
    looked: bool = False
    """Whether all that lay there when it was configured has been seen, and nothing of it was still being written."""

    problem: str = ""
    """Why the disk could not be read at the last look."""


class Catalog:
    """`load` brings a version into memory, or raises ServingError. `changed` is told of each version that has entered a
    state, from any thread. `requests` counts those that are in some model now."""

    def __init__(
        self,
        settings: LoadSettings,
        load: Callable[[Version], Model],
        changed: Callable[[Version], None] = lambda version: None,
    ) -> None:
        self._settings = settings
        self._changed = changed
        self._load = load
        self.requests = 0
        self._served: dict[str, _Served] = {}
        self._labels: dict[str, dict[str, int]] = {}
        self._news = threading.Condition(threading.RLock())
        self._configuring = threading.Lock()
        self._loading = threading.Semaphore(settings.threads)
        self._wake = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._look_on, name="catalog", daemon=True)

    def start(self) -> None:
        """Look at the disk from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Load nothing more, and wait for the look that is under way. What is loaded answers until the process ends."""
        with self._news:
            self._ended = True
            self._news.notify_all()  # whoever waits for a configuration to be loaded
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    @contextmanager
    def use(self, name: str, version: int | None = None, label: str = "") -> Iterator[Version]:
        """The version that a request names, or else the newest that is loaded; it stays loaded until the block is left.
        Raises ServingError."""
        found = self._begin(name, version, label)
        try:
            yield found
        finally:
            with self._news:
                found.requests -= 1
                self.requests -= 1
                if found.state is State.UNLOADING:
                    self._news.notify_all()

    def statuses(
        self, name: str, version: int | None = None, label: str = ""
    ) -> list[tuple[int, State, ServingError | None]]:
        """The versions of a model, the newest first, each with its state and why it was not loaded. Raises
        ServingError where there is none."""
        with self._news:
            if label:
                version = self._labelled(name, label)
            versions = self._served[name].versions if name in self._served else {}
            if version is not None:
                if version not in versions:
                    raise ServingError(Code.NOT_FOUND, f"Could not find version {version} of model {name}")
                return [(version, versions[version].state, versions[version].error)]
            if not versions:
                raise ServingError(Code.NOT_FOUND, f"Could not find any versions of model {name}")
            return [(number, found.state, found.error) for number, found in sorted(versions.items(), reverse=True)]

    def has(self, name: str) -> bool:
        """Whether there is a model of that name, in whatever state."""
        with self._news:
            return name in self._served

    def labels(self) -> dict[str, dict[str, int]]:
        """The models by name, in order, each with the versions that its labels name."""
        with self._news:
            return {name: dict(self._labels.get(name, {})) for name in sorted(self._served)}

    def ready(self) -> bool:
        """Whether requests can come: all that was found was tried at least once, and something is served. A model that
        fails does not make the server unready while another one answers."""
        with self._news:
            tried = all(
                served.looked and all(map(_tried, served.versions.values())) for served in self._served.values()
            )
            available = any(
                found.state is State.AVAILABLE for served in self._served.values() for found in served.versions.values()
            )
            return tried and (available or not self._served)

    def configure(self, models: Sequence[ModelConfig], first: bool = False, any_label: bool = False) -> None:
        """Serve these models and no others. Returns when those that are new answer or have failed.

        Labels may only be given to versions that answer, since a label that moves too early would cost its clients
        requests; `any_label` lets new labels be given before. Raises ServingError where a label is refused (the old
        labels then stay) or where a model could not be loaded. The `first` time nothing is waited for, nor refused.
        Configurations that come at once are taken one after the other.
        """
        with self._configuring, self._news:
            paths = {model.name: model.base_path for model in models}
            for name in [n for n, served in self._served.items() if paths.get(n) != served.config.base_path]:
                self._give_up(name)
            new = paths.keys() - self._served.keys()
            for model in models:
                if model.collects and model.name in new:
                    _log(f"{model.name}: logging_config has no effect: no requests are collected (see --request-log)")
                self._serve(model).config = model
            self._wake.set()
            if not first:
                self._news.wait_for(lambda: self._ended or all(self._decided(name) for name in new))
                failed = [name for name in new if not self._newest(name)]
                if failed:
                    raise ServingError(
                        Code.UNKNOWN, f"model(s) did not become available: {{{', '.join(sorted(failed))}}}"
                    )
            labels = labels_of(models)
            for name, versions in labels.items():
                for label, number in versions.items():
                    self._check_label(name, label, number, first, any_label)
            self._labels = labels

    def _serve(self, model: ModelConfig) -> _Served:
        return self._served.setdefault(model.name, _Served(model))

    def _begin(self, name: str, version: int | None, label: str) -> Version:
        if not name:
            raise ServingError(Code.INVALID_ARGUMENT, "ModelSpec has no name specified.")
        with self._news:
            if label:
                version = self._labelled(name, label)
            found = self._newest(name) if version is None else self._available(name).get(version)
            if found is None:
                wanted = f"Latest({name})" if version is None else f"Specific({name}, {version})"
                raise ServingError(Code.NOT_FOUND, f"Servable not found for request: {wanted}")
            found.requests += 1
            self.requests += 1
            return found

    def _labelled(self, name: str, label: str) -> int:
        try:
            return self._labels[name][label]
        except KeyError:
            raise ServingError(Code.INVALID_ARGUMENT, f"Unrecognized servable version label: {label}") from None

    def _available(self, name: str) -> dict[int, Version]:
        if name not in self._served:
            return {}
        return {n: found for n, found in self._served[name].versions.items() if found.state is State.AVAILABLE}

    def _newest(self, name: str) -> Version | None:
        available = self._available(name)
        return available[max(available)] if available else None

    def _decided(self, name: str) -> bool:
        """Whether a model answers, or is known not to."""
        served = self._served.get(name)
        if served is None or self._available(name):
            return True
        return served.looked and all(map(_tried, served.versions.values()))

    def _check_label(self, name: str, label: str, number: int, first: bool, any_label: bool) -> None:
        moved = self._labels.get(name, {}).get(label, number) != number
        if first or number in self._available(name) or (any_label and not moved):
            return
        raise ServingError(
            Code.FAILED_PRECONDITION,
            f"Request to assign label to version {number} of model {name}, which is not currently available for "
            "inference",
        )

    def _look_on(self) -> None:
        while not self._ended:
            self._wake.clear()
            restless = self._look()
            if restless:
                self._wake.wait(min(LOOK_AGAIN_SECONDS, self._settings.poll_seconds or LOOK_AGAIN_SECONDS))
            else:
                self._wake.wait(self._settings.poll_seconds or None)

    def _look(self) -> bool:
        """One look at the disk, and what follows from it. Answers whether to look again soon."""
        with self._news:
            all_served = list(self._served.values())
        restless = False
        for served in all_served:
            config = served.config
            there: Found | None = None
            problem = ""
            try:
                there = find_versions(config.base_path, served.settling)
                if not there.versions and not there.unsettled:
                    problem = "no version in it yet: a folder named by a number, with a saved_model.pb"
            except OSError as fault:
                problem = str(fault.strerror)
            if problem and problem != served.problem:
                _log(f"{config.name}: {config.base_path}: {problem}")
            served.problem = problem
            with self._news:
                if self._served.get(config.name) is not served:
                    continue  # taken out meanwhile
                if there is not None:  # else what is loaded stays: a network drive may be away for a moment
                    self._follow(served, there)
                unsettled = there is not None and there.unsettled
                served.looked |= not unsettled
                restless |= unsettled
                self._news.notify_all()
                restless |= not served.versions or any(not _at_rest(found) for found in served.versions.values())
        return restless

    def _follow(self, served: _Served, there: Found) -> None:
        versions = served.versions
        wanted = served.config.policy.wanted(there.versions)
        if not wanted and there.unsettled:
            return  # the one that is wanted may still be being copied, and what answers now goes when it answers
        for number in wanted:
            found = versions.get(number)
            if found is None or _starts_anew(found, there.versions[number]):
                versions[number] = Version(served.config.name, number, there.versions[number])
        states = {number: _state(found) for number, found in versions.items()}
        step = next_step(wanted, states)
        for number in step.load:
            versions[number].retry_at = 0.0
            self._enter(versions[number], State.LOADING)
            threading.Thread(target=self._load_version, args=[versions[number]], daemon=True).start()
        for number in step.unload:
            self._unload(versions[number])
        for number in versions.keys() - wanted:
            if versions[number].retry_at:
                versions[number].retry_at = 0.0
                self._enter(versions[number], State.END)

    def _load_version(self, version: Version) -> None:
        with self._loading:
            try:
                model = self._load(version)
                try:
                    check_unchanged(version.folder)
                except ServingError:
                    model.close()
                    raise
            except ServingError as error:
                self._failed(version, error)
                return
        with self._news:
            version.model, version.error = model, None
            self._enter(version, State.AVAILABLE)
            served = self._served.get(version.model_name)
            if served is None or served.versions.get(version.number) is not version:
                self._unload(version)  # its model was taken out of the configuration while it was loading
        self._wake.set()

    def _failed(self, version: Version, error: ServingError) -> None:
        with self._news:
            version.error = error
            version.failures += 1
            again = version.failures <= self._settings.retries
            version.retry_at = time.monotonic() + self._settings.retry_seconds if again else 0.0
            what = f"tried again in {self._settings.retry_seconds:g} s" if again else "given up"
            _log(f"{version.model_name} version {version.number}: not loaded, {what}: {error}")
            self._enter(version, State.LOADING if again else State.END)
        self._wake.set()

    def _give_up(self, name: str) -> None:
        """Take a model out: its versions are unloaded, and its name is free at once."""
        for version in self._served.pop(name).versions.values():
            if version.state is State.AVAILABLE:
                self._unload(version)

    def _unload(self, version: Version) -> None:
        self._enter(version, State.UNLOADING)
        threading.Thread(target=self._close_when_unused, args=[version], daemon=True).start()

    def _close_when_unused(self, version: Version) -> None:
        with self._news:
            self._news.wait_for(lambda: version.requests == 0)
            model, version.model = version.model, None
        if model is not None:
            model.close()
        del model
        gc.collect()  # a graph refers to itself; its memory would be kept until the next collection
        with self._news:
            self._enter(version, State.END)
        self._wake.set()

    def _enter(self, version: Version, state: State) -> None:
        version.state = state
        self._changed(version)
        self._news.notify_all()


def labels_of(models: Sequence[ModelConfig]) -> dict[str, dict[str, int]]:
    return {model.name: dict(model.labels) for model in models if model.labels}


def _state(version: Version) -> State:
    """The state that the next step is decided by: a version whose next try is due stands at its start again."""
    due = 0.0 < version.retry_at <= time.monotonic()
    return State.START if due else version.state


def _starts_anew(version: Version, there: VersionFolder) -> bool:
    """Whether a version that did not get loaded, or was given up, is wanted again, or mended."""
    if version.error is None:
        return version.state is State.END
    return version.folder != there and (version.state is State.END or version.retry_at > 0.0)


def _tried(version: Version) -> bool:
    return version.state not in (State.START, State.LOADING) or version.failures > 0


def _at_rest(version: Version) -> bool:
    return version.state in (State.AVAILABLE, State.END)


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
