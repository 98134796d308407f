"""A benchmark of several processes: a TFJob like any other, that is run, watched and removed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from shoal.bench.job import manifest
from shoal.bench.options import OptionError, TrainOptions, VariableUpdate
from shoal.bench.record import Part, Record, parts_in
from shoal.cli.display import display
from shoal.cli.place import On, runs_on
from shoal.cli.terminal import Exit, complain, say

if TYPE_CHECKING:
    from shoal.runs import Runs


def run_job(
    options: TrainOptions,
    roles: Mapping[str, int],
    scaling: bool,
    gpus: int,
    image: str | None,
    on: On,
    context: str | None,
    namespace: str | None,
) -> Record:
    """Run the benchmark as a job, and gather what its replicas tell. Leaves with the job's exit code where it fails or
    is interrupted; its run is kept then, for its logs. Raises OptionError."""
    if on is not On.LOCAL and not image:
        raise OptionError(
            "--on kubernetes needs an --image", "one with Shoal and TensorFlow; docs/benchmarks.md says how it is made"
        )
    runs = runs_on(on, context, namespace, prefork=False)
    alone = None
    if scaling:
        # Parameter servers stay, with the chief who drives the worker, since they are what is measured.
        one = {**roles, "worker": 1} if "ps" in roles else {"worker": 1}
        alone = Record([], one, _run(runs, options, one, gpus, image or "")).images_per_second
    return Record(options.flags, dict(roles), _run(runs, options, roles, gpus, image or ""), alone)


def _run(runs: Runs, options: TrainOptions, roles: Mapping[str, int], gpus: int, image: str) -> list[Part]:
    from shoal.resources import Document, parse
    from shoal.runs import LogChoice

    name = f"bench-{options.model}-{int(time.time() * 1000) % 10**8:08d}"
    text = manifest(name, options, roles, image=image or "shoal", gpus=gpus)
    documents = [Document("-", 1, 1, parse(text, source="--job"))]
    (run,) = runs.create(documents, "-", False)
    with display() as show:
        looks, interrupted = runs.follow([run], show)
    if interrupted:
        say(runs.after_interruption)
        raise SystemExit(Exit.INTERRUPTED)
    chosen = LogChoice(everything=True)
    parts = parts_in([(said.replica, line) for said in run.log_lines(chosen) for line in said.lines])
    expected = (
        1 if options.variable_update is VariableUpdate.PARAMETER_SERVER else roles["worker"] + roles.get("chief", 0)
    )
    if looks[0].phase != "Succeeded" or len(parts) < expected:
        complain(
            f"{name} {looks[0].phase.lower()}; {len(parts)} of {expected} replicas told a result",
            f"see why with `shoal logs {name}{runs.options}`",
        )
        raise SystemExit(Exit.FAILED)
    run.remove()
    return parts
