"""What a server is asked, however it was asked: one function for each API, between the entrances and the models.

gRPC and REST differ in how values are written; which model answers, what is counted and how long it took is the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    input_pb2,
    model_pb2,
    regression_pb2,
)

from shoal.serving import examples
from shoal.serving.catalog import Catalog, Version
from shoal.serving.metrics import Metrics
from shoal.serving.model import DEFAULT_SIGNATURE, Model
from shoal.serving.model import explain as explain_fault
from shoal.serving.predict import predict
from shoal.serving.request_log import RequestLog, note
from shoal.serving.status import Code, ServingError, invalid

SIGNATURE_DEF = "signature_def"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Inference:
    """Answers over the models of `catalog`. Every method raises ServingError."""

    catalog: Catalog
    metrics: Metrics = field(default_factory=Metrics)
    log: RequestLog | None = None

    def predict(
        self, spec: model_pb2.ModelSpec, inputs: Mapping[str, np.ndarray], output_filter: Sequence[str] = ()
    ) -> tuple[model_pb2.ModelSpec, dict[str, np.ndarray]]:
        """The outputs by name, and who answered."""
        with self.model(spec) as (version, model):
            return _answered(spec, version), self.run(version, model, spec.signature_name, inputs, output_filter)

    def run(
        self,
        version: Version,
        model: Model,
        signature: str,
        inputs: Mapping[str, np.ndarray],
        output_filter: Sequence[str] = (),
    ) -> dict[str, np.ndarray]:
        """The outputs by name, of a version that the caller keeps loaded."""
        note(signature=signature or DEFAULT_SIGNATURE, rows=_rows(inputs))
        return self._timed(version.model_name, "Predict", lambda: predict(model, signature, inputs, output_filter))

    def classify(
        self, spec: model_pb2.ModelSpec, given: input_pb2.Input
    ) -> tuple[model_pb2.ModelSpec, classification_pb2.ClassificationResult]:
        """Labels and scores of each example, and who answered."""
        with self.model(spec) as (version, model):
            note(signature=spec.signature_name or DEFAULT_SIGNATURE, rows=examples.count(given))
            result = self._timed(spec.name, "Classify", lambda: examples.classify(model, spec.signature_name, given))
            self.metrics.examples(spec.name, len(result.classifications))
            return _answered(spec, version), result

    def regress(
        self, spec: model_pb2.ModelSpec, given: input_pb2.Input
    ) -> tuple[model_pb2.ModelSpec, regression_pb2.RegressionResult]:
        """The value of each example, and who answered."""
        with self.model(spec) as (version, model):
            note(signature=spec.signature_name or DEFAULT_SIGNATURE, rows=examples.count(given))
            result = self._timed(spec.name, "Regress", lambda: examples.regress(model, spec.signature_name, given))
            self.metrics.examples(spec.name, len(result.regressions))
            return _answered(spec, version), result

    def infer(self, request: inference_pb2.MultiInferenceRequest) -> inference_pb2.MultiInferenceResponse:
        """Several classifications and regressions of the same examples by one model."""
        if not request.tasks:
            raise invalid("Inference request must contain at least one task")
        names = {task.model_spec.name for task in request.tasks}
        if "" in names:
            raise invalid("Found ModelSpec with an empty model name.")
        if len(names) > 1:
            raise invalid("All ModelSpecs in a MultiInferenceRequest must access the same model name.")
        with self.model(request.tasks[0].model_spec) as (version, model):
            signatures = [task.model_spec.signature_name or DEFAULT_SIGNATURE for task in request.tasks]
            note(signature=",".join(signatures), rows=examples.count(request.input))
            results = self._timed(
                version.model_name, "MultiInference", lambda: examples.infer(model, request.tasks, request.input)
            )
            self.metrics.examples(version.model_name, examples.count(request.input))
            for task, result in zip(request.tasks, results, strict=True):
                result.model_spec.CopyFrom(_answered(task.model_spec, version))
            return inference_pb2.MultiInferenceResponse(results=results)

    def metadata(
        self, request: get_model_metadata_pb2.GetModelMetadataRequest
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        """The signatures of a model."""
        if not request.HasField("model_spec"):
            raise invalid("Missing ModelSpec")
        if not request.metadata_field:
            raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
        for name in request.metadata_field:
            if name != SIGNATURE_DEF:
                raise invalid(f"Metadata field {name} is not supported")
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        with self.model(request.model_spec) as (version, model):
            response.model_spec.name = version.model_name
            response.model_spec.version.value = version.number
            response.metadata[SIGNATURE_DEF].Pack(signature_map(model))
        return response

    def status(
        self, request: get_model_status_pb2.GetModelStatusRequest
    ) -> get_model_status_pb2.GetModelStatusResponse:
        """The states of a model's versions."""
        if not request.HasField("model_spec"):
            raise invalid("Missing ModelSpec")
        response = get_model_status_pb2.GetModelStatusResponse()
        for number, state, error in self.catalog.statuses(request.model_spec.name, *_choice(request.model_spec)):
            status = response.model_version_status.add(version=number, state=int(state))
            status.status.SetInParent()
            if error is not None:
                status.status.error_code = int(error.code)
                status.status.error_message = error.message
        return response

    def counted(self, name: str, api: str, entrypoint: str, size: Callable[[], int], answer: Callable[[], T]) -> T:
        """Run `answer`, and count the request by how it ended, and log it. `size` tells how many bytes the request has.
        What is unforeseen becomes an INTERNAL."""
        if self.log is None:
            return self._counted(name, api, entrypoint, answer)
        with self.log.request(protocol=entrypoint, api=api.lower(), model=name, bytes=size()):
            return self._counted(name, api, entrypoint, answer)

    def _counted(self, name: str, api: str, entrypoint: str, answer: Callable[[], T]) -> T:
        began = time.perf_counter()
        try:
            self.metrics.in_progress.inc()
            try:
                result = answer()
            finally:
                self.metrics.in_progress.dec()
        except Exception as fault:
            error = explain_fault(fault)
            note(code=error.code.name, ms=_milliseconds(began))
            # Names that clients make up would stay in the metrics for ever.
            self.metrics.request(name if self.catalog.has(name) else "", error.code)
            raise error from fault
        self.metrics.latency(name, api, entrypoint, time.perf_counter() - began)
        note(code=Code.OK.name, ms=_milliseconds(began))
        self.metrics.request(name, Code.OK)
        return result

    @contextmanager
    def model(self, spec: model_pb2.ModelSpec) -> Iterator[tuple[Version, Model]]:
        """The version that a request asks for, which stays loaded until the block is left."""
        with self.catalog.use(spec.name, *_choice(spec)) as version:
            if version.model is None:
                raise ServingError(Code.INTERNAL, f"version {version.number} of model {spec.name} is not loaded")
            note(version=version.number)
            yield version, version.model

    def _timed(self, name: str, api: str, run: Callable[[], T]) -> T:
        began = time.perf_counter()
        result = run()
        self.metrics.runtime(name, api, time.perf_counter() - began)
        return result


def signature_map(model: Model) -> get_model_metadata_pb2.SignatureDefMap:
    """The signatures of a model, as GetModelMetadata packs them."""
    signatures = get_model_metadata_pb2.SignatureDefMap()
    for name, signature in model.signatures.items():
        signatures.signature_def[name].CopyFrom(signature.definition)
    return signatures


def _rows(inputs: Mapping[str, np.ndarray]) -> int:
    """How many examples were sent: the first dimension, by which batches are made."""
    return next((len(array) for array in inputs.values() if array.ndim), 1)


def _milliseconds(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)


def _choice(spec: model_pb2.ModelSpec) -> tuple[int | None, str]:
    match spec.WhichOneof("version_choice"):
        case "version":
            return spec.version.value, ""
        case "version_label":
            return None, spec.version_label
        case _:
            return None, ""


def _answered(spec: model_pb2.ModelSpec, version: Version) -> model_pb2.ModelSpec:
    answered = model_pb2.ModelSpec(name=spec.name, signature_name=spec.signature_name or DEFAULT_SIGNATURE)
    answered.version.value = version.number
    return answered
