"""One question to several clusters at once: none waits for another, and nobody for one that does not answer."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

from shoal.kubernetes.client.runs import ClusterRuns
from shoal.runs import MissingError, RunError

T = TypeVar("T")

PATIENCE_SECONDS = 8.0
"""A cluster that says nothing for so long counts as silent. Longer than connecting may take, which has a limit of its
own and a better message."""


class Asking:
    """Clusters by name. One that is still at an earlier question is not asked again, and counts as silent."""

    def __init__(self, clusters: Mapping[str, ClusterRuns], patience: float = PATIENCE_SECONDS) -> None:
        self.clusters = dict(clusters)
        self._patience = patience
        self._busy: dict[str, threading.Thread] = {}

    def idle(self, name: str) -> bool:
        return name not in self._busy or not self._busy[name].is_alive()

    def ask(self, question: Callable[[ClusterRuns], T]) -> Answers[T]:
        answered: queue.SimpleQueue[tuple[str, T | BaseException]] = queue.SimpleQueue()

        def put(name: str) -> None:
            try:
                answered.put((name, question(self.clusters[name])))
            except BaseException as fault:  # it is raised where the answer is heard
                answered.put((name, fault))

        free = [name for name in self.clusters if self.idle(name)]
        for name in free:
            # A daemon: it must not keep the command from ending.
            self._busy[name] = threading.Thread(target=put, args=(name,), daemon=True, name=f"asks {name}")
            self._busy[name].start()
        heard: dict[str, T | BaseException] = {}
        until = time.monotonic() + self._patience
        while len(heard) < len(free):
            try:
                name, answer = answered.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            heard[name] = answer
        answers: Answers[T] = Answers({}, {})
        for name, cluster in self.clusters.items():
            match heard.get(name):
                case None:
                    cluster.abandon()
                    answers.faults[name] = RunError(f"it has said nothing for {self._patience:g} s", "is it up?")
                case RunError() as fault:
                    answers.faults[name] = fault
                case BaseException() as fault:
                    raise fault
                case answer:
                    answers.found[name] = answer
        return answers


class Answers(NamedTuple, Generic[T]):
    """What each cluster said, and why one said nothing; both in the order in which the clusters were named."""

    found: dict[str, T]
    faults: dict[str, RunError]

    @property
    def silent(self) -> dict[str, RunError]:
        """Those of which it is not known what they have. A cluster without what was asked for has answered."""
        return {name: fault for name, fault in self.faults.items() if not isinstance(fault, MissingError)}
