"""Jobs from Python, as in a notebook:

    from shoal import run, logs

    job = run("job.yaml")     # or a dict, or a TFJob
    logs(job)                 # prints what the replicas write, until the job ends
    job.wait()                # "Succeeded"

A job that was started goes on by itself, whatever becomes of this Python: `shoal ps` lists it.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from shoal.resources import Document, TFJob, load, parse
from shoal.resources.status import JobStatus
from shoal.runs import Lines, LogChoice, Run, RunError, Runs

if TYPE_CHECKING:
    from shoal.kubernetes.client.delivery import Delivery

P = ParamSpec("P")
T = TypeVar("T")

_ASIDE = ThreadPoolExecutor(max_workers=1, thread_name_prefix="shoal")


class Job:
    """A job that was started, or found. All methods raise RunError where they cannot do what they are asked for.

    `run` is the same as the commands see it (`shoal.runs.Run`), for use outside of notebooks.
    """

    def __init__(self, run: Run, look_seconds: float) -> None:
        self.run = run
        self._look_seconds = look_seconds

    def __repr__(self) -> str:
        return f"<TFJob {self.name}: {self.phase}>"

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def phase(self) -> str:
        """Where it stands, in one word: Running, Succeeded, …"""
        return _aside(self.run.look).phase

    @property
    def status(self) -> JobStatus:
        """Conditions, replicas, retries, progress, the first failure."""
        return _aside(self.run.look).snapshot.status

    def wait(self, timeout: float | None = None) -> str:
        """Wait until it ends; answers the phase that it has come to. Raises TimeoutError after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (outcome := _aside(self.run.outcome)) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} has not ended after {timeout:g} s")
            time.sleep(self._look_seconds)
        return outcome

    def stop(self) -> None:
        """End its replicas and keep it: `shoal resume` goes on from the last checkpoint. Does not wait."""
        _aside(self.run.suspend, True)

    def scale(self, workers: int) -> None:
        """Change the number of its workers."""
        _aside(self.run.scale, workers)

    def remove(self) -> None:
        """Remove it with all that belongs to it, once it has ended."""
        if _aside(lambda: self.run.alive):
            raise RunError(f"{self.name} is running", "stop it, and wait for its end")
        _aside(self.run.remove)

    def log_lines(self, follow: bool = False, replicas: Sequence[str] = (), tail: int | None = None) -> Iterator[Lines]:
        """What its replicas have written, and with `follow` what they write until it ends."""
        lines = _aside(self.run.log_lines, LogChoice(follow, replicas, tail=tail))
        while (found := _aside(lambda: next(lines, None))) is not None:
            yield found


def run(
    job: TFJob | Mapping[str, Any] | str | Path,
    *,
    name: str | None = None,
    replace: bool = False,
    code: str | Path | None = None,
    on: str | None = None,
    context: str | None = None,
    namespace: str | None = None,
) -> Job:
    """Start a job, and leave it running.

    `job` is a manifest: as a path, as the mapping that YAML would make of it, or as a model. `name` names the run;
    `replace` starts over where a run of that name has ended. Replicas start in the folder `code`: on Kubernetes it is
    sent along, on this machine it is by default the manifest's. `on` is local or kubernetes, by default what SHOAL_ON
    says, as it does in a workbench of a cluster.

    Raises ManifestError with every fault of the manifest, and RunError for what cannot be done.
    """
    source, documents = _read(job, name)
    place = _place(on)
    if code is not None and not Path(code).is_dir():
        raise RunError(f"code: {code} is no folder")
    if place == "local" or code is None:
        return _aside(_start, _runs(place, context, namespace), documents, str(code or source), replace)
    from shoal.code.pack import pack, refuse_other_code
    from shoal.kubernetes.client.delivery import Delivery

    refuse_other_code(documents, "code")
    with tempfile.TemporaryFile() as file:
        delivery = Delivery(pack(Path(code), file), file, None, print, context)
        return _aside(_start, _runs(place, context, namespace, delivery), documents, source, replace)


def logs(
    job: Job | str,
    *,
    follow: bool = True,
    replicas: Sequence[str] = (),
    tail: int | None = None,
    on: str | None = None,
    context: str | None = None,
    namespace: str | None = None,
) -> None:
    """Print what the replicas of a job write, each line with its replica's name; with `follow`, until the job ends.

    `job` is what `run` has answered, or the name of a run in the place that `on`, `context` and `namespace` name.
    """
    from shoal.cli.logs import print_logs

    if isinstance(job, str):
        runs = _runs(_place(on), context, namespace)
        job = Job(_aside(runs.find, job), runs.look_seconds)
    print_logs(job.log_lines(follow, replicas, tail), _aside(job.run.replicas_with_logs))


def _aside(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do it in another thread, always the same: a notebook's own thread has an event loop that runs, in which what asks
    a cluster cannot have its own."""
    return _ASIDE.submit(do, *args, **kwargs).result()


def _read(job: TFJob | Mapping[str, Any] | str | Path, name: str | None) -> tuple[str, list[Document]]:
    """Where the manifest was read from, and the job in it, with what stands beside it."""
    if isinstance(job, str | Path):
        source, documents = str(job), load(job)
    else:
        manifest = job.dump() if isinstance(job, TFJob) else job
        source, documents = "-", [Document("job", 1, 1, parse(manifest, "job"))]
    jobs = [document.job for document in documents if document.job]
    if len(jobs) != 1:
        raise RunError(f"{source} has {len(jobs)} TFJobs, and one is run at a time", "give each a file of its own")
    if name is not None:
        jobs[0].metadata.name = name
        parse(jobs[0].dump(), "name")
    return source, documents


def _place(on: str | None) -> str:
    place = on or os.environ.get("SHOAL_ON") or "local"
    if place not in ("local", "kubernetes"):
        raise RunError(f"on={place!r} is no place for a job", "write local or kubernetes")
    return place


def _runs(place: str, context: str | None, namespace: str | None, delivery: Delivery | None = None) -> Runs:
    if place == "local":
        if context is not None or namespace is not None:
            raise RunError("context and namespace belong to a cluster", 'add on="kubernetes"')
        from shoal.local.backend import LocalRuns

        return LocalRuns()
    try:
        from shoal.kubernetes.client.runs import ClusterRuns
    except ModuleNotFoundError as missing:
        raise RunError(f"Kubernetes needs {missing.name}", 'pip install "shoal[kubernetes]"') from None
    return _aside(ClusterRuns, context, namespace, " --on kubernetes", delivery)


def _start(runs: Runs, documents: Sequence[Document], source: str, replace: bool) -> Job:
    for document in documents:
        git = document.job.spec.code.git if document.job and document.job.spec.code else None
        if git is not None:
            from shoal.code.git import pin

            pin(git)  # all replicas get the same, at any time
    (begun,) = runs.create(documents, source, replace)
    runs.leave(begun)
    return Job(begun, runs.look_seconds)
