"""A benchmark model as a SavedModel: what a model server of it costs, without training it first."""

from __future__ import annotations

from pathlib import Path

import keras
import tensorflow as tf

from shoal.bench.models import build, input_shape
from shoal.bench.options import Model


def export(model: Model, folder: Path, seed: int = 1) -> None:
    """Write the model with random weights. Its `serving_default` takes `images`, float32 [n, side, side, 3], and gives
    `logits`, float32 [n, 1000], and `classes`, int64 [n]."""
    keras.utils.set_random_seed(seed)
    keras.config.set_image_data_format("channels_last")
    built = build(model)

    def answer(images: tf.Tensor) -> dict[str, tf.Tensor]:
        logits = built(images, training=False)
        return {"logits": logits, "classes": tf.argmax(logits, axis=-1)}

    images = tf.TensorSpec([None, *input_shape(model, "channels_last")], tf.float32, name="images")
    archive = keras.export.ExportArchive()
    archive.track(built)
    archive.add_endpoint("serve", answer, input_signature=[images])
    archive.write_out(str(folder), verbose=False)
