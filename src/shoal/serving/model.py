"""A loaded version of a SavedModel: signatures to look at, and a graph that numpy arrays go through.

The graph runs in a session, as in TensorFlow Serving: one way in for TF1 and TF2 models, with lookup tables and assets
initialised by the model's own initialisers. A call through the session's callable was ten times as fast as the
`tf.function` of the same signature (docs/serving-parity.md), and gives the interpreter free while it runs. It takes
arrays as they are, so types are checked here before each call: an array of another byte order would be read wrongly.

A callable keeps one time limit, so a run that has a deadline goes through the function under `Session.run`, which takes
a limit with each run: 55 µs a run of one multiplication instead of 35. It stays out of the thread that asks, where a
limit was seen to end nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2
from tensorflow.python.client import pywrap_tf_session

from shoal.serving import deadline, dtypes, tensor_proto
from shoal.serving.status import Code, ServingError, invalid

DEFAULT_SIGNATURE = "serving_default"
TAGS = ("serve",)

CALLERS_THREAD = -1
SIMPLE_OPS = 100
"""A graph of no more operations runs in the thread that asks. For a model of one multiplication that made a call three
times as fast; a large graph may have branches that run side by side."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output of a signature: its name in the graph, and its type. None: one that cannot be sent."""

    name: str
    dtype: np.dtype | None


@dataclass(frozen=True, slots=True)
class Signature:
    """A function of the model. `defaults` are inputs that a request may leave out; `method` is what it says it is for
    (`tensorflow/serving/predict`), None where that is not to be checked."""

    inputs: Mapping[str, Tensor]
    outputs: Mapping[str, Tensor]
    defaults: Mapping[str, np.ndarray]
    definition: meta_graph_pb2.SignatureDef
    method: str | None = None


class Model:
    """Loads the SavedModel in `folder`. Raises ServingError, and whatever a broken model makes TensorFlow raise;
    `explain` puts that into words."""

    def __init__(self, folder: Path, tags: Sequence[str] = TAGS) -> None:
        graph = tf.Graph()
        self._session = tf.compat.v1.Session(graph=graph)
        with graph.as_default():
            meta = tf.compat.v1.saved_model.loader.load(self._session, list(tags), str(folder))
        self.signatures = {name: _signature(definition) for name, definition in meta.signature_def.items()}
        self._callables: dict[tuple[tuple[str, ...], tuple[str, ...]], Any] = {}
        self._outputs: dict[str, Any] = {}
        self._lock = threading.Lock()

    def run(self, feeds: Mapping[str, np.ndarray], fetches: Sequence[str]) -> list[np.ndarray]:
        """The values of the tensors `fetches`, given those in `feeds`, both by their names in the graph. The types must
        be those of the graph. Raises ServingError."""
        names = tuple(sorted(feeds))
        arrays = [np.ascontiguousarray(feeds[name]) if feeds[name].ndim else feeds[name] for name in names]
        milliseconds = deadline.milliseconds_left()
        try:
            if milliseconds is None:
                values = self._callable(names, tuple(fetches))(*arrays)
            else:
                values = self._run_within(milliseconds, names, arrays, fetches)
        except tf.errors.OpError as fault:
            raise explain(fault) from None
        except UnicodeDecodeError as fault:  # of an error's message that quotes an input; its code is lost with it
            raise invalid(fault.object.decode("utf-8", "replace")) from None
        return [np.asarray(value, dtypes.STRING if isinstance(value, bytes) else None) for value in values]

    def check_methods(self) -> None:
        """From now on, have signatures answer only what they say they are for."""
        self.signatures = {
            name: replace(signature, method=signature.definition.method_name)
            for name, signature in self.signatures.items()
        }

    def close(self) -> None:
        """Give up the model's memory. Nothing may run any more."""
        self._callables.clear()
        self._session.close()

    def _run_within(
        self, milliseconds: int, names: Sequence[str], arrays: Sequence[np.ndarray], fetches: Sequence[str]
    ) -> list[Any]:
        fed = {self._output(name): array for name, array in zip(names, arrays, strict=True)}
        fetched = [self._output(name) for name in fetches]
        options = config_pb2.RunOptions(timeout_in_ms=milliseconds).SerializeToString()
        buffer = pywrap_tf_session.TF_NewBufferFromString(options)
        try:
            values: list[Any] = pywrap_tf_session.TF_SessionRun_wrapper(
                self._session._session, buffer, fed, fetched, [], None
            )
        finally:
            pywrap_tf_session.TF_DeleteBuffer(buffer)
        return values

    def _output(self, name: str) -> Any:
        if name not in self._outputs:
            self._outputs[name] = self._session.graph.get_tensor_by_name(name)._as_tf_output()
        return self._outputs[name]

    def _callable(self, feeds: tuple[str, ...], fetches: tuple[str, ...]) -> Any:
        with self._lock:
            if (feeds, fetches) not in self._callables:
                options = config_pb2.CallableOptions(feed=feeds, fetch=fetches)
                if _simple(self._session.graph, fetches):
                    options.run_options.inter_op_thread_pool = CALLERS_THREAD
                self._callables[feeds, fetches] = self._session._make_callable_from_options(options)
            return self._callables[feeds, fetches]


def check_types(signature: Signature, inputs: Mapping[str, np.ndarray]) -> None:
    """Raise ServingError for an input whose type is not the signature's. Shapes are left to the graph, which takes some
    that the signature does not name, as in TensorFlow Serving."""
    for index, name in enumerate(sorted(inputs)):
        expected, found = signature.inputs[name].dtype, inputs[name].dtype
        if expected != found or not found.isnative:
            wanted = dtypes.name(expected) if expected else "a type that cannot be sent"
            raise invalid(f"Expects arg[{index}] to be {wanted} but {dtypes.name(found)} is provided (input: {name})")


def _simple(graph: tf.Graph, fetches: Sequence[str]) -> bool:
    """Whether what `fetches` need is so little that handing it to TensorFlow's threads costs more than it gains."""
    functions = {function.signature.name: len(function.node_def) for function in graph.as_graph_def().library.function}
    seen: set[str] = set()
    next_ones = [graph.get_tensor_by_name(fetch).op for fetch in fetches]
    size = 0
    while next_ones and size <= SIMPLE_OPS:
        op = next_ones.pop()
        if op.name in seen:
            continue
        seen.add(op.name)
        size += 1
        for name in op.node_def.attr:
            size += functions.get(op.node_def.attr[name].func.name, 0)
        next_ones += [*(tensor.op for tensor in op.inputs), *op.control_inputs]
    return size <= SIMPLE_OPS


def explain(fault: Exception) -> ServingError:
    """What TensorFlow raised, as an error with a code."""
    match fault:
        case ServingError():
            return fault
        case tf.errors.OpError():
            return ServingError(Code(fault.error_code), fault.message)
        case FileNotFoundError():
            return ServingError(Code.NOT_FOUND, str(fault))
        case OSError() if "does not exist" in str(fault):
            return ServingError(Code.NOT_FOUND, str(fault))
        case OSError():
            return ServingError(Code.DATA_LOSS, str(fault))
        case _:
            return ServingError(Code.INTERNAL, f"{type(fault).__name__}: {fault}")


def _signature(definition: meta_graph_pb2.SignatureDef) -> Signature:
    return Signature(
        inputs={name: _tensor(info) for name, info in definition.inputs.items()},
        outputs={name: _tensor(info) for name, info in definition.outputs.items()},
        defaults={name: tensor_proto.to_array(value, name) for name, value in definition.defaults.items()},
        definition=definition,
    )


def _tensor(info: meta_graph_pb2.TensorInfo) -> Tensor:
    return Tensor(info.name, dtypes.from_number(info.dtype))
