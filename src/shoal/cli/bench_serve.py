"""`shoal bench serve`: put a load on a model server and tell how it bears it; and two such loads compared."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.model_server import CaOption, LabelOption, RestOption, VersionOption, asked, connection
from shoal.cli.table import table
from shoal.cli.terminal import Exit, Output, console, need_folder, refuse, say

if TYPE_CHECKING:
    from shoal.bench.load.result import LoadRecord
    from shoal.bench.load.tally import Counts, Failure
    from shoal.bench.record import Difference

BUSY = 0.9
"""A generator that waits for less than the rest of the time is a bound of its own."""

GRPC_CONNECTIONS = 8
"""How many connections share the calls in flight, unless more or fewer are asked for."""


def serve(
    model: Annotated[str | None, typer.Option("--model", "-m", help="The model; the server's only one.")] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            "--url",
            "--grpc",
            envvar="SHOAL_AT",
            metavar="HOST:PORT|URL",
            help="The server. HOST:PORT, grpcs://…: over gRPC; http://…, https://…: over REST. "
            "Default: this machine, 8500 for gRPC.",
        ),
    ] = None,
    rest: RestOption = False,
    signature: Annotated[str, typer.Option("--signature", "--signature-name", help="By default serving_default.")] = "",
    version: VersionOption = None,
    label: LabelOption = "",
    files: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", metavar="[NAME=]FILE", help="What is sent, as for `shoal predict`. Repeatable."),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Without --input: rows of made-up input in a request.")] = 1,
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, help="Requests under way at once (16); with --rate, at most (128).", show_default=False),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(min=0.001, help="Requests a second, due whether or not the last were answered: an open loop."),
    ] = None,
    poisson: Annotated[bool, typer.Option("--poisson", help="With --rate: by chance, and not evenly.")] = False,
    duration: Annotated[str, typer.Option(help="How long is measured, in seconds: 10, or 10s.")] = "10s",
    warmup: Annotated[str, typer.Option(help="How long the load goes on before that.")] = "2s",
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds after which a request has failed.")] = 10.0,
    processes: Annotated[int, typer.Option(min=1, help="Processes that ask; one uses one processor.")] = 1,
    connections: Annotated[
        int | None, typer.Option(min=1, help="With gRPC: connections that share the calls.", show_default=False)
    ] = None,
    ca: CaOption = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the result for `shoal bench compare`.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw the latency by percentile into this file.")
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="How the result is written.")] = Output.TABLE,
) -> None:
    """Ask a model server, ours or TensorFlow Serving, for predictions, and tell requests a second and latencies.

    Without --rate each connection sends its next request when the last was answered. With it, latency counts from when
    a request was due, so that a server that stalls cannot hide it.
    """
    need_folder("--save", save)
    need_folder("--plot", plot)
    if poisson and rate is None:
        refuse("--poisson says how the requests of --rate follow each other", "add --rate, or leave it out")
    measured, before = _seconds("--duration", duration), _seconds("--warmup", warmup)
    if not measured:
        refuse("--duration 0: nothing would be measured", "as in 10s")
    in_flight = concurrency or (16 if rate is None else 128)
    if processes > in_flight:
        refuse(f"--processes {processes}: only {in_flight} requests are under way at once", "raise --concurrency")
    server = connection(at, rest, timeout, ca)
    _need_hpack()
    from shoal.bench.load.engine import Plan
    from shoal.bench.load.processes import Load
    from shoal.bench.load.result import Asked, LoadRecord
    from shoal.bench.load.schedule import Arrivals
    from shoal.bench.load.target import Target
    from shoal.bench.options import OptionError
    from shoal.serving.client import request, sources
    from shoal.serving.client.address import parse
    from shoal.serving.client.inputs import Given

    address = parse(at, rest)
    if connections is not None and address.rest:
        refuse("--connections is for gRPC", "over REST each request under way has a connection of its own")
    chosen = asked(server, model, version, label)
    given = Given([sources.read_source(words) for words in files or ()])
    made = request.prepare(server, address, chosen, given, signature, batch_size)
    server.close()
    shared = in_flight if address.rest else min(in_flight, max(processes, connections or GRPC_CONNECTIONS))
    arrivals = Arrivals.POISSON if poisson else Arrivals.CONSTANT
    target = Target(made.host, made.port, made.path, made.body, not address.rest, address.secure, ca)
    plan = Plan(target, in_flight, shared, measured, before, timeout, rate, arrivals, of=processes)
    what = Asked(
        str(address),
        "REST" if address.rest else "gRPC",
        chosen.name,
        made.version,
        made.signature,
        made.rows,
        in_flight,
        shared,
        processes,
        rate,
        arrivals.value,
        measured,
        before,
    )
    try:
        counts, interrupted = _run(Load(plan), f"{what}: {before + measured:g} s")
    except OptionError as fault:
        refuse(str(fault), fault.hint)
    record = LoadRecord(what, counts)
    if save:
        save.write_text(record.dump(), encoding="utf-8")
    if plot and counts.latency.counts:
        from shoal.bench.load.plot import curve

        plot.write_text(curve(record), encoding="utf-8")
    if output is Output.JSON:
        print(json.dumps(record.summary(), indent=2))
    else:
        _show(record)
    if interrupted:
        raise SystemExit(Exit.INTERRUPTED)
    if not sum(counts.answered):
        raise SystemExit(Exit.FAILED)


def compare(first: Path, second: Path, output: Output) -> None:
    """How the second load went against the first, and what of it noise alone explains. Raises OptionError."""
    from shoal.bench.load.result import LoadRecord, differences

    records = [LoadRecord.load(first), LoadRecord.load(second)]
    found = differences(*records)
    if output is Output.JSON:
        told = {
            name: {"ratio": _number(each.ratio), "sure": _number(each.sure), "tells": each.tells}
            for name, each in found.items()
        }
        print(json.dumps({**told, "first": records[0].summary(), "second": records[1].summary()}, indent=2))
        return
    rows = [
        (
            str(file),
            f"{record.rate.value:,.1f}",
            _share(record.rate.noise),
            f"{1000 * record.median.value:.3f}",
            f"{1000 * record.p99.value:.3f}",
            _share(record.p99.noise),
            f"{record.counts.failed:,}",
            str(record.asked),
        )
        for file, record in zip((first, second), records, strict=True)
    ]
    heading = ["file", "requests/s", "", "p50 ms", "p99 ms", " ", "failed", "load"]
    console().print(table(heading, rows, wrap={"load"}, right=heading[1:-1]))
    for name, each in found.items():
        print(f"second / first, {name}: {each.ratio:.3f} ± {each.sure:.3f}: {_verdict(each)}")


def _run(load: Any, said: str) -> tuple[Counts, bool]:
    """What was counted, and whether it was interrupted."""
    interrupted = False

    def stop(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        load.stop()

    handlers = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return load.run(lambda: say(said)), interrupted
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _show(record: LoadRecord) -> None:
    if not record.counts.seconds:
        say("it ended in the warm-up: nothing was measured")
        return
    told = record.summary()
    heading = ["requests/s", "noise", *(f"{name} ms" for name in told["latency_ms"]), "sent MB/s", "received MB/s"]
    row = [
        f"{record.rate.value:,.1f}",
        _share(record.rate.noise),
        *(_milliseconds(value) for value in told["latency_ms"].values()),
        f"{told['sent_bytes'] / record.counts.seconds / 1e6:.2f}",
        f"{told['received_bytes'] / record.counts.seconds / 1e6:.2f}",
    ]
    rows = [row]
    if "corrected_latency_ms" in told:
        corrected = [_milliseconds(value) for value in told["corrected_latency_ms"].values()]
        rows.append(["corrected", "", *corrected, "", ""])
    console().print(table(heading, rows, right=heading))
    counts = record.counts
    total = sum(counts.answered) + counts.failed
    print(f"failed: {counts.failed:,} of {total:,}")
    _list(counts.failures)
    if counts.early_failures:
        print(f"failed in the warm-up: {sum(each.count for each in counts.early_failures.values()):,}")
        _list(counts.early_failures)
    if counts.queued:
        print(f"{counts.queued:,} requests were sent late, and count from when they were due")
    if counts.busy > BUSY:
        say(f"the generator itself was busy {100 * counts.busy:.0f} % of the time: more --processes may ask faster")


def _list(failures: dict[str, Failure]) -> None:
    for kind, failure in sorted(failures.items(), key=lambda each: -each[1].count):
        print(f"  {failure.count:,} × {kind}{f': {failure.message}' if failure.message else ''}")


def _seconds(flag: str, text: str) -> float:
    units = {"ms": 0.001, "s": 1.0, "m": 60.0}
    number = text.strip().rstrip("ms")
    try:
        seconds = float(number) * units[text.strip()[len(number) :] or "s"]
    except (ValueError, KeyError):
        seconds = -1
    if not 0 <= seconds < 1e6:
        refuse(f"{flag} {text}: expected seconds", "as in 10, 10s, 500ms or 2m")
    return seconds


def _need_hpack() -> None:
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        import hpack  # noqa: F401
    except ModuleNotFoundError:
        refuse("a load generator needs hpack, which this Python has not", 'pip install "shoal[client]"')


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _number(value: float) -> float | None:
    return None if value != value else round(value, 4)


def _share(noise: float) -> str:
    return "" if noise != noise else f"± {100 * noise:.1f} %"


def _verdict(difference: Difference) -> str:
    if difference.sure != difference.sure:
        return "too short to tell the noise"
    if not difference.tells:
        return "no difference that noise does not explain"
    return f"the second is {'higher' if difference.ratio > 1 else 'lower'}"
