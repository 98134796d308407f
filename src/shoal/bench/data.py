"""What a model is fed: images that are made up, or real ones from files.

* `imagenet`: TFRecord files `train-*` with `image/encoded` (JPEG or PNG) and `image/class/label` from 1, as
  TensorFlow's scripts write ImageNet; or, where there are none, a folder of images for each class.
* `cifar10`: the Python version, `data_batch_*` (https://www.cs.toronto.edu/~kriz/cifar.html).

Images are scaled to the model's size, and their values to -1 … 1.
"""

from __future__ import annotations

import pickle
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

from shoal.bench.options import DataName, OptionError

T = TypeVar("T")

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif")
SHUFFLED = 1024
"""Among how many images the next one is drawn."""


def dataset(
    name: DataName, folder: Path | None, batch: int, shape: tuple[int, int, int], *, shard: int, shards: int
) -> Any:
    """An endless `tf.data.Dataset` of `batch` images of `shape` (float32) and labels (int32, from 0). Of `shards`
    processes each has other files or images, where there are enough. Raises OptionError for a folder without such
    data."""
    import tensorflow as tf

    if name is DataName.SYNTHETIC or folder is None:
        # One batch, over and over: nothing is computed, so the input is never what is waited for.
        images = tf.random.stateless_normal((batch, *shape), (0, shard))
        labels = tf.random.stateless_uniform((batch,), (1, shard), maxval=1000, dtype=tf.int32)
        return tf.data.Dataset.from_tensors((images, labels)).repeat()

    if not folder.is_dir():
        raise OptionError(f"--data-dir {folder}: there is no such folder")
    channels_first = shape[0] == 3
    side = shape[1]

    def scaled(image: Any, label: Any) -> tuple[Any, Any]:
        image = tf.image.resize(image, (side, side)) / 127.5 - 1
        return (tf.transpose(image, (2, 0, 1)) if channels_first else image), label

    examples = (_cifar10 if name is DataName.CIFAR10 else _imagenet)(folder, shard, shards)
    examples = examples.repeat().shuffle(SHUFFLED).map(scaled, num_parallel_calls=tf.data.AUTOTUNE)
    return examples.batch(batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def _imagenet(folder: Path, shard: int, shards: int) -> Any:
    import tensorflow as tf

    def decoded(encoded: Any, label: Any) -> tuple[Any, Any]:
        return tf.io.decode_image(encoded, channels=3, expand_animations=False), label

    def parsed(record: Any) -> tuple[Any, Any]:
        features = {
            "image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64),
        }
        found = tf.io.parse_single_example(record, features)
        return decoded(found["image/encoded"], tf.cast(found["image/class/label"], tf.int32) - 1)

    records = sorted(map(str, folder.glob("train-*")))
    if records:
        mine = tf.data.TFRecordDataset(_own(records, shard, shards), num_parallel_reads=tf.data.AUTOTUNE)
        return mine.map(parsed, tf.data.AUTOTUNE)
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    images = [
        (str(file), label)
        for label, path in enumerate(classes)
        for file in sorted(path.iterdir())
        if file.suffix.lower() in SUFFIXES
    ]
    if not images:
        raise OptionError(
            f"--data-dir {folder}: there are no TFRecord files train-*, and no folders with images",
            "docs/benchmarks.md says what is read",
        )
    files, labels = zip(*_own(images, shard, shards), strict=True)
    listed = tf.data.Dataset.from_tensor_slices((list(files), tf.constant(labels, tf.int32))).shuffle(len(files))
    return listed.map(lambda file, label: decoded(tf.io.read_file(file), label), tf.data.AUTOTUNE)


def _cifar10(folder: Path, shard: int, shards: int) -> Any:
    import numpy as np
    import tensorflow as tf

    files = sorted(folder.glob("data_batch_*")) or sorted(folder.glob("cifar-10-batches-py/data_batch_*"))
    if not files:
        raise OptionError(
            f"--data-dir {folder}: there are no files data_batch_*", "give the folder of CIFAR-10's Python version"
        )
    read = [_Unpickler(BytesIO(file.read_bytes()), encoding="bytes").load() for file in files]
    images = np.concatenate([each[b"data"] for each in read]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    labels = np.concatenate([each[b"labels"] for each in read]).astype(np.int32)
    return tf.data.Dataset.from_tensor_slices((images, labels)).shard(shards, shard)


def _own(found: list[T], shard: int, shards: int) -> list[T]:
    """This process's part; all, where there is less than one for each."""
    return found[shard::shards] if len(found) >= shards else found


ARRAYS = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.numeric", "_frombuffer"),
    ("_codecs", "encode"),
}
"""What a pickle of arrays names."""


class _Unpickler(pickle.Unpickler):
    """Reads arrays alone: a pickle from elsewhere may not call anything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in ARRAYS:
            return super().find_class(module, name)
        raise OptionError(f"a data_batch file names {module}.{name}, which CIFAR-10 has no use for")
