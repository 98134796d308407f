"""The text of BatchingParameters: each field obeyed or said to have no effect, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.serving.batching_parameters import BatchingParameters, read
from shoal.serving.status import ServingError

ALL = """
max_batch_size { value: 64 }
batch_timeout_micros { value: 1500 }
max_enqueued_batches { value: 7 }
num_batch_threads { value: 3 }
thread_pool_name { value: "mine" }
enable_large_batch_splitting { value: true }
max_execution_batch_size { value: 16 }
allowed_batch_sizes: 8
allowed_batch_sizes: 64
pad_variable_length_inputs: true
"""


def read_text(tmp_path: Path, text: str, per_model: bool = False) -> tuple[BatchingParameters, list[str]]:
    file = tmp_path / "batching.config"
    file.write_text(text)
    said: list[str] = []
    return read(file, said.append, per_model), said


def test_every_field(tmp_path: Path) -> None:
    parameters, said = read_text(tmp_path, ALL)
    assert parameters == BatchingParameters(
        max_batch_size=64,
        execution_size=16,
        batch_seconds=0.0015,
        enqueued_batches=7,
        threads=3,
        pool_name="mine",
        allowed_sizes=(8, 64),
        pad=True,
        split=True,
    )
    assert said == []


def test_what_is_left_out_is_as_in_tensorflow_serving(tmp_path: Path) -> None:
    parameters, _ = read_text(tmp_path, "max_batch_size { value: 12 }")
    assert (parameters.max_batch_size, parameters.execution_size) == (12, 12)
    assert read_text(tmp_path, "")[0].max_batch_size == 1000
    assert (parameters.batch_seconds, parameters.enqueued_batches, parameters.pool_name) == (0.0, 10, "batch_threads")
    assert parameters.threads >= 1


def test_what_has_no_effect_is_said(tmp_path: Path) -> None:
    parameters, said = read_text(tmp_path, "max_execution_batch_size { value: 3 }")
    assert parameters.execution_size == 1000
    assert len(said) == 1
    assert "max_execution_batch_size has no effect without enable_large_batch_splitting" in said[0]
    _, said = read_text(tmp_path, ALL, per_model=True)
    assert [line.split(": ")[1].split()[0] for line in said] == ["num_batch_threads", "thread_pool_name"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("max_batch_size { value: 0 }", "max_batch_size must be positive; was 0"),
        ("max_enqueued_batches { value: 0 }", "max_enqueued_batches must be positive; was 0"),
        ("num_batch_threads { value: 0 }", "num_batch_threads must be positive; was 0"),
        ("batch_timeout_micros { value: -1 }", "batch_timeout_micros must be non-negative; was -1"),
        (
            "allowed_batch_sizes: 4 allowed_batch_sizes: 2",
            "allowed_batch_sizes entries must be positive and increasing",
        ),
        (
            "max_batch_size { value: 4 } allowed_batch_sizes: 2 allowed_batch_sizes: 8",
            "Last entry in allowed_batch_sizes must match max_batch_size; last entry was 8; expected 4",
        ),
        (
            "enable_large_batch_splitting { value: true } max_batch_size { value: 4 } "
            "max_execution_batch_size { value: 8 }",
            "max_batch_size must be greater than or equal to max_execution_batch_size; they are 4 and 8",
        ),
        ("max_batch { value: 4 }", 'no field named "max_batch"'),
        ("max_batch_size: 4", "Error parsing text-format tensorflow.serving.BatchingParameters: 1:17"),
    ],
)
def test_what_is_wrong_is_said_with_the_name_of_the_file(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ServingError) as fault:
        read_text(tmp_path, text)
    assert fault.value.message.startswith(f"{tmp_path}/batching.config: ")
    assert says in fault.value.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ServingError, match=r"nothing: No such file"):
        read(tmp_path / "nothing", print)
