"""The runs of several clusters (`shoal.runs.Runs`): each is looked for in all of them, and a new one goes where it has
room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from shoal.kubernetes.client.runs import ClusterRuns
from shoal.kubernetes.clusters.asking import Answers, Asking
from shoal.kubernetes.clusters.choice import choose
from shoal.kubernetes.clusters.memory import Memory
from shoal.kubernetes.clusters.room import Room
from shoal.kubernetes.pods import pod
from shoal.resources import Document
from shoal.runs import Followed, Listed, ListedServer, MissingError, Run, RunError, Server, Show
from shoal.training import replica_ids

T = TypeVar("T")
Found = TypeVar("Found", Run, Server)


class ManyClusters:
    """`options` are what a command line names them with; `tell` is told, in a sentence, of clusters that do not answer
    and why a job goes where it goes."""

    look_seconds = ClusterRuns.look_seconds

    def __init__(self, asking: Asking, options: str, memory: Memory, tell: Callable[[str], None]) -> None:
        self.options = options
        self._asking = asking
        self._clusters = asking.clusters
        self._memory = memory
        self._tell = tell
        self._told: set[str] = set()
        self._found: dict[str, str] = {}

    @property
    def after_interruption(self) -> str:
        watch, wait, stop = (f"`shoal {words} NAME{self.options}`" for words in ("logs -f", "wait", "stop"))
        return f"it goes on in its cluster\nhint: watch it with {watch}, wait for it with {wait}, stop it with {stop}"

    def find(self, name: str) -> Run:
        run = self._find(name)
        self._found[name] = run.place.cluster
        return run

    def find_server(self, name: str) -> Server:
        """Where a run of the name was found, only its neighbour is of interest."""
        if name in self._found:
            return self._clusters[self._found[name]].find_server(name)
        found: Answers[Server] = self._asking.ask(lambda cluster: cluster.find_server(name))
        return self._only(found, "model server", name)

    def all(self, replicas: bool = False) -> list[Listed]:
        return [each for listed in self._of_all(lambda cluster: cluster.all(replicas)).values() for each in listed]

    def servers(self) -> list[ListedServer]:
        return [each for listed in self._of_all(lambda cluster: cluster.servers()).values() for each in listed]

    def create(self, documents: Sequence[Document], source: str, replace: bool) -> list[Run]:
        names = [document.job.name for document in documents if document.job]
        cluster = self._home(names) or self._roomiest(documents)
        created = self._clusters[cluster].create(documents, source, replace)
        for name in names:
            self._memory.remember(name, cluster)
        return created

    def leave(self, run: Run) -> None:
        self._clusters[run.place.cluster].leave(run)

    def follow(self, runs: Sequence[Run], show: Show) -> Followed:
        """The runs are of one cluster, as those that were created together are."""
        (cluster,) = {run.place.cluster for run in runs}
        return self._clusters[cluster].follow(runs, show)

    def _find(self, name: str) -> Run:
        remembered = self._memory.cluster_of(name)
        if remembered in self._clusters and self._asking.idle(remembered):
            try:
                return self._clusters[remembered].find(name)
            except RunError:  # it is elsewhere now, or its cluster is silent, which is told below
                pass
        found: Answers[Run] = self._asking.ask(lambda cluster: cluster.find(name))
        return self._only(found, "run", name)

    def _home(self, names: Sequence[str]) -> str | None:
        """The cluster that has runs of these names already: whether they may be replaced is said there."""
        known = self._of_all(lambda cluster: cluster.all())
        homes = [cluster for cluster, listed in known.items() if {each.run.name for each in listed} & set(names)]
        if len(homes) > 1:
            problem = f"runs of {', '.join(names)} are in {' and '.join(homes)}"
            raise RunError(problem, f"name the cluster that is meant, as in --on {homes[0]}")
        return homes[0] if homes else None

    def _roomiest(self, documents: Sequence[Document]) -> str:
        jobs = [document.job for document in documents if document.job]
        pods = [pod(job, id) for job in jobs for id in replica_ids(job)]
        rooms: dict[str, Room] = self._of_all(lambda cluster: cluster.room(jobs[0].metadata.namespace))
        choice = choose(pods, rooms)
        self._tell("; ".join(choice.reasons))
        return choice.cluster

    def _of_all(self, question: Callable[[ClusterRuns], T]) -> dict[str, T]:
        """What those say that answer. Raises RunError where none does."""
        answers = self._asking.ask(question)
        self._mention(answers.faults)
        if not answers.found:
            raise RunError("none of the clusters answers", f"they are {', '.join(self._clusters)}")
        return answers.found

    def _only(self, answers: Answers[Found], what: str, name: str) -> Found:
        if len(answers.found) > 1:
            first, *_ = answers.found
            places = " and ".join(answers.found)
            raise RunError(f"there is a {what} named {name!r} in {places}", f"say which, as with --on {first}")
        self._mention(answers.silent)
        for found in answers.found.values():
            return found
        missing = [fault for fault in answers.faults.values() if isinstance(fault, MissingError)]
        known = [each for fault in missing for each in fault.known]
        unsure = f"; {', '.join(answers.silent)} could not be asked" if answers.silent else ""
        hint = missing[0].hint if len(missing) == 1 else f"known: {', '.join(known[:5])}" if known else ""
        raise MissingError(f"there is no {what} named {name!r} in {', '.join(self._clusters)}{unsure}", hint, known)

    def _mention(self, faults: dict[str, RunError]) -> None:
        """Once for each cluster."""
        for cluster in faults.keys() - self._told:
            self._told.add(cluster)
            self._tell(f"{cluster} is left out: {faults[cluster]}")
