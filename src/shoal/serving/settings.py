"""How a server serves: what the command line has said, for every process of it. This knows no TensorFlow."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from shoal.serving.batching_parameters import BatchingParameters
from shoal.serving.catalog import LoadSettings
from shoal.serving.model_config import ModelConfig
from shoal.serving.tls import Tls

MOST_THREADS = 128
"""Of each entrance by default, where calls are joined."""


def threads(batching: BatchingParameters | None = None) -> int:
    """How many requests are taken at a time: as in TensorFlow Serving four a processor, and enough to fill two batches,
    within reason, since each call that waits for others waits in a thread."""
    least = 4 * len(os.sched_getaffinity(0))
    return least if batching is None else max(least, min(MOST_THREADS, 2 * batching.max_batch_size))


@dataclass(frozen=True, slots=True)
class RestSettings:
    """`body_bytes` is the largest body that is read, uncompressed; `timeout` is how many seconds a model may take."""

    threads: int
    cors: bool = False
    body_bytes: int = 1 << 30
    timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How to serve.

    `models` come from the command line or from `config_file`, which is read again every `config_poll_seconds` (0:
    never). A port None: not at all. `warm_up` is how often each warm-up request of a model is run (0: not at all);
    `check_methods` has signatures answer only what they say they are for. `tls` is for gRPC, and for REST too where
    `rest_tls`. `request_log` is the file for a line on each request (`-`: stdout). Where `batching` is given, calls are
    joined by those parameters or, `per_model_batching`, by those in each version's folder. `workers` is how many
    processes answer. `grace` is how many seconds requests under way get at the end.
    """

    models: list[ModelConfig]
    host: str = "127.0.0.1"
    grpc_port: int | None = 8500
    rest_port: int | None = 8501
    loading: LoadSettings = field(default_factory=LoadSettings)
    rest: RestSettings = field(default_factory=lambda: RestSettings(threads()))
    grpc_threads: int = field(default_factory=threads)
    as_content: bool = False
    any_label: bool = False
    warm_up: int = 1
    check_methods: bool = False
    tls: Tls | None = None
    rest_tls: bool = False
    grpc_socket: Path | None = None
    grpc_arguments: tuple[tuple[str, str | int], ...] = ()
    config_file: Path | None = None
    config_poll_seconds: float = 0.0
    request_log: str = ""
    batching: BatchingParameters | None = None
    per_model_batching: bool = False
    workers: int = 1
    grace: float = 10.0

    def grpc_addresses(self) -> list[str]:
        """Where gRPC is listened for, in gRPC's words."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        by_port = [f"{host}:{self.grpc_port}"] if self.grpc_port is not None else []
        return [*by_port, f"unix:{self.grpc_socket}"] if self.grpc_socket else by_port
