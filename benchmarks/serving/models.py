"""Write the models that are served, and the bodies that are sent, into a folder: python models.py FOLDER"""

from __future__ import annotations

import itertools
import json
import struct
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2

CASES = {"half_plus_two": ("half_plus_two", [1]), "mlp": ("mlp", [1, 784]), "mlp-32": ("mlp", [32, 784])}
CASES["mlp-24mb"] = ("mlp-24mb", [1, 784])
"""By case the model, and the shape of what is sent."""


def half_plus_two(folder: Path) -> None:
    model = tf.Module()
    model.half, model.two = tf.Variable(0.5), tf.Variable(2.0)
    _save(model, lambda x: x * model.half + model.two, [None], folder)


def mlp(sizes: list[int], folder: Path) -> None:
    model = tf.Module()
    model.weights = [tf.Variable(tf.random.normal(pair, stddev=0.05)) for pair in itertools.pairwise(sizes)]

    def answer(x):
        for weights in model.weights[:-1]:
            x = tf.nn.relu(x @ weights)
        return x @ model.weights[-1]

    _save(model, answer, [None, sizes[0]], folder)


def _save(model: tf.Module, answer, shape: list[int | None], folder: Path) -> None:
    spec = tf.TensorSpec(shape, tf.float32, name="x")
    model.answer = tf.function(lambda x: {"y": answer(x)}, input_signature=[spec])
    tf.saved_model.save(model, str(folder / "1"), signatures=model.answer)


def write(folder: Path) -> None:
    half_plus_two(folder / "half_plus_two")
    mlp([784, 256, 10], folder / "mlp")
    mlp([784, 2000, 2200, 10], folder / "mlp-24mb")
    for case, (model, shape) in CASES.items():
        x = np.random.default_rng(1).random(shape, np.float32)
        request = predict_pb2.PredictRequest()
        request.model_spec.name = model
        request.inputs["x"].CopyFrom(tf.make_tensor_proto(x))
        wire = request.SerializeToString()
        (folder / f"{case}.grpc").write_bytes(struct.pack(">BI", 0, len(wire)) + wire)
        rows = np.round(x, 4).tolist()
        v2 = {"name": "x", "shape": shape, "datatype": "FP32", "data": rows}
        for form, body in {"instances": {"instances": rows}, "x": {"x": rows}, "v2": {"inputs": [v2]}}.items():
            (folder / f"{case}.{form}").write_text(json.dumps(body))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
