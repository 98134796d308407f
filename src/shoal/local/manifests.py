"""The manifest in a run's folder: the job as it is wanted now, and the documents that came with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shoal.local.runs import Run, replace_file
from shoal.resources import Document, Fault, ManifestError, Other, ReplicaType, TFJob, dump, load
from shoal.resources.yaml_text import write_yaml


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job, and the objects beside it in its file: ConfigMaps, Secrets, claims."""

    job: TFJob
    others: tuple[Other, ...] = ()

    def text(self) -> str:
        """As YAML documents, the job first."""
        others = (write_yaml(other.value) for other in self.others)
        return "---\n".join([dump(self.job), *others])


def jobs_in(documents: Iterable[Document]) -> list[Wanted]:
    """Each job with the other objects of its source."""
    documents = list(documents)
    return [
        Wanted(job, tuple(d.resource for d in documents if isinstance(d.resource, Other)))
        for document in documents
        if (job := document.job)
    ]


def read(run: Run) -> Wanted:
    """What is wanted of the run now. Raises ManifestError where the file has been damaged."""
    wanted = jobs_in(load(run.manifest))
    if not wanted:
        raise ManifestError([Fault(str(run.manifest), None, None, "", "there is no TFJob in it")])
    return wanted[0]


def edit(run: Run, change: Callable[[TFJob], None]) -> None:
    """Change what is wanted. A supervisor that looks after the run notices within moments."""
    wanted = read(run)
    change(wanted.job)
    replace_file(run.manifest, wanted.text())


def scale(run: Run, workers: int) -> None:
    """Want another number of workers."""
    edit(run, lambda job: setattr(job.spec.tf_replica_specs[ReplicaType.WORKER], "replicas", workers))


class ManifestReader:
    """Reads the manifest again only when it was replaced."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._version: tuple[int, int] | None = None
        self._wanted: Wanted | None = None

    def __call__(self) -> Wanted:
        found = self.run.manifest.stat()
        version = (found.st_ino, found.st_mtime_ns)
        if self._wanted is None or version != self._version:
            self._wanted, self._version = read(self.run), version
        return self._wanted
