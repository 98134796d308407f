"""Predict: a request's arrays checked against the signature, run through the model, and the outputs it asked for.

Codes and messages are TensorFlow Serving's, since clients match on them. It checks the names of inputs and outputs and
the types; whether a shape fits, the graph says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from shoal.serving import dtypes
from shoal.serving.model import DEFAULT_SIGNATURE, Model, Signature, check_types
from shoal.serving.status import Code, ServingError, invalid

METHODS = tuple(f"tensorflow/serving/{api}" for api in ("predict", "classify", "regress"))


def predict(
    model: Model, signature_name: str, inputs: Mapping[str, np.ndarray], output_filter: Sequence[str] = ()
) -> dict[str, np.ndarray]:
    """The outputs by name, all of them where `output_filter` is empty. An empty `signature_name` means the default one.
    Raises ServingError."""
    signature = find_signature(model, signature_name)
    check_inputs(inputs.keys(), signature)
    wanted = wanted_outputs(output_filter, signature)
    check_types(signature, inputs)
    values = {**signature.defaults, **inputs}
    feeds = {signature.inputs[name].name: values[name] for name in signature.inputs}
    results = model.run(feeds, [signature.outputs[name].name for name in wanted])
    return {name: _typed(result, signature.outputs[name].dtype) for name, result in zip(wanted, results, strict=True)}


def find_signature(model: Model, name: str) -> Signature:
    """The signature of that name. Raises ServingError."""
    name = name or DEFAULT_SIGNATURE
    signature = model.signatures.get(name)
    if signature is None:
        raise ServingError(Code.FAILED_PRECONDITION, f'Serving signature key "{name}" not found.')
    if signature.method not in (None, *METHODS):
        expected = f"Expected prediction signature method_name to be one of {{{', '.join(METHODS)}}}"
        raise ServingError(Code.INTERNAL, f"{expected}. Was: {signature.method}")
    return signature


def check_inputs(sent: Collection[str], signature: Signature) -> None:
    """Raise ServingError unless each input is there, and no other."""
    expected = signature.inputs.keys()
    missing = set(expected) - set(sent) - signature.defaults.keys()
    extra = set(sent) - set(expected)
    if missing or extra:
        raise invalid(
            f"input size does not match signature: {len(sent)}!={len(expected)} len({_names(sent)}) != "
            f"len({_names(expected)}). Sent extra: {_names(extra)}. Missing but required: {_names(missing)}."
        )


def wanted_outputs(output_filter: Sequence[str], signature: Signature) -> list[str]:
    """The names of the outputs that are asked for. Raises ServingError."""
    for index, name in enumerate(output_filter):
        if name not in signature.outputs:
            raise invalid(
                f"output tensor alias not found in signature: {name} Outputs expected to be in the set "
                f"{_names(signature.outputs)}."
            )
        if name in output_filter[:index]:
            raise invalid(f"duplicate output tensor alias: {name}")
    return sorted(output_filter or signature.outputs)  # in any order they are the same for the session


def _typed(result: np.ndarray, dtype: np.dtype | None) -> np.ndarray:
    return result.view(dtype) if dtype is not None and dtypes.is_quantised(dtype) else result


def _names(names: Collection[str]) -> str:
    return f"{{{','.join(sorted(names))}}}"
