"""Classify, Regress and MultiInference: requests that carry `tf.Example`s, for models that parse them in the graph.

The signature has one input, `inputs`, a vector of serialised examples. A classification has the outputs `classes`
(strings), `scores` (floats) or both, `[examples, classes]`; a regression has `outputs`, one float an example
(https://www.tensorflow.org/tfx/serving/signature_defs). Codes and messages are TensorFlow Serving's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tensorflow.core.example.example_pb2 import Example
from tensorflow_serving.apis import classification_pb2, inference_pb2, input_pb2, regression_pb2

from shoal.serving import dtypes
from shoal.serving.json_tensor import ExamplesBody, Feature
from shoal.serving.model import DEFAULT_SIGNATURE, Model, Signature
from shoal.serving.status import Code, ServingError, invalid

INPUTS = "inputs"
CLASSES = "classes"
SCORES = "scores"
OUTPUTS = "outputs"

CLASSIFY = "tensorflow/serving/classify"
REGRESS = "tensorflow/serving/regress"


def classify(model: Model, signature_name: str, given: input_pb2.Input) -> classification_pb2.ClassificationResult:
    """Labels and scores of each example. Raises ServingError."""
    signature = find_signature(model, signature_name, "No signature was found with the name: ")
    wanted = check_classification(signature)
    outputs, count = _run(model, [signature], [wanted], given)
    return _classifications(outputs[0], count)


def regress(model: Model, signature_name: str, given: input_pb2.Input) -> regression_pb2.RegressionResult:
    """The value of each example. Raises ServingError."""
    signature = find_signature(model, signature_name, "No signature was found with the name: ")
    wanted = check_regression(signature)
    outputs, count = _run(model, [signature], [wanted], given)
    return _regressions(outputs[0], count)


def infer(
    model: Model, tasks: Sequence[inference_pb2.InferenceTask], given: input_pb2.Input
) -> list[inference_pb2.InferenceResult]:
    """A classification or a regression for each task, from one run of the graph. Raises ServingError."""
    signatures: list[Signature] = []
    wanted: list[list[str]] = []
    seen: set[str] = set()
    for task in tasks:
        name = task.model_spec.signature_name or DEFAULT_SIGNATURE
        if name in seen:
            raise invalid(f"Duplicate evaluation of signature: {name}")
        seen.add(name)
        signatures.append(find_signature(model, name, "Requested signature not found in model graph: "))
        match task.method_name:
            case "tensorflow/serving/classify":
                wanted.append(check_classification(signatures[-1]))
            case "tensorflow/serving/regress":
                wanted.append(check_regression(signatures[-1]))
            case _:
                raise ServingError(Code.UNIMPLEMENTED, f"Unsupported signature method_name: {task.method_name}")
    outputs, count = _run(model, signatures, wanted, given)
    results = []
    for task, values in zip(tasks, outputs, strict=True):
        result = inference_pb2.InferenceResult()
        if task.method_name == CLASSIFY:
            result.classification_result.CopyFrom(_classifications(values, count))
        else:
            result.regression_result.CopyFrom(_regressions(values, count))
        results.append(result)
    return results


def input_of(body: ExamplesBody) -> input_pb2.Input:
    """The examples of a JSON body, as a gRPC request would carry them."""
    given = input_pb2.Input()
    if body.context is None:
        given.example_list.examples.extend(map(_example, body.examples))
    else:
        given.example_list_with_context.context.CopyFrom(_example(body.context))
        given.example_list_with_context.examples.extend(map(_example, body.examples))
    return given


def serialized(given: input_pb2.Input) -> list[bytes]:
    """Each example on the wire; its context, if there is one, comes before it and is merged by whoever parses it."""
    listed, shared = given.example_list, given.example_list_with_context
    context = shared.context.SerializeToString() if given.WhichOneof("kind") == "example_list_with_context" else b""
    examples = [context + example.SerializeToString() for example in (*listed.examples, *shared.examples)]
    if not examples:
        raise invalid("Input is empty.")
    return examples


def count(given: input_pb2.Input) -> int:
    """How many examples there are."""
    return len(given.example_list.examples) + len(given.example_list_with_context.examples)


def find_signature(model: Model, name: str, problem: str) -> Signature:
    """The signature of that name. Raises ServingError with `problem` and the name."""
    name = name or DEFAULT_SIGNATURE
    if name not in model.signatures:
        raise invalid(f"{problem}{name}")
    return model.signatures[name]


def check_classification(signature: Signature) -> list[str]:
    """The outputs to ask for. Raises ServingError where the signature is no classification."""
    _check_method(signature, CLASSIFY, "classification")
    _check_input(signature, "classification")
    if len(signature.outputs) not in (1, 2):
        raise invalid(f"Expected one or two output Tensors, found {len(signature.outputs)}")
    wanted = [name for name in (CLASSES, SCORES) if name in signature.outputs]
    if not wanted:
        raise invalid(
            f'Expected classification signature outputs to contain at least one of "{CLASSES}" or "{SCORES}". '
            f"Signature was: {signature.definition}"
        )
    return wanted


def check_regression(signature: Signature) -> list[str]:
    """The output to ask for. Raises ServingError where the signature is no regression."""
    _check_method(signature, REGRESS, "regression")
    _check_input(signature, "regression")
    if len(signature.outputs) != 1:
        raise invalid("Expected one output Tensor.")
    if OUTPUTS not in signature.outputs:
        raise invalid(f"No regression outputs found in SignatureDef: {signature.definition}")
    return [OUTPUTS]


def _check_method(signature: Signature, method: str, kind: str) -> None:
    if signature.method not in (None, method):
        raise invalid(f"Expected {kind} signature method_name to be {method}. Was: {signature.method}")


def _check_input(signature: Signature, kind: str) -> None:
    if len(signature.inputs) != 1:
        raise invalid("Expected one input Tensor.")
    if INPUTS not in signature.inputs:
        raise invalid(f"No {kind} inputs found in SignatureDef: {signature.definition}")
    if signature.inputs[INPUTS].dtype != dtypes.STRING:
        raise invalid(f"Expected {kind} inputs of DT_STRING. Signature was: {signature.definition}")


def _run(
    model: Model, signatures: Sequence[Signature], wanted: Sequence[Sequence[str]], given: input_pb2.Input
) -> tuple[list[dict[str, np.ndarray]], int]:
    examples = serialized(given)
    vector = np.empty(len(examples), dtypes.STRING)
    vector[:] = examples
    feeds = {signature.inputs[INPUTS].name: vector for signature in signatures}
    fetches = sorted(
        {signature.outputs[name].name for signature, names in zip(signatures, wanted, strict=True) for name in names}
    )
    values = dict(zip(fetches, model.run(feeds, fetches), strict=True))
    outputs = [
        {name: values[signature.outputs[name].name] for name in names}
        for signature, names in zip(signatures, wanted, strict=True)
    ]
    return outputs, len(examples)


def _classifications(outputs: dict[str, np.ndarray], count: int) -> classification_pb2.ClassificationResult:
    for name, dtype, type_name in ((CLASSES, dtypes.STRING, "DT_STRING"), (SCORES, np.dtype(np.float32), "DT_FLOAT")):
        if (output := outputs.get(name)) is None:
            continue
        if output.ndim != 2:
            raise invalid(f"Expected Tensor shape: [batch_size num_classes] but got {_shape(output)}")
        if output.dtype != dtype:
            raise invalid(f"Expected {name} Tensor of {type_name}. Got: {dtypes.name(output.dtype)}")
        if len(output) != count:
            raise invalid(f"Expected {name} output batch size of {count}. Got: {len(output)}")
    classes, scores = outputs.get(CLASSES), outputs.get(SCORES)
    if classes is not None and scores is not None and classes.shape != scores.shape:
        raise invalid(
            f"Tensors class and score should match in dim_size(1). Got {classes.shape[1]} vs. {scores.shape[1]}"
        )
    result = classification_pb2.ClassificationResult()
    for row in range(count):
        classification = result.classifications.add()
        for column in range(next(iter(outputs.values())).shape[1]):
            classification.classes.add(
                label="" if classes is None else classes[row, column].decode("utf-8", "replace"),
                score=0.0 if scores is None else float(scores[row, column]),
            )
    return result


def _regressions(outputs: dict[str, np.ndarray], count: int) -> regression_pb2.RegressionResult:
    output = outputs[OUTPUTS]
    if not (output.ndim == 1 or (output.ndim == 2 and output.shape[1] == 1)):
        raise invalid(
            f"Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got {_shape(output)}"
        )
    if len(output) != count:
        raise invalid(f"Input batch size did not match output batch size: {count} vs. {len(output)}")
    if output.dtype != np.float32:
        raise invalid(f"Expected output Tensor of DT_FLOAT.  Got: {dtypes.name(output.dtype)}")
    result = regression_pb2.RegressionResult()
    for value in output.ravel().tolist():
        result.regressions.add(value=value)
    return result


def _example(features: dict[str, Feature]) -> Example:
    example = Example()
    for name, feature in features.items():
        target = example.features.feature[name]
        match feature.kind:
            case "bytes":
                target.bytes_list.value.extend(feature.values)
            case "float":
                target.float_list.value.extend(feature.values)
            case "int64":
                target.int64_list.value.extend(feature.values)
    return example


def _shape(array: np.ndarray) -> str:
    return f"[{','.join(map(str, array.shape))}]"
