"""Warm-up: requests that come with a SavedModel and are run before it answers, since the first run of a graph is slow.

`assets.extra/tf_serving_warmup_requests` is a TFRecord of `PredictionLog`, at most a thousand
(https://www.tensorflow.org/tfx/serving/saved_model_warmup). A model whose warm-up fails is not served, as in TensorFlow
Serving.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from shoal.serving import deadline, examples, tensor_proto
from shoal.serving.model import Model
from shoal.serving.predict import predict
from shoal.serving.status import Code, ServingError, invalid

FILE = Path("assets.extra", "tf_serving_warmup_requests")
MOST_RECORDS = 1000


def warm_up(model: Model, folder: Path, iterations: int = 1) -> None:
    """Run the requests that lie in the model's folder, each so many times. Raises ServingError for one that cannot be
    read or run."""
    for log in _records(folder / FILE):
        for _ in range(iterations):
            _run(model, log)
        with deadline.within(deadline.LONGEST_SECONDS):  # the session prepares a graph once more for runs with a limit
            _run(model, log)


def _records(path: Path) -> Iterator[PredictionLog]:
    if not path.exists():
        return
    try:
        for number, record in enumerate(tf.compat.v1.io.tf_record_iterator(str(path))):
            if number == MOST_RECORDS:
                raise invalid(f"Number of warmup records exceeds the maximum ({MOST_RECORDS}) at {path}")
            try:
                yield PredictionLog.FromString(record)
            except DecodeError:
                raise invalid(f"Failed to parse warmup record: number {number + 1} from {path}") from None
    except tf.errors.DataLossError as fault:
        problem = f"{fault.message}. Please verify your warmup data is in TFRecord format. ({path})"
        raise ServingError(Code.DATA_LOSS, problem) from None


def _run(model: Model, log: PredictionLog) -> None:
    match kind := log.WhichOneof("log_type"):
        case "predict_log":
            request = log.predict_log.request
            inputs = {name: tensor_proto.to_array(tensor, name) for name, tensor in request.inputs.items()}
            predict(model, request.model_spec.signature_name, inputs, request.output_filter)
        case "classify_log":
            request = log.classify_log.request
            examples.classify(model, request.model_spec.signature_name, request.input)
        case "regress_log":
            request = log.regress_log.request
            examples.regress(model, request.model_spec.signature_name, request.input)
        case "multi_inference_log":
            request = log.multi_inference_log.request
            examples.infer(model, request.tasks, request.input)
        case str():
            number = PredictionLog.DESCRIPTOR.fields_by_name[kind].number
            raise ServingError(Code.UNIMPLEMENTED, f"Unsupported log_type for warmup: {number} ({kind})")
