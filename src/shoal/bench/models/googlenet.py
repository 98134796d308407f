"""GoogLeNet, or Inception v1: Szegedy et al., "Going Deeper with Convolutions" (2014), https://arxiv.org/abs/1409.4842.

The network of its table 1 with biases, without batch normalisation, and like tf_cnn_benchmarks' without the local
response normalisation and the two auxiliary classifiers, which only training from scratch to full accuracy needs.
"""

from __future__ import annotations

from typing import Any

INCEPTIONS: dict[str, tuple[tuple[int, int, int, int, int, int], ...]] = {
    "3": ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)),
    "4": (
        (192, 96, 208, 16, 48, 64),
        (160, 112, 224, 24, 64, 64),
        (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64),
        (256, 160, 320, 32, 128, 128),
    ),
    "5": ((256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)),
}
"""Table 1's columns: #1×1, #3×3 reduce, #3×3, #5×5 reduce, #5×5, pool proj."""


def build(shape: tuple[int, int, int]) -> Any:
    """The Keras model; logits of 1,000 classes."""
    from keras import Input, Model, layers

    channels = 1 if shape[0] == 3 else -1

    def conv(x: Any, filters: int, size: int, strides: int = 1) -> Any:
        return layers.Conv2D(filters, size, strides, padding="same", activation="relu")(x)

    def inception(x: Any, one: int, to3: int, three: int, to5: int, five: int, pooled: int) -> Any:
        pool = layers.MaxPooling2D(3, 1, padding="same")(x)
        towers = [
            conv(x, one, 1),
            conv(conv(x, to3, 1), three, 3),
            conv(conv(x, to5, 1), five, 5),
            conv(pool, pooled, 1),
        ]
        return layers.Concatenate(axis=channels)(towers)

    images = Input(shape)
    x = conv(images, 64, 7, 2)
    x = layers.MaxPooling2D(3, 2, padding="same")(x)
    x = conv(conv(x, 64, 1), 192, 3)
    for stage in INCEPTIONS.values():
        x = layers.MaxPooling2D(3, 2, padding="same")(x)
        for numbers in stage:
            x = inception(x, *numbers)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dropout(0.4)(x)
    return Model(images, layers.Dense(1000)(x), name="googlenet")
