"""`shoal bench`: train the benchmark models, load a model server, and compare two measurements."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from shoal.bench.options import (
    DataFormat,
    DataName,
    Device,
    Model,
    Optimizer,
    OptionError,
    TrainOptions,
    VariableUpdate,
    parse_roles,
)
from shoal.cli import bench_export, bench_serve
from shoal.cli.bench_flags import respelt, tf_config
from shoal.cli.place import ContextOption, NamespaceOption, On, OnOption
from shoal.cli.table import table
from shoal.cli.terminal import Output, console, need_folder, refuse, say

if TYPE_CHECKING:
    from shoal.bench.record import Record

app = typer.Typer(name="bench", help="Benchmarks: models in training and in serving, compared.", no_args_is_help=True)

OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How the result is written.")]


def register(root: typer.Typer) -> None:
    """Add the group."""
    app.command()(bench_serve.serve)
    app.command()(bench_export.export)
    root.add_typer(app)


class TrainCommand(TyperCommand):
    """A command whose flags may be spelt as those of tf_cnn_benchmarks: `--batch_size=32`, `--nouse_fp16`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        flags = {name for param in self.params if getattr(param, "is_flag", False) for name in param.opts}
        try:
            return super().parse_args(ctx, respelt(args, flags, tell=say))
        except OptionError as fault:
            refuse(str(fault), fault.hint)


@app.command(cls=TrainCommand)
def train(
    model: Annotated[Model, typer.Option(help="Which model.")] = Model.TRIVIAL,
    batch_size: Annotated[int, typer.Option(min=0, help="Images a device and step; 0: as usual for the model.")] = 0,
    num_batches: Annotated[int, typer.Option(min=1, help="Steps that are timed.")] = 100,
    num_warmup_batches: Annotated[int, typer.Option(min=0, help="Steps before that.")] = 10,
    display_every: Annotated[int, typer.Option(min=1, help="Steps from one line of the table to the next.")] = 10,
    variable_update: Annotated[
        VariableUpdate, typer.Option(help="Where variables live, and how replicas agree on them.")
    ] = VariableUpdate.PARAMETER_SERVER,
    local_parameter_device: Annotated[
        Device | None,
        typer.Option(help="With parameter_server in one process: where variables are.", show_default=False),
    ] = None,
    device: Annotated[
        Device | None, typer.Option(help="Where to compute; on what there is, unless given.", show_default=False)
    ] = None,
    num_gpus: Annotated[int, typer.Option(min=1, help="GPUs of each process.")] = 1,
    data_format: Annotated[DataFormat, typer.Option(help="Where the channels of an image stand.")] = DataFormat.NHWC,
    use_fp16: Annotated[bool, typer.Option("--use-fp16", help="Compute in half precision, with loss scaling.")] = False,
    xla: Annotated[
        bool, typer.Option("--xla", "--xla-compile", help="Compile forward and backward pass by XLA.")
    ] = False,
    forward_only: Annotated[bool, typer.Option("--forward-only", help="No gradients.")] = False,
    optimizer: Annotated[Optimizer, typer.Option(help="How variables follow gradients.")] = Optimizer.SGD,
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", "--init-learning-rate", min=0, help="Its rate.")
    ] = 0.005,
    momentum: Annotated[float, typer.Option(min=0, max=1, help="Of the optimizer `momentum`.")] = 0.9,
    weight_decay: Annotated[float, typer.Option(min=0, help="Of the L2 loss of kernels.")] = 0.00004,
    data_dir: Annotated[Path | None, typer.Option(help="A folder with images.", show_default=False)] = None,
    data_name: Annotated[DataName, typer.Option(help="What they are.")] = DataName.SYNTHETIC,
    job: Annotated[
        str | None, typer.Option(metavar="ROLE=N,…", help="Run as a TFJob: ps=1,worker=2.", show_default=False)
    ] = None,
    scaling: Annotated[bool, typer.Option("--scaling", help="With --job: measure one worker alone first.")] = False,
    gpu: Annotated[int, typer.Option(min=0, help="With --job: GPUs of the pool for each worker.")] = 0,
    image: Annotated[
        str | None, typer.Option(help="With --on kubernetes: an image with Shoal and TensorFlow.", show_default=False)
    ] = None,
    on: OnOption = On.LOCAL,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the result for `shoal bench compare`.", show_default=False)
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw how long steps took into this SVG file.", show_default=False),
    ] = None,
    output: OutputOption = Output.TABLE,
    tell_result: Annotated[bool, typer.Option("--tell-result", hidden=True)] = False,
    job_name: Annotated[str, typer.Option(hidden=True)] = "",
    task_index: Annotated[int, typer.Option(hidden=True)] = 0,
    ps_hosts: Annotated[str, typer.Option(hidden=True)] = "",
    worker_hosts: Annotated[str, typer.Option(hidden=True)] = "",
    controller_host: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Train one of the benchmark models on this machine, as a job of several processes, or on Kubernetes, and tell
    images per second. Flags are those of tf_cnn_benchmarks, with hyphens or underscores.

    Where TF_CONFIG is set, the process takes its part in that cluster.
    """
    need_folder("--save", save)
    need_folder("--plot", plot)
    try:
        options = TrainOptions(
            model=model,
            batch_size=batch_size,
            num_batches=num_batches,
            num_warmup_batches=num_warmup_batches,
            display_every=display_every,
            variable_update=variable_update,
            local_parameter_device=local_parameter_device,
            device=device,
            num_gpus=num_gpus,
            data_format=data_format,
            use_fp16=use_fp16,
            xla=xla,
            forward_only=forward_only,
            optimizer=optimizer,
            learning_rate=learning_rate,
            momentum=momentum,
            weight_decay=weight_decay,
            data_dir=data_dir,
            data_name=data_name,
        )
        if job is None:
            if scaling or gpu or image or on is not On.LOCAL:
                refuse("--scaling, --gpu, --image and --on kubernetes belong to a job", "add --job worker=1")
            if data_dir and not data_dir.is_dir():  # said before TensorFlow is loaded, which takes seconds
                refuse(f"--data-dir {data_dir}: there is no such folder")
            if config := tf_config(job_name, task_index, ps_hosts, worker_hosts, controller_host):
                os.environ["TF_CONFIG"] = config
            record = _train_here(options, output, tell_result)
        else:
            from shoal.cli.bench_job import run_job

            record = run_job(options, parse_roles(job), scaling, gpu, image, on, context, namespace)
    except OptionError as fault:
        refuse(str(fault), fault.hint)
    if save:
        save.write_text(record.dump(), encoding="utf-8")
    if plot:
        from shoal.bench.plot import histogram

        plot.write_text(histogram(record), encoding="utf-8")
    if output is Output.JSON:
        print(json.dumps(record.summary(), indent=2))
        return
    if job is not None:
        _show(record)
    print(f"{'-' * 64}\ntotal images/sec: {record.images_per_second:.2f}\n{'-' * 64}")
    if record.efficiency is not None:
        print(f"one worker alone: {record.one_worker:.2f}; scaling efficiency: {100 * record.efficiency:.1f} %")


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A result that `--save` kept.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="Another.", show_default=False)],
    output: OutputOption = Output.TABLE,
) -> None:
    """How fast the second was against the first, and whether noise alone explains it."""
    from shoal.bench.record import Record, is_load
    from shoal.bench.record import compare as compared

    try:
        loads = [is_load(first), is_load(second)]
        if all(loads):
            bench_serve.compare(first, second, output)
            return
        if any(loads):
            refuse(f"{first} and {second}: one is of training, and one of serving", "compare two of a kind")
        records = [Record.load(first), Record.load(second)]
    except OptionError as fault:
        refuse(str(fault), fault.hint)
    difference = compared(*records)
    if output is Output.JSON:
        print(
            json.dumps(
                {
                    "ratio": round(difference.ratio, 4),
                    "sure": None if difference.sure != difference.sure else round(difference.sure, 4),
                    "tells": difference.tells,
                    "first": records[0].summary(),
                    "second": records[1].summary(),
                },
                indent=2,
            )
        )
        return
    flags = [" ".join(record.flags) for record in records]
    rows = [
        (str(file), f"{record.images_per_second:.2f}", f"± {100 * record.noise:.1f} %", said)
        for file, record, said in zip((first, second), records, flags, strict=True)
    ]
    console().print(
        table(["file", "images/sec", "noise", "flags"], rows, wrap={"flags"}, right={"images/sec", "noise"})
    )
    print(f"second / first: {difference.ratio:.3f} ± {difference.sure:.3f}: {_verdict(difference)}")


def _train_here(options: TrainOptions, output: Output, tell_result: bool) -> Record:
    """This process's part. Lines go to stdout where the result does not."""
    from shoal.bench.record import RESULT, Record

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        from shoal.bench.replica import train as train_part
    except ModuleNotFoundError as missing:
        refuse(f"this needs {missing.name}, which is not installed", 'pip install "shoal[tensorflow]"')
    lines = sys.stderr if output is Output.JSON else sys.stdout
    part = train_part(options, lambda line: print(line, file=lines, flush=True))
    if tell_result:
        print(f"{RESULT}{json.dumps(asdict(part))}", flush=True)
    return Record(options.flags, {}, [part])


def _show(record: Record) -> None:
    rows = [
        (
            each["replica"],
            f"{each['images_per_second']:.2f}",
            f"± {each['uncertainty']:.2f}",
            *(f"{each['step_ms'][p]:.1f}" for p in ("p50", "p90", "p99")),
            f"{each['last_loss']:.3f}" if each["last_loss"] is not None else "",
        )
        for each in record.summary()["replicas"]
    ]
    heading = ["replica", "images/sec", "", "step p50 ms", "p90 ms", "p99 ms", "loss"]
    console().print(table(heading, rows, right=heading[1:]))


def _verdict(difference: Any) -> str:
    if difference.sure != difference.sure:
        return "too few steps to tell the noise (four at least)"
    if not difference.tells:
        return "no difference that noise does not explain"
    return f"the second is {'faster' if difference.ratio > 1 else 'slower'}"
