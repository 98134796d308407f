"""The inputs of one prediction, from all that the user gave for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.serving import dtypes
from shoal.serving.client import array_input, csv_input, image_input, json_input
from shoal.serving.client.connection import Signature, TensorSpec
from shoal.serving.client.errors import ClientError, unknown
from shoal.serving.client.image_input import ImageOptions
from shoal.serving.client.json_values import to_array
from shoal.serving.client.sources import Form, Setting, Source


@dataclass(frozen=True, slots=True)
class Given:
    """What the user gave, before anybody knows which inputs the model has."""

    sources: Sequence[Source] = ()
    settings: Sequence[Setting] = ()
    images: ImageOptions = field(default_factory=ImageOptions)

    def signature_name(self) -> str:
        """The signature that a file names, being the body of a request; empty where none does. Raises ClientError."""
        bodies = [source for source in self.sources if source.form is Form.JSON and not source.input]
        return next(filter(None, (json_input.signature_name(json_input.parse(each)) for each in bodies)), "")


def read(given: Given, signature: Signature) -> dict[str, np.ndarray]:
    """The tensor of each input, of the type and shape that the signature names. Raises ClientError."""
    collected = _Collected(signature)
    for setting in given.settings:
        collected.add(setting.input, _setting(setting, signature), f"--set {setting.input}")
    for source in given.sources:
        if source.input:
            collected.known(source.input, f"--input {source.input}={source.name}")
    named = {each.input for each in given.sources} | {each.input for each in given.settings}
    free = [name for name in signature.inputs if name not in named]
    images: dict[str, list[Source]] = {}
    for source in given.sources:
        if source.form is Form.IMAGE:
            images.setdefault(source.input or json_input.sole(source, free), []).append(source)
        else:
            for name, array in _tensors(source, signature, free).items():
                collected.add(name, array, source.name)
    for name, sources in images.items():
        collected.add(name, image_input.read(sources, name, signature.inputs[name], given.images), sources[0].name)
    return collected.complete({setting.input for setting in given.settings})


def _tensors(source: Source, signature: Signature, free: Sequence[str]) -> dict[str, np.ndarray]:
    inputs = signature.inputs
    match source.form:
        case Form.JSON if source.input:
            return {source.input: json_input.read_tensor(source, source.input, inputs[source.input])}
        case Form.JSON:
            return json_input.read(source, inputs, free)
        case Form.CSV:
            one = {source.input: inputs[source.input]} if source.input else inputs
            return csv_input.read(source, one, list(one) if source.input else free)
        case Form.NPY:
            name = source.input or json_input.sole(source, free)
            return {name: array_input.fitted(array_input.read_npy(source), name, inputs[name], source.name)}
        case _:
            arrays = array_input.read_npz(source)
            if source.input:
                raise ClientError(f"{source.name}: a .npz names its inputs itself", f"--input {source.name}")
            for name in arrays:
                if name not in inputs:
                    fault = unknown("input", name, inputs)
                    raise ClientError(f"{source.name}: {fault}", fault.hint)
            return {name: array_input.fitted(array, name, inputs[name], source.name) for name, array in arrays.items()}


def _setting(setting: Setting, signature: Signature) -> np.ndarray:
    """The value in JSON; for a text, the words as they stand do, too. One row may be written without its list."""
    name, text = setting.input, setting.value
    if name not in signature.inputs:
        fault = unknown("input", name, signature.inputs)
        raise ClientError(f"--set {name}: {fault}", fault.hint)
    spec = signature.inputs[name]
    if spec.dtype == dtypes.STRING and text[:1] not in ("[", "{", '"'):
        value: object = text
    else:
        value = json_input.parse(Source(f"--set {name}", text.encode(), Form.JSON))
    array = to_array(value, name, spec, lambda at: f"--set {name}{''.join(f'[{index}]' for index in at)}")
    missing = 0 if spec.shape is None else len(spec.shape) - array.ndim
    return array.reshape((1,) * max(0, missing) + array.shape)


class _Collected:
    """The tensors so far, and where each came from."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._arrays: dict[str, np.ndarray] = {}
        self._places: dict[str, str] = {}

    def known(self, name: str, place: str) -> TensorSpec:
        if name not in self._signature.inputs:
            fault = unknown("input", name, self._signature.inputs)
            raise ClientError(f"{place}: {fault}", fault.hint)
        return self._signature.inputs[name]

    def add(self, name: str, array: np.ndarray, place: str) -> None:
        spec = self.known(name, place)
        if name in self._arrays:
            raise ClientError(f"input {name} is given twice: by {self._places[name]} and by {place}")
        if not spec.takes(array.shape):
            raise ClientError(f"{place}: input {name} takes shape {spec.shown_shape}, found {list(array.shape)}")
        self._arrays[name], self._places[name] = array, place

    def complete(self, repeated: set[str]) -> dict[str, np.ndarray]:
        """All of them. One row of an input in `repeated` stands for each row of the others."""
        inputs = self._signature.inputs
        missing = [name for name in inputs if name not in self._arrays and name not in self._signature.optional]
        if missing:
            listed = ", ".join(f"{name} ({inputs[name].type} {inputs[name].shown_shape})" for name in missing)
            raise ClientError(
                f"signature {self._signature.name}: no value for input {listed}",
                f"--input FILE, --input {missing[0]}=FILE, or --set {missing[0]}=VALUE",
            )
        sizes = {len(array) for name, array in self._arrays.items() if name not in repeated and array.ndim}
        if len(sizes) == 1:
            rows = sizes.pop()
            for name in repeated:
                if self._arrays[name].shape[:1] == (1,) and inputs[name].takes((rows, *self._arrays[name].shape[1:])):
                    self._arrays[name] = np.repeat(self._arrays[name], rows, axis=0)
        return self._arrays
