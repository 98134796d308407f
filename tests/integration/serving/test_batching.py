"""Requests joined into batches by a real server.

The batch waits for an hour unless it is full, so which requests share one is known without a clock.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from google.protobuf import text_format
from tensorflow_serving.apis import model_management_pb2

from tests.integration.serving.server import RPC_SECONDS, ModelServer

HOUR = "batch_timeout_micros { value: 3600000000 }"
SESSION = ":tensorflow:serving:batching_session"


@pytest.fixture(scope="module")
def joined(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    """A server of `many` and `half_plus_two` in batches of three, by one thread; one batch may wait."""
    folder = tmp_path_factory.mktemp("joined")
    (folder / "batching").write_text(
        f"max_batch_size {{ value: 3 }} {HOUR} max_enqueued_batches {{ value: 1 }} num_batch_threads {{ value: 1 }} "
        'thread_pool_name { value: "mine" } allowed_batch_sizes: 3'
    )
    (folder / "models").write_text(
        f'model_config_list {{ config {{ name: "many" base_path: "{made / "many"}" }} '
        f'config {{ name: "half_plus_two" base_path: "{made / "half_plus_two"}" }} }}'
    )
    server = ModelServer(
        folder / "log",
        f"--model_config_file={folder / 'models'}",
        "--enable_batching=true",
        f"--batching_parameters_file={folder / 'batching'}",
    )
    yield server.until_ready()
    server.close()


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def until_waiting(server: ModelServer, calls: int) -> None:
    server.until(lambda: server.metric("shoal_serving_batching_waiting") == calls, f"{calls} to wait")


def ask(server: ModelServer, pool: ThreadPoolExecutor, name: str, **inputs: Any) -> Future[Any]:
    before = server.metric("shoal_serving_batching_waiting")
    asked = pool.submit(server.predict, name, **inputs)
    until_waiting(server, int(before) + 1)
    return asked


def code_of(asked: Future[Any]) -> tuple[grpc.StatusCode, str]:
    fault = asked.exception(RPC_SECONDS)
    assert isinstance(fault, grpc.RpcError)
    return fault.code(), fault.details()


def test_requests_of_both_entrances_share_a_run(joined: ModelServer, pool: ThreadPoolExecutor) -> None:
    runs = joined.metric(f"{SESSION}:wrapped_run_count")
    first = ask(joined, pool, "half_plus_two", x=np.float32([2]))
    second = ask(joined, pool, "half_plus_two", x=np.float32([4]))
    assert joined.rest("/v1/models/half_plus_two:predict", {"instances": [8.0]}) == (200, {"predictions": [6.0]})
    assert (list(first.result().outputs["y"].float_val), list(second.result().outputs["y"].float_val)) == ([3], [4])
    assert joined.metric(f"{SESSION}:wrapped_run_count") == runs + 1
    assert joined.metric(f'{SESSION}:queuing_latency_count{{thread_pool_name="mine"}}') >= 3
    assert joined.metric(f"{SESSION}:processed_batch_size_sum") >= 3


def test_examples_are_joined_too(joined: ModelServer, pool: ThreadPoolExecutor) -> None:
    runs = joined.metric(f"{SESSION}:wrapped_run_count")

    def regress(*values: float) -> Any:
        body = {"signature_name": "regress_x_to_y", "examples": [{"x": value} for value in values]}
        return joined.rest("/v1/models/half_plus_two:regress", body)

    first = pool.submit(regress, 2.0)
    until_waiting(joined, 1)
    assert regress(4.0, 6.0) == (200, {"results": [4.0, 5.0]})
    assert first.result() == (200, {"results": [3.0]})
    assert joined.metric(f"{SESSION}:wrapped_run_count") == runs + 1


def test_a_bad_request_does_not_spoil_the_others(joined: ModelServer, pool: ThreadPoolExecutor) -> None:
    good = ask(joined, pool, "many", signature_name="pick", ids=np.int64([2]))
    bad = ask(joined, pool, "many", signature_name="pick", ids=np.int64([99]))
    other = joined.predict("many", signature_name="pick", ids=np.int64([0]))
    assert code_of(bad)[0] is grpc.StatusCode.INVALID_ARGUMENT
    assert "99" in code_of(bad)[1]
    assert list(good.result().outputs["row"].float_val) == [5, 6]
    assert list(other.outputs["row"].float_val) == [1, 2]


def test_what_is_too_large_or_has_no_rows_is_refused(joined: ModelServer) -> None:
    def refused(**inputs: Any) -> tuple[grpc.StatusCode, str]:
        with pytest.raises(grpc.RpcError) as fault:
            joined.predict("many", **inputs)
        return fault.value.code(), fault.value.details()

    invalid, failed = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION
    said = "Task size 4 is larger than maximum input batch size 3"
    assert refused(signature_name="pick", ids=np.int64([0, 1, 2, 0])) == (invalid, said)
    assert joined.rest("/v1/models/many:predict", {"signature_name": "pick", "instances": [0, 1, 2, 0]}) == (
        400,
        {"error": said},
    )
    assert refused(signature_name="wait", file="x")[1] == (
        "Batching Run() input tensors must have at least one dimension"
    )
    assert refused(a=np.ones([3, 3], np.float32), b=np.ones([2], np.int64)) == (
        invalid,
        "Batching Run() input tensors must have equal 0th-dimension size",
    )
    assert refused(signature_name="total", x=np.ones([3, 1], np.float32)) == (
        failed,
        "Batched output tensor has 0 dimensions",
    )


def test_a_full_queue_takes_no_more(joined: ModelServer, pool: ThreadPoolExecutor) -> None:
    waiting = ask(joined, pool, "half_plus_two", x=np.float32([1, 2]))
    with pytest.raises(grpc.RpcError) as fault:
        joined.predict("half_plus_two", x=np.float32([1, 2]))
    assert fault.value.code() is grpc.StatusCode.UNAVAILABLE
    assert "The batch scheduling queue to which this task was submitted is full" in fault.value.details()
    assert joined.rest("/v1/models/half_plus_two:predict", {"instances": [1.0, 2.0]})[0] == 503
    joined.predict("half_plus_two", x=np.float32([3]))
    assert list(waiting.result().outputs["y"].float_val) == [2.5, 3]


def test_each_version_by_its_own_file_and_the_queue_is_waited_for_before_it_goes(
    made: Path, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    base = tmp_path / "base"
    shutil.copytree(made / "half_plus_two" / "00000123", base / "1")
    (base / "1" / "batching_params.pbtxt").write_text(
        "max_batch_size { value: 2 } batch_timeout_micros { value: 1000000 } num_batch_threads { value: 9 }"
    )
    plain = made / "half_plus_three"
    broken = tmp_path / "broken"
    shutil.copytree(made / "half_plus_two" / "00000123", broken / "1")
    (broken / "1" / "batching_params.pbtxt").write_text("max_batch_size { value: 0 }")
    text = "".join(
        f'config {{ name: "{name}" base_path: "{path}" }} '
        for name, path in (("own", base), ("plain", plain), ("broken", broken))
    )
    (tmp_path / "models").write_text(f"model_config_list {{ {text} }}")
    server = ModelServer(
        tmp_path / "log",
        f"--model_config_file={tmp_path / 'models'}",
        "--enable_batching",
        "--enable_per_model_batching_parameters",
        "--max_num_load_retries=0",
    ).until_ready()
    try:
        assert "num_batch_threads has no effect here" in server.log.read_text()
        assert (
            "max_batch_size must be positive; was 0"
            in server.rest("/v1/models/broken")[1]["model_version_status"][0]["status"]["error_message"]
        )
        with pytest.raises(grpc.RpcError, match="Task size 3 is larger"):
            server.predict("own", x=np.float32([1, 2, 3]))
        assert len(server.predict("plain", x=np.float32([1, 2, 3])).outputs["y"].float_val) == 3
        waiting = ask(server, pool, "own", x=np.float32([2]))
        request = model_management_pb2.ReloadConfigRequest()
        text_format.Parse(
            f'config {{ model_config_list {{ config {{ name: "plain" base_path: "{plain}" }} }} }}', request
        )
        server.models.HandleReloadConfigRequest(request, RPC_SECONDS)
        assert list(waiting.result().outputs["y"].float_val) == [3]
    finally:
        server.close()
