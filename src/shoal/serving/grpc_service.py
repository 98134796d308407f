"""The gRPC entrance: PredictionService, ModelService, health and reflection, on threads.

The synchronous server was faster than the asyncio one for small models. Messages may be of any size, as in TensorFlow
Serving.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    model_service_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

from shoal.listening import ListenError
from shoal.serving import deadline, listing, model_config, tensor_proto
from shoal.serving.inference import Inference
from shoal.serving.status import Code, ServingError, invalid
from shoal.serving.tls import Tls

T = TypeVar("T")

_PREDICTION = prediction_service_pb2.DESCRIPTOR.services_by_name["PredictionService"]
_MODEL = model_service_pb2.DESCRIPTOR.services_by_name["ModelService"]

_CODES = {code.value[0]: code for code in grpc.StatusCode}


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):  # type: ignore[misc]
    """Predict, Classify, Regress, MultiInference and GetModelMetadata. `as_content`: tensors go out as raw bytes."""

    def __init__(self, inference: Inference, as_content: bool = False) -> None:
        self._inference = inference
        self._as_content = as_content

    def Predict(
        self, request: predict_pb2.PredictRequest, context: grpc.ServicerContext
    ) -> predict_pb2.PredictResponse:
        def answer() -> predict_pb2.PredictResponse:
            _need_spec(request)
            inputs = {name: tensor_proto.to_array(tensor, name) for name, tensor in request.inputs.items()}
            answered, outputs = self._inference.predict(request.model_spec, inputs, request.output_filter)
            response = predict_pb2.PredictResponse(model_spec=answered)
            for name, output in outputs.items():
                tensor_proto.write(output, response.outputs[name], self._as_content)
            return response

        return self._answer(context, request, request.model_spec.name, "Predict", answer)

    def Classify(
        self, request: classification_pb2.ClassificationRequest, context: grpc.ServicerContext
    ) -> classification_pb2.ClassificationResponse:
        def answer() -> classification_pb2.ClassificationResponse:
            _need_spec(request)
            answered, result = self._inference.classify(request.model_spec, request.input)
            return classification_pb2.ClassificationResponse(model_spec=answered, result=result)

        return self._answer(context, request, request.model_spec.name, "Classify", answer)

    def Regress(
        self, request: regression_pb2.RegressionRequest, context: grpc.ServicerContext
    ) -> regression_pb2.RegressionResponse:
        def answer() -> regression_pb2.RegressionResponse:
            _need_spec(request)
            answered, result = self._inference.regress(request.model_spec, request.input)
            return regression_pb2.RegressionResponse(model_spec=answered, result=result)

        return self._answer(context, request, request.model_spec.name, "Regress", answer)

    def MultiInference(
        self, request: inference_pb2.MultiInferenceRequest, context: grpc.ServicerContext
    ) -> inference_pb2.MultiInferenceResponse:
        name = request.tasks[0].model_spec.name if request.tasks else ""
        return self._answer(context, request, name, "MultiInference", lambda: self._inference.infer(request))

    def GetModelMetadata(
        self, request: get_model_metadata_pb2.GetModelMetadataRequest, context: grpc.ServicerContext
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        return _or_abort(context, lambda: self._inference.metadata(request))

    def _answer(
        self, context: grpc.ServicerContext, request: Message, name: str, api: str, answer: Callable[[], T]
    ) -> T:
        with deadline.within(context.time_remaining()):
            return _or_abort(context, lambda: self._inference.counted(name, api, "GRPC", request.ByteSize, answer))


class ModelService(model_service_pb2_grpc.ModelServiceServicer):  # type: ignore[misc]
    """GetModelStatus and HandleReloadConfigRequest. `any_label`: labels may name versions that do not answer yet."""

    def __init__(self, inference: Inference, any_label: bool = False) -> None:
        self._inference = inference
        self._any_label = any_label

    def GetModelStatus(
        self, request: get_model_status_pb2.GetModelStatusRequest, context: grpc.ServicerContext
    ) -> get_model_status_pb2.GetModelStatusResponse:
        return _or_abort(context, lambda: self._inference.status(request))

    def HandleReloadConfigRequest(
        self, request: model_management_pb2.ReloadConfigRequest, context: grpc.ServicerContext
    ) -> model_management_pb2.ReloadConfigResponse:
        def reload() -> model_management_pb2.ReloadConfigResponse:
            if request.config.WhichOneof("config") != "model_config_list":
                raise invalid(
                    "ServerModelConfig type not supported by HandleReloadConfigRequest. Only ModelConfigList is "
                    "currently supported"
                )
            models = model_config.from_message(request.config)
            metrics = self._inference.metrics
            before = {name: metrics.value(name) for name in request.metric_names}
            self._inference.catalog.configure(models, any_label=self._any_label)
            response = model_management_pb2.ReloadConfigResponse()
            for name, value in before.items():
                response.metric.add(name=name, int64_value_increase=metrics.value(name) - value)
            response.status.SetInParent()
            return response

        return _or_abort(context, reload)


class GrpcServer:
    """Listens at `addresses`, each `host:port` or `unix:path`, from its making until `drain`. Raises ListenError where
    one is taken, unless by processes that all listen with `shared_port`."""

    def __init__(
        self,
        inference: Inference,
        addresses: Sequence[str],
        threads: int,
        as_content: bool = False,
        any_label: bool = False,
        tls: Tls | None = None,
        arguments: Sequence[tuple[str, str | int]] = (),
        shared_port: bool = False,
    ) -> None:
        options = [
            ("grpc.max_receive_message_length", -1),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", int(shared_port)),  # else two servers on one port would share its requests, unnoticed
            *arguments,
        ]
        pool = ThreadPoolExecutor(threads, thread_name_prefix="grpc")
        self._server: Any = grpc.server(pool, options=options)
        _add(_PREDICTION, PredictionService(inference, as_content), self._server)
        _add(_MODEL, ModelService(inference, any_label), self._server)
        models: Any = grpc.unary_unary_rpc_method_handler(lambda request, context: listing.listing(inference.catalog))
        ours = grpc.method_handlers_generic_handler(listing.SERVICE, {listing.METHOD: models})
        self._server.add_generic_rpc_handlers([ours])
        self._health = health.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (_PREDICTION.full_name, _MODEL.full_name, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)
        self.ready(False)
        for address in addresses:
            self._listen(address, tls)

    def _listen(self, address: str, tls: Tls | None) -> None:
        try:
            if tls is None:
                self._server.add_insecure_port(address)
            else:
                pair = [(tls.key, tls.certificate)]
                asks = bool(tls.authority)
                credentials = grpc.ssl_server_credentials(pair, tls.authority or None, require_client_auth=asks)
                self._server.add_secure_port(address, credentials)
        except RuntimeError as fault:
            raise ListenError(f"cannot listen at {address}: is it taken?") from fault

    def start(self) -> None:
        self._server.start()

    def ready(self, ready: bool) -> None:
        """What the health service answers from now on."""
        serving = health_pb2.HealthCheckResponse.SERVING if ready else health_pb2.HealthCheckResponse.NOT_SERVING
        for service in ("", _PREDICTION.full_name, _MODEL.full_name):
            self._health.set(service, serving)

    def drain(self, grace: float) -> threading.Event:
        """Take no more requests, and give those under way `grace` seconds to end. The event tells that they have."""
        ended: threading.Event = self._server.stop(grace)
        return ended


def _add(service: ServiceDescriptor, servicer: object, server: Any) -> None:
    """Let the servicer answer the service's methods. The generated function for it does the same, but has gRPC answer
    bytes that are no message with INTERNAL, and print a traceback, though that is the client's mistake."""

    def handler(method: MethodDescriptor) -> Any:
        answer = getattr(servicer, method.name)
        request = GetMessageClass(method.input_type)

        def read_and_answer(wire: bytes, context: grpc.ServicerContext) -> Message:
            try:
                asked = request.FromString(wire)
            except DecodeError:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"the request is no {method.input_type.full_name}")
                raise
            response: Message = answer(asked, context)
            return response

        write = GetMessageClass(method.output_type).SerializeToString
        return grpc.unary_unary_rpc_method_handler(read_and_answer, None, write)

    handlers = {method.name: handler(method) for method in service.methods}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, handlers),))


def _need_spec(request: Message) -> None:
    if not request.HasField("model_spec"):
        raise invalid("Missing ModelSpec")


def _or_abort(context: grpc.ServicerContext, answer: Callable[[], T]) -> T:
    try:
        return answer()
    except ServingError as error:
        context.abort(_CODES[int(error.code)], error.message)
        raise
    except Exception as fault:
        context.abort(_CODES[int(Code.INTERNAL)], f"{type(fault).__name__}: {fault}")
        raise
