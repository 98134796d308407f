"""The benchmark models: their size beside what was published, their training in each mode, and what `shoal bench` adds.

    python benchmarks/models.py     prints the tables, and writes them to benchmarks/models.md (a quarter of an hour)

* Sizes are counted: variables by Keras, multiply-adds of one image's forward pass by TensorFlow's profiler, whose
  operations are two a multiply-add.
* Every model takes some steps on synthetic images in one process and in two jobs, as users run them: `shoal bench
  train`. The first and the last loss tell that it learns.
* A step of `shoal bench` and one of Keras's own `train_on_batch` of the same model and batch take turns in one process,
  since the speed of a shared machine drifts. Goal: a median ratio of at most 1.02.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

TABLE = Path(__file__).with_suffix(".md")
SHOAL = [sys.executable, "-c", "from shoal.cli import main; main()"]
IMAGENET = ["resnet50", "resnet152", "inception3", "vgg16", "googlenet", "alexnet"]
MODES = {
    "one process": [],
    "ps=1, worker=2": ["--variable-update=parameter_server", "--job=ps=1,worker=2"],
    "worker=2, all-reduce": ["--variable-update=collective_all_reduce", "--job=worker=2"],
}
BATCH, STEPS, WARMUP = 2, 6, 1
PAIRS = 30


def main() -> None:
    begin = time.monotonic()
    sizes_heading = ["model", "variables", "published", "by", "G multiply-adds", "published", "by"]
    added_heading = ["model", "batch", "Keras, ms", "shoal bench, ms", "median ratio", "goal", "next batch, ms"]
    lines = [
        "# The benchmark models",
        "",
        f"{date.today()}, {os.cpu_count()} cores, no GPU, Python {platform.python_version()}; load average before "
        f"{os.getloadavg()[0]:.1f}.",
        "Made by `python benchmarks/models.py`.",
        "",
        "## Size",
        "",
        *table(sizes_heading, sizes()),
        "",
        "## What `shoal bench` adds to a step",
        "",
        *table(added_heading, overheads()),
        "",
        f"Medians of {PAIRS} pairs. The next batch is what the input takes of a step.",
        "",
        "## Training",
        "",
        f"{STEPS} steps of {BATCH} images a worker after {WARMUP} step of warm-up, plain SGD.",
        "",
        *table(["model", "mode", "images/s", "first loss", "last loss"], trained()),
    ]
    lines += ["", f"It took {(time.monotonic() - begin) / 60:.0f} minutes.", ""]
    TABLE.write_text("\n".join(lines), encoding="utf-8")
    print(TABLE.read_text(encoding="utf-8"))


def table(heading: list[str], rows: Any) -> list[str]:
    def line(cells: Any) -> str:
        return f"| {' | '.join(map(str, cells))} |"

    return [line(heading), line("---" for _ in heading), *map(line, rows)]


def sizes() -> Any:
    import tensorflow as tf

    from shoal.bench.models import MODELS, build

    for model, known in MODELS.items():
        made = build(model)
        forward = tf.function(lambda images, made=made: made(images, training=False))
        graph = forward.get_concrete_function(tf.TensorSpec((1, *made.input_shape[1:]))).graph
        asked = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
        asked["output"] = "none"
        operations = tf.compat.v1.profiler.profile(graph=graph, options=asked).total_float_ops
        yield (
            model,
            f"{made.count_params():,}",
            f"{known.parameters:,}",
            known.parameters_source,
            f"{operations / 2e9:.2f}",
            known.multiply_adds or "",
            known.multiply_adds_source,
        )


def overheads() -> Any:
    import keras
    import tensorflow as tf

    import shoal.tf
    from shoal.bench.data import dataset
    from shoal.bench.models import build, input_shape
    from shoal.bench.options import DataName, Model, TrainOptions
    from shoal.bench.replica import train_here

    for model, batch in ((Model.TRIVIAL, 32), (Model.GOOGLENET, 4), (Model.RESNET50, 4)):
        shape = input_shape(model, "channels_last")
        batches = iter(dataset(DataName.SYNTHETIC, None, batch, shape, shard=0, shards=1))
        images, labels = next(batches)
        own = build(model)
        own.compile(
            keras.optimizers.SGD(0.005), keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False
        )
        options = TrainOptions(model, batch_size=batch, weight_decay=0)
        take = train_here(options, tf.distribute.get_strategy(), shoal.tf.Cluster())
        times: dict[str, list[float]] = {"keras": [], "shoal": [], "input": []}
        for pair in range(PAIRS + 2):
            steps = {"keras": partial(own.train_on_batch, images, labels), "shoal": partial(take, 1)}
            # Whoever comes second finds the other's data in the caches: they take turns at that, too.
            for name in sorted(steps, reverse=pair % 2 == 1):
                times[name].append(timed(steps[name]))
            times["input"].append(timed(partial(next, batches)))
        told = [1000 * statistics.median(times[name][2:]) for name in ("keras", "shoal", "input")]
        keras_ms, shoal_ms, input_ms = told
        ratio = statistics.median(s / k for s, k in zip(times["shoal"][2:], times["keras"][2:], strict=True))
        yield model, batch, f"{keras_ms:.2f}", f"{shoal_ms:.2f}", f"{ratio:.3f}", "≤ 1.02", f"{input_ms:.3f}"


def timed(step: Any) -> float:
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def trained() -> Any:
    for model in IMAGENET:
        for mode, words in MODES.items():
            with TemporaryDirectory() as home:
                flags = [f"--model={model}", f"--batch-size={BATCH}", f"--num-batches={STEPS}"]
                flags += [f"--num-warmup-batches={WARMUP}", "--display-every=1", "--output=json", *words]
                done = subprocess.run(
                    [*SHOAL, "bench", "train", *flags],
                    env={**os.environ, "SHOAL_HOME": home},
                    capture_output=True,
                    text=True,
                    check=False,
                )
            if done.returncode:
                raise SystemExit(f"{model}, {mode} failed:\n{done.stderr[-2000:]}")
            told = json.loads(done.stdout)
            part = told["replicas"][0]
            print(model, mode, told["images_per_second"], file=sys.stderr)
            yield (
                model,
                mode,
                f"{told['images_per_second']:.2f}",
                f"{part['first_loss']:.3f}",
                f"{part['last_loss']:.3f}",
            )


if __name__ == "__main__":
    main()
