"""Warm-up requests, written as users write them."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from shoal.serving.warmup import FILE


def predict_log(signature: str = "", **inputs: object) -> PredictionLog:
    log = PredictionLog()
    log.predict_log.request.model_spec.signature_name = signature
    for name, each in inputs.items():
        log.predict_log.request.inputs[name].CopyFrom(tf.make_tensor_proto(each))
    return log


def write_warmup(version: Path, *records: PredictionLog | bytes) -> None:
    (version / FILE).parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(version / FILE)) as writer:
        for record in records:
            writer.write(record if isinstance(record, bytes) else record.SerializeToString())
