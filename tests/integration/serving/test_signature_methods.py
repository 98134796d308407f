"""`--enable_signature_method_name_check`: a signature is asked only for what it says it is for."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from tensorflow_serving.apis import input_pb2

from shoal.serving import examples
from shoal.serving.model import Model
from shoal.serving.predict import predict
from shoal.serving.status import Code, ServingError

X = {"x": np.float32([2.0])}


def example() -> input_pb2.Input:
    given = input_pb2.Input()
    given.example_list.examples.add()
    return given


@pytest.fixture(scope="module")
def folder(versions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of TensorFlow 2, which names predict for all; here one signature names regress, and one `other`."""
    folder = tmp_path_factory.mktemp("methods") / "1"
    shutil.copytree(versions / "2.0", folder)
    saved = SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    signatures = saved.meta_graphs[0].signature_def
    signatures["regress_x_to_y"].method_name = "tensorflow/serving/regress"
    signatures["serving_default"].method_name = "other"
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString())
    return folder


def test_it_is_not_checked_by_default(folder: Path) -> None:
    model = Model(folder)
    assert predict(model, "", X)["y"].tolist() == [3.0]
    assert len(examples.classify(model, "classify_x_to_y", example()).classifications) == 1


def test_what_another_method_is_named_for_is_refused(folder: Path) -> None:
    model = Model(folder)
    model.check_methods()
    assert len(examples.regress(model, "regress_x_to_y", example()).regressions) == 1
    with pytest.raises(ServingError) as fault:
        examples.classify(model, "classify_x_to_y", example())
    said = "Expected classification signature method_name to be tensorflow/serving/classify. Was: tensorflow/serving/"
    assert (fault.value.code, fault.value.message) == (Code.INVALID_ARGUMENT, f"{said}predict")
    with pytest.raises(ServingError) as fault:
        examples.regress(model, "scores", example())
    assert "Expected regression signature method_name to be tensorflow/serving/regress." in fault.value.message
    with pytest.raises(ServingError) as fault:
        predict(model, "", X)
    assert fault.value.code is Code.INTERNAL
    assert fault.value.message.startswith("Expected prediction signature method_name to be one of {tensorflow/serving/")
