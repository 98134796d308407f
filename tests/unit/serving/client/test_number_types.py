"""Types that numpy has not by itself: bfloat16 and quantised integers, in through every file and out again."""

from __future__ import annotations

import io
import json

import ml_dtypes
import numpy as np
import pytest

from shoal.serving.client import rendering
from shoal.serving.client.connection import Signature, TensorSpec
from shoal.serving.client.errors import ClientError
from shoal.serving.client.inputs import Given, read
from shoal.serving.client.prediction import Prediction
from shoal.serving.client.sources import Form, Source

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
QINT8 = np.dtype([("qint8", np.int8)])


def given(dtype: np.dtype, form: Form, content: bytes) -> np.ndarray:
    taken = Signature("s", {"x": TensorSpec("t", dtype, (None,))}, {})
    return read(Given([Source("f", content, form)]), taken)["x"]


def npy(*values: float) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array(values))
    return file.getvalue()


@pytest.mark.parametrize(("dtype", "values"), [(BFLOAT16, [1.5, 2]), (QINT8, [-128, 127])])
def test_in_and_out_again(dtype, values):
    for form, content in {
        Form.JSON: json.dumps(values).encode(),
        Form.CSV: "\n".join(["x", *map(str, values)]).encode(),
        Form.NPY: npy(*values),
    }.items():
        array = given(dtype, form, content)
        assert array.dtype == dtype
        assert json.loads(rendering.to_json(Prediction("m", 1, "s", {"y": array})))["outputs"] == {"y": values}
        assert np.load(io.BytesIO(rendering.to_npy({"y": array}))).tolist() == values
        assert [line[1] for line in rendering.to_lines({"y": array})][1:] == [f"{each:g}" for each in values]


@pytest.mark.parametrize(
    ("form", "content"),
    [
        *((Form.JSON, text) for text in (b"[128]", b"[1.5]")),
        *((Form.CSV, text) for text in (b"128", b"1.5")),
        *((Form.NPY, npy(number)) for number in (128, 1.5)),
    ],
)
def test_what_a_quantised_type_has_no_room_for(form, content):
    with pytest.raises(ClientError, match="input x takes t"):
        given(QINT8, form, content)
