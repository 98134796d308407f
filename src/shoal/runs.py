"""A run as commands see it, wherever it runs: as processes of this machine, or as pods of a cluster. Beside runs, which
are of jobs, there are model servers.

`shoal.local` and `shoal.kubernetes` each offer `Runs`, the commands choose one of them by `--on`, and nothing else in
`shoal.cli` knows the difference.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from shoal.resources.status import JobStatus

if TYPE_CHECKING:
    from shoal.resources import Document, ModelServer, ServerStatus, TFJob


class RunError(Exception):
    """Something cannot be done with a run. `hint` says what to do instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class MissingError(RunError):
    """There is none of that name. `known` are those that there are."""

    def __init__(self, message: str, hint: str, known: Sequence[str]) -> None:
        super().__init__(message, hint)
        self.known = known


@dataclass(frozen=True, slots=True)
class ReplicaRecord:
    """One replica as its supervisor last knew it, or as its pod says. Times are seconds since the epoch."""

    name: str
    attempt: int
    state: str
    pid: int | None = None
    address: str | None = None
    exit_code: int | None = None
    started_at: float | None = None
    finished_at: float | None = None
    step: int | None = None
    loss: float | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A job and its replicas at one moment. On one machine it is the content of status.json, which the supervisor
    `run_id` writes."""

    status: JobStatus
    replicas: list[ReplicaRecord] = field(default_factory=list)
    run_id: str = ""
    supervisor: int = 0
    began_at: float = 0.0

    def dump(self) -> str:
        told = {**asdict(self), "status": self.status.dump()}
        return json.dumps(told, indent=1)

    @classmethod
    def load(cls, text: str) -> Snapshot:
        told = json.loads(text)
        replicas = [ReplicaRecord(**replica) for replica in told.pop("replicas")]
        return cls(status=JobStatus.model_validate(told.pop("status")), replicas=replicas, **told)


INTERRUPTED = "Interrupted"
"""The phase of a run that had not ended when its supervisor was killed. `shoal resume` goes on with it."""


SERVING = "Serving"
"""The phase of a run on this machine that has succeeded, and whose model is served until the run is stopped."""


class Look(NamedTuple):
    """What is known of a run now. The phase is the true one: a run whose supervisor was killed no longer runs,
    whatever its status says. `alive` tells whether somebody still looks after it."""

    snapshot: Snapshot
    phase: str
    alive: bool = False

    @property
    def outcome(self) -> str | None:
        """The phase that the training has come to; None while it goes on. A run that serves its model is alive, too."""
        return None if self.alive and self.phase != SERVING else self.phase


class Place(NamedTuple):
    """Where a run is: `Folder` and its path, or `Namespace` and its name. `cluster` is the context that was named for
    the cluster; empty where none was, and on this machine."""

    label: str
    value: str
    cluster: str = ""


class Event(NamedTuple):
    """Something that Kubernetes tells of a job. `time` is when it was last seen, in seconds since the epoch."""

    time: float
    type: str
    reason: str
    message: str


class Description(NamedTuple):
    """Everything about a run. `job` is None where the manifest cannot be read, and `fault` says why. `hint` is what
    to do about the phase it is in."""

    look: Look
    job: TFJob | None
    fault: str = ""
    events: Sequence[Event] = ()
    hint: str = ""


class ServerLook(NamedTuple):
    """What is known of a model server now. The phase is the true one: of one that has just been edited, or is being
    deleted, its status tells an earlier one. `since` is when it was made, in seconds since the epoch."""

    status: ServerStatus
    phase: str
    since: float | None = None

    @property
    def outcome(self) -> str | None:
        """The phase, as `Ready`; None while the server is still on its way there."""
        return None if self.phase in ("Pending", "Updating") else self.phase


class ServerDescription(NamedTuple):
    """Everything about a model server. `server` is None where the manifest cannot be read, and `fault` says why."""

    look: ServerLook
    server: ModelServer | None
    fault: str = ""
    events: Sequence[Event] = ()


class Board(NamedTuple):
    """A command that shows a TensorBoard until it is ended, and the names of what is shown."""

    command: list[str]
    shown: list[str]


class LogChoice(NamedTuple):
    """Which lines of which logs. `attempt` is counted from 1; None is the last one, `everything` is every one."""

    follow: bool = False
    replicas: Sequence[str] = ()
    attempt: int | None = None
    everything: bool = False
    tail: int | None = None


class Measurement(NamedTuple):
    """A step that the training has finished, when (seconds since the epoch), and the loss there where it was told."""

    step: int
    time: float
    loss: float | None = None


class Lines(NamedTuple):
    """Whole lines that a replica wrote, one after the other. Whoever follows logs also gets, about every second in
    which nobody writes, one without any, so that he may leave."""

    replica: str
    lines: list[str]


Show = Callable[[str, Snapshot], None]
"""Is told of every change of a run, by its name."""


class Followed(NamedTuple):
    """How each run was when it ended, or when Ctrl-C ended the watching."""

    looks: list[Look]
    interrupted: bool


class Run(Protocol):
    """One run that is there. All methods raise RunError where they cannot do what they are asked for."""

    @property
    def kind(self) -> Literal["TFJob"]: ...

    @property
    def name(self) -> str: ...

    @property
    def place(self) -> Place: ...

    @property
    def alive(self) -> bool:
        """Whether it will still change by itself. What has ended or is suspended will not."""
        ...

    def look(self) -> Look: ...

    def outcome(self) -> str | None:
        """`look().outcome` for whoever waits: at little cost, and as it was while a cluster is silent for a moment."""
        ...

    def describe(self) -> Description: ...

    def job(self) -> TFJob:
        """As it is wanted now. Raises ManifestError where that cannot be read."""
        ...

    def suspend(self, suspended: bool) -> None:
        """End the replicas and keep the run, or take that back. Does not wait."""
        ...

    def scale(self, workers: int) -> None:
        """Change the number of workers of a job that has some."""
        ...

    def remove(self) -> None:
        """Remove a run that is not alive, with all that belongs to it."""
        ...

    def replicas_with_logs(self) -> list[str]: ...

    def log_lines(self, choice: LogChoice) -> Iterator[Lines]:
        """The chosen lines; with `follow`, until the run is not alive and nothing is left to tell."""
        ...

    def history(self) -> list[Measurement]:
        """How training went, step by step, as far as that was written down and is kept; by step."""
        ...

    def tensorboard(self, port: int) -> Board:
        """How to show the run's TensorBoard at 127.0.0.1:`port`."""
        ...

    def left_behind(self, look: Look) -> Iterator[str]:
        """Sentences on where to find what the run has made, once it has ended."""
        ...


class Listed(NamedTuple):
    """A run in a list."""

    run: Run
    look: Look


class Server(Protocol):
    """One model server that is there. All methods raise RunError where they cannot do what they are asked for."""

    @property
    def kind(self) -> Literal["ModelServer"]: ...

    @property
    def name(self) -> str: ...

    @property
    def place(self) -> Place: ...

    @property
    def made_for(self) -> str:
        """The name of the job whose model it was made to serve; empty where a user has made it."""
        ...

    def look(self) -> ServerLook: ...

    def outcome(self) -> str | None:
        """`look().outcome` for whoever waits, as a run's."""
        ...

    def describe(self) -> ServerDescription: ...

    def remove(self) -> None:
        """End it, and wait until it is gone with all that belongs to it."""
        ...

    def replicas_with_logs(self) -> list[str]: ...

    def log_lines(self, choice: LogChoice) -> Iterator[Lines]:
        """The chosen lines; with `follow`, until the server is gone."""
        ...


class ListedServer(NamedTuple):
    """A model server in a list."""

    server: Server
    look: ServerLook


class Runs(Protocol):
    """All runs of one place."""

    @property
    def options(self) -> str:
        """What must be added to a command line, so that it finds these runs: ` --on kubernetes`."""
        ...

    @property
    def look_seconds(self) -> float:
        """How long to wait between two looks at a run."""
        ...

    @property
    def after_interruption(self) -> str:
        """What Ctrl-C has left and how to go on, where the user watched runs in the foreground."""
        ...

    def find(self, name: str) -> Run:
        """Raises MissingError where there is none."""
        ...

    def find_server(self, name: str) -> Server:
        """Raises MissingError where there is none."""
        ...

    def servers(self) -> list[ListedServer]:
        """Every model server, the latest first."""
        ...

    def all(self, replicas: bool = False) -> list[Listed]:
        """Every run, the latest first; `replicas` asks for each replica's record, which may take longer."""
        ...

    def create(self, documents: Sequence[Document], source: str, replace: bool) -> list[Run]:
        """The runs of the jobs in the documents, which were read from `source`, a file, a folder or `-`. Where one
        cannot be created, none is."""
        ...

    def leave(self, run: Run) -> None:
        """See to it that the run goes on by itself."""
        ...

    def follow(self, runs: Sequence[Run], show: Show) -> Followed:
        """See to it that the runs go on, and watch until all have ended or Ctrl-C is pressed."""
        ...
