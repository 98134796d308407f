"""What the process that decides tells the others, and when. Each worker here is a socket that writes down its calls."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from shoal.serving import control, metrics
from shoal.serving.catalog import Version
from shoal.serving.folders import VersionFolder, _look
from shoal.serving.model_config import ModelConfig
from shoal.serving.settings import ServerSettings
from shoal.serving.status import Code, ServingError
from shoal.serving.tls import Tls
from shoal.serving.workers import Workers, _Worker


class Told:
    """A worker. `load` may wait or fail as a test says."""

    def __init__(self, workers: Workers, number: int, folder: Path) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.go = threading.Event()
        self.go.set()
        self.loading = threading.Event()
        self.fault: ServingError | None = None
        path = folder / f"told-{number}"
        methods = {name: lambda *args, name=name: self.calls.append((name, *args)) for name in ("serve", "unload")}
        control.answer(path, {**methods, "load": self._load, "follow": self._follow})
        workers._started[number] = _Worker(number, path, cast("Any", None))

    def _load(self, *args: Any) -> None:
        self.loading.set()
        assert self.go.wait(30)
        if self.fault:
            raise self.fault
        self.calls.append(("load", *args))

    def _follow(self, models: list[ModelConfig], labels: dict[str, dict[str, int]]) -> None:
        self.calls.append(("follow", [model.name for model in models], labels))


@pytest.fixture
def workers(tmp_path: Path) -> Workers:
    return Workers(ServerSettings([], workers=2), tmp_path)


def version(number: int) -> Version:
    path = Path(f"/m/{number}")
    return Version("m", number, VersionFolder(path, _look(path)[0]))


def test_a_version_is_loaded_everywhere_before_it_is_served_anywhere(workers: Workers, tmp_path: Path) -> None:
    one, two = Told(workers, 1, tmp_path), Told(workers, 2, tmp_path)
    workers.join(1)
    workers.join(2)
    two.go.clear()
    loading = threading.Thread(target=workers.load, args=[version(1)])
    loading.start()
    assert two.loading.wait(30)
    assert ("serve", 0) not in one.calls
    two.go.set()
    loading.join(30)
    for each in (one, two):
        assert each.calls == [("follow", [], {}), ("load", 0, "m", 1, Path("/m/1")), ("serve", 0)]


def test_what_one_cannot_load_is_taken_back_from_the_others(workers: Workers, tmp_path: Path) -> None:
    one, two = Told(workers, 1, tmp_path), Told(workers, 2, tmp_path)
    workers.join(1)
    workers.join(2)
    two.fault = ServingError(Code.RESOURCE_EXHAUSTED, "no memory")
    with pytest.raises(ServingError, match="no memory"):
        workers.load(version(1))
    assert one.calls[-1] == ("unload", 0)
    assert ("serve", 0) not in [*one.calls, *two.calls]
    late = Told(workers, 3, tmp_path)
    workers.join(3)
    assert late.calls == [("follow", [], {})]


def test_a_folder_that_changes_while_it_is_loaded_is_served_nowhere(workers: Workers, tmp_path: Path) -> None:
    one = Told(workers, 1, tmp_path)
    workers.join(1)
    with pytest.raises(ServingError, match="ABORTED: /m/1 was changed while it was being loaded"):
        workers.load(Version("m", 1, VersionFolder(Path("/m/1"), 0)))
    assert one.calls[1:] == [("load", 0, "m", 1, Path("/m/1")), ("unload", 0)]


def test_a_load_during_which_a_worker_dies_has_failed(workers: Workers, tmp_path: Path) -> None:
    one = Told(workers, 1, tmp_path)
    workers.join(1)
    workers._members.append(_Worker(2, tmp_path / "nobody", cast("Any", None)))
    with pytest.raises(control.Gone):
        workers.load(version(1))
    assert one.calls[-1] == ("unload", 0)


def test_who_joins_during_a_load_has_the_version_when_it_is_served(workers: Workers, tmp_path: Path) -> None:
    one, two = Told(workers, 1, tmp_path), Told(workers, 2, tmp_path)
    workers.join(1)
    one.go.clear()
    loading = threading.Thread(target=workers.load, args=[version(1)])
    loading.start()
    assert one.loading.wait(30)
    workers.join(2)
    one.go.set()
    loading.join(30)
    assert two.calls == [("follow", [], {}), ("load", 0, "m", 1, Path("/m/1")), ("serve", 0)]


def test_who_joins_gets_all_that_is_held_and_nothing_that_has_gone(workers: Workers, tmp_path: Path) -> None:
    Told(workers, 1, tmp_path)
    workers.join(1)
    first = workers.load(version(1))
    workers.load(version(2))
    first.close()
    two = Told(workers, 2, tmp_path)
    workers.join(2)
    assert two.calls == [("load", 1, "m", 2, Path("/m/2")), ("serve", 1), ("follow", [], {})]


def test_metrics_are_those_of_all_processes(workers: Workers, tmp_path: Path) -> None:
    count = "from shoal.serving.metrics import Metrics; Metrics().examples('m', 3)"
    env = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "metrics")}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", count], env=env, check=True)
    assert metrics.value(workers.registry, "/tensorflow/serving/request_example_count_total") == 6
    assert metrics.value(workers.registry, "/tensorflow/serving/nothing") == 0


def test_what_a_worker_is_told_can_be_sent() -> None:
    tls = Tls(b"key", b"certificate", b"")
    settings = ServerSettings([ModelConfig("m", Path("/m"))], tls=tls, grpc_arguments=(("grpc.x", 1),), workers=2)
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_models_hold_even_where_their_labels_were_refused(workers: Workers, tmp_path: Path) -> None:
    one = Told(workers, 1, tmp_path)
    workers.join(1)
    workers.catalog.configure([ModelConfig("m", tmp_path)], first=True)
    workers.catalog.stop()  # else the new model would be waited for
    with pytest.raises(ServingError, match="did not become available"):
        workers.configure([ModelConfig("m", tmp_path), ModelConfig("n", tmp_path, labels={"stable": 1})])
    assert one.calls[-1] == ("follow", ["m", "n"], {})
    two = Told(workers, 2, tmp_path)
    workers.join(2)
    assert two.calls == [("follow", ["m", "n"], {})]
