"""AlexNet in one tower, as tf_cnn_benchmarks has it.

Krizhevsky, Sutskever and Hinton, "ImageNet Classification with Deep Convolutional Neural Networks" (2012), in the
variant of Krizhevsky, "One weird trick for parallelizing convolutional neural networks" (2014),
https://arxiv.org/abs/1404.5997: no groups, no local response normalisation. torchvision's differs in one layer, the
fourth, with 256 filters for 384.
"""

from __future__ import annotations

from typing import Any


def build(shape: tuple[int, int, int], fourth: int = 384) -> Any:
    """The Keras model; logits of 1,000 classes. `fourth` is the number of filters of the fourth convolution."""
    from keras import Input, Model, layers

    def conv(x: Any, filters: int, size: int, strides: int = 1, padding: str = "same") -> Any:
        return layers.Conv2D(filters, size, strides, padding=padding, activation="relu")(x)

    images = Input(shape)
    x = conv(images, 64, 11, 4, "valid")
    x = layers.MaxPooling2D(3, 2)(x)
    x = conv(x, 192, 5)
    x = layers.MaxPooling2D(3, 2)(x)
    x = conv(x, 384, 3)
    x = conv(x, fourth, 3)
    x = conv(x, 256, 3)
    x = layers.MaxPooling2D(3, 2)(x)
    x = layers.Flatten()(x)
    for _ in range(2):
        x = layers.Dense(4096, activation="relu")(x)
        x = layers.Dropout(0.5)(x)
    return Model(images, layers.Dense(1000)(x), name="alexnet")
