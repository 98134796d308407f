"""`shoal bench` with real TensorFlow: models against published counts, real images, and a job of several processes."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoal.bench.options import OptionError

pytestmark = pytest.mark.timeout(300)

SHOAL = [sys.executable, "-c", "from shoal.cli import main; main()"]
COLOURS = ((250, 20, 20), (20, 250, 20), (20, 20, 250))


def bench(home: Path, *words: str, code: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `shoal bench`."""
    done = subprocess.run(
        [*SHOAL, "bench", *words],
        env={**os.environ, "SHOAL_HOME": str(home), "CUDA_VISIBLE_DEVICES": "-1", **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == code, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three classes of twelve images, as a folder each: one colour, and some noise."""
    import tensorflow as tf

    folder = tmp_path_factory.mktemp("images")
    draw = np.random.default_rng(1)
    for label, colour in enumerate(COLOURS):
        (folder / f"class-{label}").mkdir()
        for i in range(12):
            pixels = np.clip(np.array(colour) + draw.normal(0, 10, (40, 50, 3)), 0, 255).astype(np.uint8)
            (folder / f"class-{label}" / f"{i}.png").write_bytes(tf.io.encode_png(pixels).numpy())
    return folder


def test_parameters_and_outputs_are_those_that_were_published() -> None:
    from shoal.bench.models import MODELS, alexnet, build

    for model, known in MODELS.items():
        made = build(model)
        assert made.count_params() == known.parameters
        assert made.output_shape == (None, 1000)
        if known.multiply_adds:
            # Papers round, and leave out what is not a convolution or a full layer.
            assert multiply_adds(made) / 1e9 == pytest.approx(known.multiply_adds, rel=0.21), model
    # torchvision's AlexNet, by its documentation.
    assert alexnet.build((227, 227, 3), fourth=256).count_params() == 61_100_840


def multiply_adds(model: Any) -> float:
    """Of one image's forward pass, by TensorFlow's profiler, whose operations are two a multiply-add."""
    import tensorflow as tf

    forward = tf.function(lambda images: model(images, training=False))
    graph = forward.get_concrete_function(tf.TensorSpec((1, *model.input_shape[1:]))).graph
    asked = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation() | {"output": "none"}
    return float(tf.compat.v1.profiler.profile(graph=graph, options=asked).total_float_ops) / 2


def test_real_images_are_learnt_and_every_form_of_them_says_the_same(images: Path, tmp_path: Path) -> None:
    from shoal.bench.data import dataset
    from shoal.bench.options import DataName

    records, cifar = tmp_path / "records", tmp_path / "cifar"
    write_records(images, records)
    write_cifar(cifar)
    for folder, name in ((images, DataName.IMAGENET), (records, DataName.IMAGENET), (cifar, DataName.CIFAR10)):
        found, labels = next(iter(dataset(name, folder, 16, (24, 24, 3), shard=0, shards=1)))
        assert (found.shape, found.dtype.name, labels.dtype.name) == ((16, 24, 24, 3), "float32", "int32")
        brightest = found.numpy().mean(axis=(1, 2)).argmax(axis=1)
        assert (brightest == labels.numpy()).all(), folder
        assert -1 <= found.numpy().min() < -0.5 < 0.5 < found.numpy().max() <= 1
    # Of two processes each has files of its own.
    halves = [seen(dataset(DataName.IMAGENET, records, 12, (8, 8, 3), shard=shard, shards=2)) for shard in (0, 1)]
    assert not halves[0] & halves[1]
    # Without warm-up, so that the first loss is that of a model that has learnt nothing: ln 1000.
    words = ("--num_warmup_batches=0", "--optimizer=adam", "--data_name=imagenet", "-o", "json")
    for model in (
        ("--model=trivial", "--batch_size=12", "--num_batches=50", "--learning_rate=0.02", f"--data_dir={images}"),
        ("--model=googlenet", "--batch_size=6", "--num_batches=16", "--learning_rate=0.001", f"--data_dir={records}"),
    ):
        told = json.loads(bench(tmp_path, "train", *words, *model).stdout)["replicas"][0]
        assert told["first_loss"] == pytest.approx(np.log(1000), rel=0.3), model
        assert told["last_loss"] < 0.6 * told["first_loss"], model


def test_momentum_looks_ahead_as_that_of_tf_cnn_benchmarks() -> None:
    from shoal.bench.options import Optimizer, TrainOptions
    from shoal.bench.replica import _optimizer

    made = _optimizer(TrainOptions(optimizer=Optimizer.MOMENTUM))
    assert (made.momentum, made.nesterov) == (0.9, True)


def test_a_folder_without_data_is_named(tmp_path: Path) -> None:
    from shoal.bench.data import dataset
    from shoal.bench.options import DataName

    for name, told in ((DataName.IMAGENET, "no TFRecord files"), (DataName.CIFAR10, "no files data_batch_")):
        with pytest.raises(OptionError, match=told):
            dataset(name, tmp_path, 1, (8, 8, 3), shard=0, shards=1)
    done = bench(tmp_path, "train", "--data_name=imagenet", f"--data_dir={tmp_path}/none", code=2)
    assert f"error: --data-dir {tmp_path}/none: there is no such folder" in done.stderr


def test_a_pickle_that_would_run_something_is_refused(tmp_path: Path) -> None:
    from shoal.bench.data import dataset
    from shoal.bench.options import DataName

    (tmp_path / "data_batch_1").write_bytes(pickle.dumps(Runs()))
    with pytest.raises(OptionError, match=r"posix\.system"):
        dataset(DataName.CIFAR10, tmp_path, 1, (8, 8, 3), shard=0, shards=1)
    assert not (tmp_path / "ran").exists()


class Runs:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch ran",)


def test_a_job_with_a_parameter_server_tells_one_result_and_leaves_nothing(tmp_path: Path) -> None:
    saved, drawn = tmp_path / "a.json", tmp_path / "a.svg"
    words = ("--batch-size=2", "--num-batches=8", "--num-warmup-batches=2", "--display-every=2", "--job=ps=1,worker=2")
    done = bench(tmp_path, "train", *words, f"--save={saved}", f"--plot={drawn}")
    assert "total images/sec: " in done.stdout
    (part,) = json.loads(saved.read_text())["parts"]
    # Eight steps of two images, timed four at a time.
    assert (part["replica"], part["images"], part["steps"], len(part["seconds"])) == ("chief-0", 8, 4, 2)
    assert drawn.read_text().startswith("<svg")
    assert not list((tmp_path / "runs").glob("[!.]*"))
    same = bench(tmp_path, "compare", str(saved), str(saved)).stdout
    assert "second / first: 1.000" in same


def test_workers_in_step_tell_a_result_each_and_as_tf_cnn_benchmarks_spells_it(tmp_path: Path) -> None:
    words = ("--batch_size=2", "--num_batches=4", "--num_warmup_batches=1", "--variable_update=collective_all_reduce")
    done = bench(tmp_path, "train", *words, "--job=worker=2", "-o", "json")
    replicas = json.loads(done.stdout)["replicas"]
    assert [each["replica"] for each in replicas] == ["worker-0", "worker-1"]
    assert replicas[0]["last_loss"] == pytest.approx(replicas[1]["last_loss"], rel=1e-5)


def test_a_gpu_that_is_not_there_is_missed(tmp_path: Path) -> None:
    done = bench(tmp_path, "train", "--device=gpu", "--local_parameter_device=gpu", code=2)
    assert "error: 1 GPU asked for, and TensorFlow sees none" in done.stderr


def write_records(images: Path, folder: Path) -> None:
    """TFRecord files as of ImageNet: labels count from 1."""
    import tensorflow as tf

    folder.mkdir()
    files = sorted(images.glob("class-*/*.png"))
    for part in range(2):
        with tf.io.TFRecordWriter(str(folder / f"train-0000{part}-of-00002")) as writer:
            for file in files[part::2]:
                label = int(file.parent.name.removeprefix("class-")) + 1
                feature = {
                    "image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[file.read_bytes()])),
                    "image/class/label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                }
                writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def write_cifar(folder: Path) -> None:
    """As the Python version of CIFAR-10: rows of 1,024 reds, greens and blues."""
    folder.mkdir()
    for number in (1, 2):
        labels = [i % 3 for i in range(9)]
        rows = np.stack([np.repeat(np.array(COLOURS[label], np.uint8), 1024) for label in labels])
        told = {b"data": rows, b"labels": labels, b"batch_label": b"x"}
        (folder / f"data_batch_{number}").write_bytes(pickle.dumps(told, protocol=2))


def seen(data: Any) -> set[bytes]:
    """The images of some batches."""
    return {image.tobytes() for batch, _ in data.take(4) for image in batch.numpy()}


def test_a_benchmark_model_is_exported_for_a_model_server(tmp_path: Path) -> None:
    from shoal.serving.model import Model as Served

    base = tmp_path / "served" / "trivial"
    assert bench(tmp_path, "export", str(base), "--model", "trivial").stdout == f"{base / '1'}\n"
    again = bench(tmp_path, "export", str(base), "--model", "trivial", "--version", "1", code=2)
    assert f"{base / '1'}: that version is there already" in again.stderr
    assert [entry.name for entry in base.iterdir()] == ["1"]
    model = Served(base / "1")
    signature = model.signatures["serving_default"]
    images = np.random.default_rng(1).random((2, 227, 227, 3), np.float32)
    names = ["logits", "classes"]
    logits, classes = model.run(
        {signature.inputs["images"].name: images}, [signature.outputs[name].name for name in names]
    )
    assert (logits.shape, logits.dtype) == ((2, 1000), np.float32)
    assert list(classes) == list(logits.argmax(axis=1))
