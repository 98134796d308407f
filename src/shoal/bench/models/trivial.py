"""Next to no model: what a step costs beside its model, as tf_cnn_benchmarks' `trivial` shows it."""

from __future__ import annotations

from typing import Any


def build(shape: tuple[int, int, int]) -> Any:
    """The Keras model: two dense layers, of 1 and of 4,096 units, and logits of 1,000 classes."""
    from keras import Input, Model, layers

    images = Input(shape)
    x = layers.Flatten()(images)
    x = layers.Dense(1, activation="relu")(x)
    x = layers.Dense(4096, activation="relu")(x)
    return Model(images, layers.Dense(1000)(x), name="trivial")
