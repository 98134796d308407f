"""What no server can beat: python bounds.py echo PORT answers gRPC calls with what they bring; python bounds.py inside
FOLDER SECONDS prints how many calls a second one thread makes of each model, with no server between."""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import numpy as np


class Echo(grpc.GenericRpcHandler):
    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        return grpc.unary_unary_rpc_method_handler(lambda message, context: message)


def echo(port: int) -> None:
    server = grpc.server(ThreadPoolExecutor(4 * len(os.sched_getaffinity(0))), [Echo()])
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


def inside(folder: Path, seconds: float) -> dict[str, float]:
    from benchmarks.serving.models import CASES

    from shoal.serving.model import Model

    rates = {}
    for case, (name, shape) in CASES.items():
        model = Model(folder / name / "1")
        signature = model.signatures["serving_default"]
        feeds = {signature.inputs["x"].name: np.ones(shape, np.float32)}
        fetches = [signature.outputs["y"].name]
        model.run(feeds, fetches)
        began, calls = time.perf_counter(), 0
        while time.perf_counter() < began + seconds:
            model.run(feeds, fetches)
            calls += 1
        rates[case] = calls / (time.perf_counter() - began)
    return rates


if __name__ == "__main__":
    if sys.argv[1] == "echo":
        echo(int(sys.argv[2]))
    else:
        print(json.dumps(inside(Path(sys.argv[2]), float(sys.argv[3]))))
