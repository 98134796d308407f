"""The runs of this machine, as commands see them (`shoal.runs`)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from shoal.local import manifests
from shoal.local.boards import board_of
from shoal.local.code import check_code, fetched
from shoal.local.history import history
from shoal.local.listing import list_runs, look, phase_of
from shoal.local.log_folders import log_folders
from shoal.local.log_lines import log_lines, replicas_with_logs
from shoal.local.models import exported_models
from shoal.local.orphans import sweep
from shoal.local.runs import Run, find
from shoal.local.servers import LocalServer, all_servers, find_server
from shoal.resources import ConditionType, Document, ManifestError, Phase, TFJob
from shoal.runs import (
    INTERRUPTED,
    Board,
    Description,
    Followed,
    Lines,
    Listed,
    ListedServer,
    LogChoice,
    Look,
    Measurement,
    Place,
    RunError,
    Show,
    Snapshot,
)
from shoal.runs import Run as AnyRun


class LocalRun:
    """Implements `shoal.runs.Run` over the folder of a run."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def kind(self) -> Literal["TFJob"]:
        return "TFJob"

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def place(self) -> Place:
        return Place("Folder", str(self.run.folder))

    @property
    def alive(self) -> bool:
        return self.run.alive

    def look(self) -> Look:
        snapshot = self.run.snapshot()
        return Look(snapshot, phase_of(self.run, snapshot), self.alive)

    def outcome(self) -> str | None:
        return self.look().outcome

    def describe(self) -> Description:
        self.run.snapshot()  # complains of a run that is damaged
        found = look(self.run)
        if found is None:
            find(self.name)  # complains, as its time to live was over just now
            return self.describe()
        seen = Look(*found, self.alive)
        killed = f"its supervisor was killed; go on with `shoal resume {self.name}`"
        hint = killed if seen.phase == INTERRUPTED else ""
        try:
            return Description(seen, self.job(), hint=hint)
        except ManifestError as fault:
            return Description(seen, None, str(fault), hint=hint)

    def job(self) -> TFJob:
        return manifests.read(self.run).job

    def suspend(self, suspended: bool) -> None:
        manifests.edit(self.run, lambda job: setattr(job.spec.run_policy, "suspend", suspended or None))

    def scale(self, workers: int) -> None:
        manifests.scale(self.run, workers)

    def remove(self) -> None:
        if earlier := self.run.run_id:
            sweep(earlier)
        self.run.remove()

    def replicas_with_logs(self) -> list[str]:
        return replicas_with_logs(self.run)

    def log_lines(self, choice: LogChoice) -> Iterator[Lines]:
        return log_lines(self.run, choice)

    def history(self) -> list[Measurement]:
        return history(self.run)

    def tensorboard(self, port: int) -> Board:
        """The TensorBoard of this environment, over the folders with the run's event files."""
        folders = log_folders(self.run)
        if not folders:
            raise RunError(
                f"{self.name} has written no event files (yet)",
                "a script writes them with tf.summary or a TensorBoard callback",
            )
        return board_of({label: str(folder) for label, folder in folders.items()}, port)

    def left_behind(self, look: Look) -> Iterator[str]:
        served = look.snapshot.status.condition(ConditionType.SERVED)
        if served and served.status == "False":
            yield served.message
        yield f"logs: {self.run.logs}"
        if look.snapshot.status.phase is Phase.SUCCEEDED:
            for model in exported_models(self.run.volumes):
                yield f"model: {model.base_path} (version {model.version})"
                yield f"serve it: {model.serving_command(self.name)}"


class LocalRuns:
    """Implements `shoal.runs.Runs`. A run goes on while a supervisor looks after it: in the foreground this process,
    otherwise one that is left behind."""

    options = ""
    look_seconds = 0.1
    after_interruption = "hint: go on with `shoal resume NAME`"

    def __init__(self, prefork: bool = True) -> None:
        """`prefork`: fork replicas from one process that has imported TensorFlow."""
        self._prefork = prefork

    def find(self, name: str) -> LocalRun:
        return LocalRun(find(name))

    def all(self, replicas: bool = False) -> list[Listed]:
        return [Listed(LocalRun(run), Look(snapshot, phase)) for run, snapshot, phase in list_runs()]

    def find_server(self, name: str) -> LocalServer:
        return find_server(name)

    def servers(self) -> list[ListedServer]:
        return [ListedServer(server, server.look()) for server in all_servers()]

    def create(self, documents: Sequence[Document], source: str, replace: bool) -> list[AnyRun]:
        wanted = manifests.jobs_in(documents)
        runs = [Run(wants.job.name) for wants in wanted]
        for each, wants in zip(runs, wanted, strict=True):
            _refuse_existing(each, replace)
            check_code(wants.job)
        folder = Path.cwd() if source == "-" else _folder_of(Path(source))
        with ExitStack() as fetching:
            codes = [fetching.enter_context(fetched(wants.job)) for wants in wanted]
            for each in runs:
                if each.exists:
                    each.remove()
            for each, wants, code in zip(runs, wanted, codes, strict=True):
                each.create(wants.text(), folder, code)
        return [LocalRun(each) for each in runs]

    def leave(self, run: AnyRun) -> None:
        from shoal.local.running import detach

        detach(Run(run.name), prefork=self._prefork)

    def follow(self, runs: Sequence[AnyRun], show: Show) -> Followed:
        return asyncio.run(self._supervise(runs, show))

    async def _supervise(self, runs: Sequence[AnyRun], show: Show) -> Followed:
        """Supervise the runs in this process."""
        from shoal.local.running import Interruption, look_after

        with Interruption() as interruption:

            async def supervise(name: str) -> Look:
                def on_change(snapshot: Snapshot) -> None:
                    show(name, snapshot)

                run = Run(name)
                phase = (await look_after(run, interruption, prefork=self._prefork, on_change=on_change)).phase
                return Look(run.snapshot(), phase.value)

            looks = await asyncio.gather(*(supervise(run.name) for run in runs))
        return Followed(list(looks), bool(interruption.received))


def _folder_of(path: Path) -> Path:
    absolute = path.absolute()
    return absolute if absolute.is_dir() else absolute.parent


def _refuse_existing(run: Run, replace: bool) -> None:
    """Where a run of that name exists, nothing is touched unless the user said so."""
    if not run.exists:
        return
    if run.alive:
        raise RunError(
            f"a run named {run.name!r} is running", f"stop it with `shoal stop {run.name}`, or use --name for another"
        )
    if not replace:
        raise RunError(
            f"a run named {run.name!r} exists ({run.snapshot().status.phase.value.lower()})",
            "start over with --replace, or use --name for another",
        )
