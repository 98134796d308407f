"""What TensorFlow Serving's own stubs are answered over gRPC."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
import tensorflow as tf
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    predict_pb2,
    regression_pb2,
)

from tests.integration.serving.models import OTHER_TYPES, SIMPLE_TYPES
from tests.integration.serving.server import RPC_SECONDS, ModelServer

INVALID = grpc.StatusCode.INVALID_ARGUMENT


def request(name: str = "half_plus_two", signature: str = "", **inputs: object) -> predict_pb2.PredictRequest:
    made = predict_pb2.PredictRequest()
    made.model_spec.name = name
    made.model_spec.signature_name = signature
    for each, value in inputs.items():
        made.inputs[each].CopyFrom(tf.make_tensor_proto(value))
    return made


def refused(server: ModelServer, asked: predict_pb2.PredictRequest) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as fault:
        server.prediction.Predict(asked, RPC_SECONDS)
    return fault.value.code(), fault.value.details()


def test_predict_answers_values_and_who_answered(server: ModelServer) -> None:
    response = server.prediction.Predict(request(x=[2.0, 3.0, 4.0]), RPC_SECONDS)
    assert list(response.outputs) == ["y"]
    assert list(response.outputs["y"].float_val) == [3.0, 3.5, 4.0]
    assert response.outputs["y"].dtype == tf.float32.as_datatype_enum
    spec = response.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("half_plus_two", 123, "serving_default")


def test_a_version_and_a_label_may_be_named(server: ModelServer) -> None:
    asked = request(x=[2.0])
    asked.model_spec.version.value = 123
    assert server.prediction.Predict(asked, RPC_SECONDS).outputs["y"].float_val == [3.0]
    asked.model_spec.version_label = "stable"
    assert server.prediction.Predict(asked, RPC_SECONDS).model_spec.version.value == 123


@pytest.mark.parametrize(
    "tensor",
    [
        tf.make_tensor_proto([2.0, 3.0], tf.float32),
        TensorProto(dtype=1, tensor_shape=tf.TensorShape([2]).as_proto(), tensor_content=np.float32([2, 3]).tobytes()),
        TensorProto(dtype=1, tensor_shape=tf.TensorShape([2]).as_proto(), float_val=[2.0, 3.0]),
    ],
)
def test_values_are_read_from_either_field(server: ModelServer, tensor: TensorProto) -> None:
    asked = request()
    asked.inputs["x"].CopyFrom(tensor)
    assert list(server.prediction.Predict(asked, RPC_SECONDS).outputs["y"].float_val) == [3.0, 3.5]


def test_the_last_value_stands_for_the_rest(server: ModelServer) -> None:
    asked = request()
    asked.inputs["x"].CopyFrom(TensorProto(dtype=1, tensor_shape=tf.TensorShape([4]).as_proto(), float_val=[2.0, 4.0]))
    assert list(server.prediction.Predict(asked, RPC_SECONDS).outputs["y"].float_val) == [3.0, 4.0, 4.0, 4.0]


@pytest.mark.parametrize("name", SIMPLE_TYPES)
def test_each_type_goes_through(server: ModelServer, name: str) -> None:
    dtype = tf.as_dtype(name).as_numpy_dtype
    for value in (np.array([[0, 1], [1, 100]], dtype), np.array(1, dtype), np.zeros((0, 2), dtype)):
        for tensor in (
            tf.make_tensor_proto(value),
            TensorProto(
                dtype=tf.as_dtype(name).as_datatype_enum,
                tensor_shape=tf.TensorShape(value.shape).as_proto(),
                tensor_content=value.tobytes(),
            ),
        ):
            asked = request("many", name)
            asked.inputs["x"].CopyFrom(tensor)
            found = tf.make_ndarray(server.prediction.Predict(asked, RPC_SECONDS).outputs["y"])
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize(
    ("names", "field", "values", "raw"),
    [
        (("qint8", "qint16", "qint32"), "int_val", [0, 1, -2], "<i"),
        (("uint16", "quint8", "quint16"), "int_val", [0, 1, 200], "<u"),
        (("bfloat16",), "half_val", [0x3F80, 0xC000, 0], "<u"),
        (("complex64",), "scomplex_val", [1.0, -2.0, 0.0, 0.5, 3.0, 4.0], "<f4"),
        (("complex128",), "dcomplex_val", [1.0, -2.0, 0.0, 0.5, 3.0, 4.0], "<f8"),
        ([name for name in OTHER_TYPES if name.startswith("float8")], "float8_val", b"\x00\x38\x3c", "S"),
    ],
)
def test_other_types_go_through(server: ModelServer, names: list[str], field: str, values: Any, raw: str) -> None:
    """As they came, whether they came in their field or as raw bytes."""
    for name in names:
        dtype = tf.as_dtype(name)
        alike = {"dtype": dtype.as_datatype_enum, "tensor_shape": tf.TensorShape([3]).as_proto()}
        content = values if raw == "S" else np.array(values).astype(raw if raw[2:] else f"{raw}{dtype.size}").tobytes()
        in_field = TensorProto(**alike, **{field: values})
        for tensor in (in_field, TensorProto(**alike, tensor_content=content)):
            asked = request("many", name)
            asked.inputs["x"].CopyFrom(tensor)
            assert server.prediction.Predict(asked, RPC_SECONDS).outputs["y"] == in_field


def test_an_input_with_a_default_may_be_left_out(server: ModelServer) -> None:
    assert list(
        server.prediction.Predict(request("many", "times", x=[1.0, 2.0]), RPC_SECONDS).outputs["y"].float_val
    ) == [10.0, 20.0]
    given = request("many", "times", x=[1.0, 2.0], by=3.0)
    assert list(server.prediction.Predict(given, RPC_SECONDS).outputs["y"].float_val) == [3.0, 6.0]
    code, said = refused(server, request("many", "times", by=3.0))
    assert (code, "Missing but required: {x}." in said) == (INVALID, True)


def test_strings_and_a_lookup_table(server: ModelServer) -> None:
    response = server.prediction.Predict(request("many", "look_up", words=[b"dog", b"cow", b"\xff\x00"]), RPC_SECONDS)
    assert list(response.outputs["ids"].int64_val) == [2, -1, -1]
    assert list(response.outputs["upper"].string_val)[:2] == [b"DOG", b"COW"]
    assert list(response.outputs["raw_bytes"].string_val) == [b"dog", b"cow", b"\xff\x00"]


def test_only_the_outputs_that_are_asked_for(server: ModelServer) -> None:
    asked = request("many", "look_up", words=[b"dog"])
    asked.output_filter.append("ids")
    assert list(server.prediction.Predict(asked, RPC_SECONDS).outputs) == ["ids"]


def test_a_large_message(server: ModelServer) -> None:
    values = np.arange(3_000_000, dtype=np.float32)
    response = server.prediction.Predict(request(x=values), RPC_SECONDS)
    np.testing.assert_allclose(tf.make_ndarray(response.outputs["y"]), values / 2 + 2)


def test_a_model_of_tensorflow_1_takes_shapes_its_signature_does_not_name(server: ModelServer) -> None:
    assert list(server.predict("tf1", x=[2.0, 3.0]).outputs["y"].float_val) == [3.0, 3.5]
    assert list(server.predict("tf1", x=[[2.0], [3.0]]).outputs["y"].float_val) == [3.0, 3.5]


def test_a_recurrent_network_answers_what_it_does_when_loaded_here(server: ModelServer, made: Path) -> None:
    series = np.random.default_rng(1).normal(size=(7, 5, 3)).astype(np.float32)
    (output,) = server.predict("keras", series=series).outputs.values()
    loaded = tf.saved_model.load(str(made / "keras" / "1"))
    np.testing.assert_allclose(tf.make_ndarray(output), loaded.serve(series), rtol=1e-5)


def test_what_is_wrong_with_a_request(server: ModelServer) -> None:
    code, said = refused(server, predict_pb2.PredictRequest())
    assert (code, said) == (INVALID, "Missing ModelSpec")
    code, said = refused(server, request("", x=[1.0]))
    assert (code, said) == (INVALID, "ModelSpec has no name specified.")
    code, said = refused(server, request("nobody", x=[1.0]))
    assert (code, said) == (grpc.StatusCode.NOT_FOUND, "Servable not found for request: Latest(nobody)")
    code, said = refused(server, request(signature="other", x=[1.0]))
    assert (code, said) == (grpc.StatusCode.FAILED_PRECONDITION, 'Serving signature key "other" not found.')
    code, said = refused(server, request(z=[1.0], x=[1.0]))
    assert code is INVALID
    assert said.startswith("input size does not match signature: 2!=1 len({x,z}) != len({x}). Sent extra: {z}.")
    code, said = refused(server, request())
    assert code is INVALID
    assert "Missing but required: {x}." in said
    code, said = refused(server, request(x=[True]))
    assert code is INVALID
    assert "Expects arg[0] to be float but bool is provided" in said
    code, said = refused(server, request("many", a=[[1.0, 2.0]], b=np.array([1], np.int64)))
    assert code is INVALID
    assert "Matrix size-incompatible" in said


def test_what_is_wrong_with_the_outputs_that_are_asked_for(server: ModelServer) -> None:
    asked = request(x=[1.0])
    asked.output_filter.extend(["z"])
    assert (
        "output tensor alias not found in signature: z Outputs expected to be in the set {y}."
        in refused(server, asked)[1]
    )
    asked.output_filter[:] = ["y", "y"]
    assert refused(server, asked) == (INVALID, "duplicate output tensor alias: y")


def test_a_version_and_a_label_that_are_not_there(server: ModelServer) -> None:
    asked = request(x=[1.0])
    asked.model_spec.version.value = 9
    assert refused(server, asked) == (
        grpc.StatusCode.NOT_FOUND,
        "Servable not found for request: Specific(half_plus_two, 9)",
    )
    asked.model_spec.version_label = "nobody"
    assert refused(server, asked) == (INVALID, "Unrecognized servable version label: nobody")


def test_a_tensor_whose_values_do_not_fit_its_shape(server: ModelServer) -> None:
    asked = request()
    asked.inputs["x"].CopyFrom(
        TensorProto(dtype=1, tensor_shape=tf.TensorShape([2]).as_proto(), tensor_content=b"\0\0\0")
    )
    assert refused(server, asked) == (INVALID, "tensor parsing error: x")
    asked.inputs["x"].CopyFrom(TensorProto(dtype=1, tensor_shape=tf.TensorShape([1 << 40]).as_proto(), float_val=[1.0]))
    assert refused(server, asked) == (INVALID, "tensor parsing error: x")


def example(**features: float) -> tf.train.Example:
    return tf.train.Example(
        features=tf.train.Features(
            feature={name: tf.train.Feature(float_list=tf.train.FloatList(value=[x])) for name, x in features.items()}
        )
    )


def test_classify(server: ModelServer) -> None:
    asked = classification_pb2.ClassificationRequest()
    asked.model_spec.name, asked.model_spec.signature_name = "half_plus_two", "classify_x_to_y"
    asked.input.example_list.examples.extend([example(x=2.0), example(x=20.0)])
    response = server.prediction.Classify(asked, RPC_SECONDS)
    found = [[(c.label, c.score) for c in row.classes] for row in response.result.classifications]
    assert found == [[("3.000000", 3.0)], [("12.000000", 12.0)]]
    assert response.model_spec.signature_name == "classify_x_to_y"
    assert response.model_spec.version.value == 123


def test_regress_with_a_context(server: ModelServer) -> None:
    asked = regression_pb2.RegressionRequest()
    asked.model_spec.name, asked.model_spec.signature_name = "half_plus_two", "regress_x_to_y"
    asked.input.example_list_with_context.context.CopyFrom(example(x=2.0))
    asked.input.example_list_with_context.examples.extend([tf.train.Example(), example(x=20.0)])
    response = server.prediction.Regress(asked, RPC_SECONDS)
    assert [each.value for each in response.result.regressions] == [3.0, 12.0]


def test_several_tasks_over_the_same_examples(server: ModelServer) -> None:
    asked = inference_pb2.MultiInferenceRequest()
    for signature, method in (("regress_x_to_y", "regress"), ("classify_x_to_y", "classify")):
        task = asked.tasks.add(method_name=f"tensorflow/serving/{method}")
        task.model_spec.name, task.model_spec.signature_name = "half_plus_two", signature
    asked.input.example_list.examples.append(example(x=2.0))
    results = server.prediction.MultiInference(asked, RPC_SECONDS).results
    assert results[0].regression_result.regressions[0].value == 3.0
    assert results[1].classification_result.classifications[0].classes[0].score == 3.0
    assert [result.model_spec.signature_name for result in results] == ["regress_x_to_y", "classify_x_to_y"]


@pytest.mark.parametrize(
    ("signature", "examples", "code", "said"),
    [
        ("nobody", 1, INVALID, "No signature was found with the name: nobody"),
        ("classify_x_to_y", 0, INVALID, "Input is empty."),
        ("serving_default", 1, INVALID, "No classification inputs found in SignatureDef"),
        ("regress_x_to_y", 1, INVALID, "Expected classification signature outputs to contain at least one of"),
    ],
)
def test_what_is_wrong_with_a_classification(
    server: ModelServer, signature: str, examples: int, code: grpc.StatusCode, said: str
) -> None:
    asked = classification_pb2.ClassificationRequest()
    asked.model_spec.name, asked.model_spec.signature_name = "half_plus_two", signature
    asked.input.example_list.examples.extend([example(x=2.0)] * examples)
    with pytest.raises(grpc.RpcError) as fault:
        server.prediction.Classify(asked, RPC_SECONDS)
    assert fault.value.code() is code
    assert said in fault.value.details()


def test_the_signatures(server: ModelServer) -> None:
    asked = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    asked.model_spec.name = "half_plus_two"
    response = server.prediction.GetModelMetadata(asked, RPC_SECONDS)
    assert (response.model_spec.name, response.model_spec.version.value) == ("half_plus_two", 123)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    response.metadata["signature_def"].Unpack(signatures)
    x = signatures.signature_def["serving_default"].inputs["x"]
    assert x.dtype == tf.float32.as_datatype_enum
    assert [dim.size for dim in x.tensor_shape.dim] == [-1]


@pytest.mark.parametrize(
    ("fields", "said"),
    [([], "must specify at least one metadata_field"), (["other"], "Metadata field other is not supported")],
)
def test_metadata_that_there_is_none_of(server: ModelServer, fields: list[str], said: str) -> None:
    asked = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=fields)
    asked.model_spec.name = "half_plus_two"
    with pytest.raises(grpc.RpcError) as fault:
        server.prediction.GetModelMetadata(asked, RPC_SECONDS)
    assert fault.value.code() is INVALID
    assert said in fault.value.details()


def test_the_status_of_a_model(server: ModelServer) -> None:
    asked = get_model_status_pb2.GetModelStatusRequest()
    asked.model_spec.name = "half_plus_two"
    (status,) = server.models.GetModelStatus(asked, RPC_SECONDS).model_version_status
    assert (status.version, status.state, status.status.error_code) == (123, 30, 0)
    asked.model_spec.version.value = 9
    with pytest.raises(grpc.RpcError) as fault:
        server.models.GetModelStatus(asked, RPC_SECONDS)
    assert fault.value.code() is grpc.StatusCode.NOT_FOUND
    assert fault.value.details() == "Could not find version 9 of model half_plus_two"


def test_health_and_reflection(server: ModelServer) -> None:
    stub = health_pb2_grpc.HealthStub(server.channel)
    for service in ("", "tensorflow.serving.PredictionService"):
        answer = stub.Check(health_pb2.HealthCheckRequest(service=service), RPC_SECONDS)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    services = ProtoReflectionDescriptorDatabase(server.channel).get_services()
    assert {"tensorflow.serving.PredictionService", "tensorflow.serving.ModelService"} <= set(services)
