"""A real `shoal serve` process, and the clients that ask it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import httpx2
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from shoal.local.ports import choose
from tests.integration.harness import SHOAL

RPC_SECONDS = 60


class ModelServer:
    """Started on free ports, with these words behind `shoal serve`; stopped by `close`."""

    def __init__(self, log: Path, *words: str) -> None:
        self.log = log
        self.grpc_port, self.rest_port = choose(2)
        ports = (f"--port={self.grpc_port}", f"--rest_api_port={self.rest_port}")
        with log.open("w") as file:
            self.process = subprocess.Popen(
                [*SHOAL, "serve", *words, *ports],
                env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.http = httpx2.Client(base_url=f"http://127.0.0.1:{self.rest_port}", timeout=RPC_SECONDS)
        self.channel = grpc.insecure_channel(
            f"127.0.0.1:{self.grpc_port}",
            [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)],
        )
        self.prediction = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)
        self.models = model_service_pb2_grpc.ModelServiceStub(self.channel)

    def until(self, holds: Callable[[], Any], what: str, seconds: float = 90) -> Any:
        """Wait until `holds` answers something true."""
        deadline = time.monotonic() + seconds
        while True:
            if self.process.poll() is not None:
                raise AssertionError(f"the server has ended while waiting for {what}:\n{self.log.read_text()}")
            try:
                if found := holds():
                    return found
            except (httpx2.TransportError, grpc.RpcError):
                pass
            if time.monotonic() > deadline:
                raise AssertionError(f"waited in vain for {what}:\n{self.log.read_text()}")
            time.sleep(0.05)

    def until_listening(self) -> ModelServer:
        self.until(lambda: self.http.get("/healthz").status_code == 200, "the port to be open")
        return self

    def until_ready(self) -> ModelServer:
        self.until(lambda: self.http.get("/readyz").status_code == 200, "a model to be loaded")
        return self

    def states(self, name: str) -> dict[int, str]:
        """The state of each version of a model, by gRPC; empty where there is none."""
        request = get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = name
        try:
            statuses = self.models.GetModelStatus(request, RPC_SECONDS).model_version_status
        except grpc.RpcError as refused:
            if refused.code() is grpc.StatusCode.NOT_FOUND:
                return {}
            raise
        return {each.version: get_model_status_pb2.ModelVersionStatus.State.Name(each.state) for each in statuses}

    def until_states(self, name: str, states: dict[int, str]) -> None:
        self.until(lambda: self.states(name) == states, f"{name} to be {states}")

    def takes_requests(self) -> bool:
        """Whether a new request by gRPC is taken."""
        request = get_model_status_pb2.GetModelStatusRequest()
        try:
            self.models.GetModelStatus(request, RPC_SECONDS)
        except grpc.RpcError as refused:
            return refused.code() is grpc.StatusCode.INVALID_ARGUMENT
        return True

    def predict(self, name: str, seconds: float = RPC_SECONDS, **inputs: Any) -> predict_pb2.PredictResponse:
        """Predict by gRPC, with the default signature unless `signature_name` is among the inputs."""
        import tensorflow as tf

        request = predict_pb2.PredictRequest()
        request.model_spec.name = name
        request.model_spec.signature_name = inputs.pop("signature_name", "")
        for each, value in inputs.items():
            request.inputs[each].CopyFrom(tf.make_tensor_proto(value))
        return self.prediction.Predict(request, seconds)

    def rest(self, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        """The status and the JSON of the answer; GET where there is no body."""
        if body is None:
            answer = self.http.get(path, **options)
        elif isinstance(body, str | bytes):
            answer = self.http.post(path, content=body, **options)
        else:
            answer = self.http.post(path, json=body, **options)
        return answer.status_code, answer.json()

    def metric(self, line: str) -> float:
        """The value of the metric whose name and labels are `line`; 0 where it is not there."""
        for each in self.http.get("/monitoring/prometheus/metrics").text.splitlines():
            name, _, value = each.rpartition(" ")
            if name == line:
                return float(value)
        return 0.0

    def tell_to_end(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """End it, and see that it ended by itself."""
        self.http.close()
        self.channel.close()
        if self.process.poll() is None:
            self.tell_to_end()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server did not end:\n{self.log.read_text()}") from None
