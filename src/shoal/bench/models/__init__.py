"""The benchmark models, with what was published of their size.

ResNet-50, ResNet-152, Inception v3 and VGG-16 are Keras's own (`keras.applications`); GoogLeNet and AlexNet are written
here after their papers. All have 1,000 classes and give logits. TensorFlow is imported when a model is built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shoal.bench.options import Model


@dataclass(frozen=True, slots=True)
class Published:
    """What is known of a model. `side` is that of its square input, in pixels; `parameters` those of this variant, and
    `parameters_source` who counted them; `multiply_adds` of one image's forward pass, in thousands of millions, and
    whose number."""

    side: int
    parameters: int
    parameters_source: str
    multiply_adds: float | None
    multiply_adds_source: str


MODELS: dict[Model, Published] = {
    Model.RESNET50: Published(224, 25_636_712, "keras.applications", 3.8, "He et al. 2015, arXiv:1512.03385, table 1"),
    Model.RESNET152: Published(
        224, 60_419_944, "keras.applications", 11.3, "He et al. 2015, arXiv:1512.03385, table 1"
    ),
    Model.INCEPTION3: Published(299, 23_851_784, "keras.applications", 5.0, "Szegedy et al. 2015, arXiv:1512.00567"),
    Model.VGG16: Published(224, 138_357_544, "keras.applications", 15.5, "Canziani et al. 2016, arXiv:1605.07678"),
    Model.GOOGLENET: Published(224, 6_998_552, "BVLC GoogLeNet of Caffe", 1.5, "Szegedy et al. 2014, arXiv:1409.4842"),
    Model.ALEXNET: Published(
        227,
        61_838_248,
        "by hand; torchvision 61,100,840 with 256 for 384 in the fourth",
        0.7,
        "Canziani et al. 2016, arXiv:1605.07678",
    ),
    Model.TRIVIAL: Published(227, 4_259_780, "by hand", None, ""),
}


def build(model: Model) -> Any:
    """The Keras model, in the image data format that Keras is set to. Its variables are made in the strategy's scope
    that is open."""
    import keras

    from shoal.bench.models import alexnet, googlenet, trivial

    shape = input_shape(model, keras.config.image_data_format())
    applications = keras.applications
    builders: dict[Model, Callable[..., Any]] = {
        Model.RESNET50: applications.ResNet50,
        Model.RESNET152: applications.ResNet152,
        Model.INCEPTION3: applications.InceptionV3,
        Model.VGG16: applications.VGG16,
    }
    if model in builders:
        return builders[model](weights=None, input_shape=shape, classes=1000, classifier_activation=None)
    own = {Model.GOOGLENET: googlenet.build, Model.ALEXNET: alexnet.build, Model.TRIVIAL: trivial.build}
    return own[model](shape)


def input_shape(model: Model, image_data_format: str) -> tuple[int, int, int]:
    """The shape of one image: `channels_last` or `channels_first`, as Keras calls them."""
    side = MODELS[model].side
    return (3, side, side) if image_data_format == "channels_first" else (side, side, 3)
