"""The classifier that the scripts train: one hidden layer. What it is worth, and how it is exported."""

from __future__ import annotations

import tensorflow as tf

import shoal.tf


def keras_model(keras):
    """Logits [n, 10] of images [n, 784], as a model of `keras` (Keras 3) or `tf_keras`."""
    return keras.Sequential(
        [
            keras.Input((784,), name="images"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(10),
        ]
    )


def export(model, folder) -> None:
    """Export a model of logits with a signature: images [n, 784] in, probabilities [n, 10] and classes [n] out."""

    @tf.function(input_signature=[tf.TensorSpec([None, 784], tf.float32, name="images")])
    def classify(images):
        logits = model(images)
        return {"probabilities": tf.nn.softmax(logits), "classes": tf.argmax(logits, axis=1)}

    shoal.tf.export(model, folder / "model", signatures={"serving_default": classify})


def accuracy(model, images, labels) -> float:
    """The part of the images that the model tells right."""
    return float(tf.reduce_mean(tf.cast(tf.argmax(model(images), axis=1) == labels, tf.float32)))
