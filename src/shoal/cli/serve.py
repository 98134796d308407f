"""`shoal serve` and `shoal publish`: a model server on this machine, and new versions for it."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from shoal.cli.terminal import Exit, refuse, say

if TYPE_CHECKING:
    from shoal.serving.batching_parameters import BatchingParameters
    from shoal.serving.model_config import ModelConfig
    from shoal.serving.tls import Tls

NOT_YET = ("platform_config_file",)
"""Flags of TensorFlow Serving's that change what is served, and that are not there yet."""

NO_EFFECT = (
    "flush_filesystem_caches",
    "num_unload_threads",
    "monitoring_config_file",
    "enable_grpc_healthcheck_service",
    "tensorflow_session_parallelism",
    "tensorflow_intra_op_parallelism",
    "tensorflow_inter_op_parallelism",
    "per_process_gpu_memory_fraction",
    "remove_unused_fields_from_bundle_metagraph",
    "enable_profiler",
)
"""Flags of TensorFlow Serving's that a start script may carry over, and that say nothing here."""


ANOTHER_PORT = "choose another port with --port or --rest-port; 0 is none"


class ServingCommand(TyperCommand):
    """A command whose flags may be spelt as TensorFlow Serving's: `--model_name=x`, `--enable_batching=true`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        flags = [param for param in self.params if getattr(param, "is_flag", False)]
        switches = {name: "".join(param.secondary_opts) for param in flags for name in param.opts}
        return super().parse_args(ctx, list(filter(None, (_respelt(arg, switches) for arg in args))))


def _respelt(arg: str, switches: Mapping[str, str]) -> str:
    """The argument as this command spells it; empty where it says nothing. `switches` are flags without a value, each
    with the flag that says the opposite, where it is on by default."""
    flag, has_value, value = arg.partition("=")
    if not flag.startswith("--"):
        return arg
    plain = flag.removeprefix("--")
    if plain in NOT_YET and value.lower() not in ("false", "0"):
        refuse(f"{flag}: not built yet", "docs/serving.md says what there is")
    if plain in NOT_YET or plain in NO_EFFECT:
        if plain in NO_EFFECT:
            say(f"{flag} has no effect here")
        return ""
    flag = flag.replace("_", "-")
    if has_value and flag in switches:
        match value.lower():
            case "true" | "1":
                return flag
            case "false" | "0":
                return switches[flag]
            case _:
                refuse(f"{flag}: expected true or false, found {value}")
    return f"{flag}={value}" if has_value else flag


def register(app: typer.Typer) -> None:
    app.command(cls=ServingCommand)(serve)
    app.command()(publish)


def serve(
    path: Annotated[
        Path | None, typer.Argument(metavar="[PATH]", help="The model's base path, with a folder for each version.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", "--model-name", help="By default the last part of the path.")
    ] = None,
    base_path: Annotated[Path | None, typer.Option("--model-base-path", hidden=True)] = None,
    config_file: Annotated[
        Path | None, typer.Option("--model-config-file", help="Serve the models of this ModelServerConfig instead.")
    ] = None,
    config_poll: Annotated[
        float,
        typer.Option("--model-config-file-poll-wait-seconds", min=0, help="Read that file again so often. 0: never."),
    ] = 0,
    host: Annotated[str, typer.Option(help="Listen here. 0.0.0.0: for other machines too.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of gRPC. 0: none.")] = 8500,
    rest_port: Annotated[
        int, typer.Option("--rest-port", "--rest-api-port", min=0, max=65535, help="Of REST. 0: none.")
    ] = 8501,
    poll: Annotated[
        float,
        typer.Option(
            "--poll-seconds",
            "--file-system-poll-wait-seconds",
            min=0,
            help="Look for new versions so often. 0: at the start only.",
        ),
    ] = 1,
    retries: Annotated[
        int, typer.Option("--max-num-load-retries", min=0, help="Further tries to load a version that failed.")
    ] = 5,
    retry_micros: Annotated[
        int, typer.Option("--load-retry-interval-micros", help="Between those tries, in microseconds.")
    ] = 60_000_000,
    load_threads: Annotated[int, typer.Option("--num-load-threads", min=0, help="Versions loaded at a time.")] = 4,
    grpc_threads: Annotated[
        int | None,
        typer.Option(
            "--grpc-max-threads", min=1, help="Requests at a time. Default: 4 a processor; more with batching."
        ),
    ] = None,
    rest_threads: Annotated[
        int | None,
        typer.Option(
            "--rest-api-num-threads", min=1, help="Requests at a time. Default: 4 a processor; more with batching."
        ),
    ] = None,
    cors: Annotated[
        bool, typer.Option("--rest-api-enable-cors-support", help="Let web pages of any origin ask.")
    ] = False,
    body_bytes: Annotated[
        int, typer.Option("--rest-body-bytes", min=1, help="The largest body of a REST request, uncompressed.")
    ] = 1 << 30,
    rest_timeout: Annotated[
        int,
        typer.Option("--rest-api-timeout-in-ms", min=1, help="How long a model may take for a REST request. 30 s."),
    ] = 30_000,
    warm_up: Annotated[
        bool,
        typer.Option(
            "--enable-model-warmup/--no-model-warmup", help="Run a model's warm-up requests before it answers."
        ),
    ] = True,
    warm_up_iterations: Annotated[
        int, typer.Option("--num-request-iterations-for-warmup", min=0, help="Run each so often. 0: once.")
    ] = 0,
    ssl_config: Annotated[
        Path | None,
        typer.Option("--ssl-config-file", help="gRPC over TLS, with the key and certificate of this SSLConfig."),
    ] = None,
    rest_tls: Annotated[bool, typer.Option("--rest-tls", help="REST over TLS too, with the same.")] = False,
    grpc_socket: Annotated[
        Path | None, typer.Option("--grpc-socket-path", help="Listen for gRPC at this Unix socket too.")
    ] = None,
    grpc_arguments: Annotated[
        str,
        typer.Option("--grpc-channel-arguments", help="For the gRPC server, as in grpc.max_connection_age_ms=2000,…"),
    ] = "",
    request_log: Annotated[
        str,
        typer.Option("--request-log", metavar="FILE", help="A line of JSON for each inference request. -: on stdout."),
    ] = "",
    check_methods: Annotated[
        bool,
        typer.Option(
            "--enable-signature-method-name-check",
            help="Refuse what a signature's method_name does not name. Models of TensorFlow 2 name predict only.",
        ),
    ] = False,
    any_label: Annotated[
        bool,
        typer.Option(
            "--allow-version-labels-for-unavailable-models",
            help="New labels may name versions that are not loaded yet.",
        ),
    ] = False,
    as_content: Annotated[
        bool,
        typer.Option(
            "--enable-serialization-as-tensor-content", help="Answer gRPC with tensor_content: faster to read."
        ),
    ] = False,
    batching: Annotated[
        bool, typer.Option("--enable-batching", help="Join requests that come at the same time into one run.")
    ] = False,
    batching_file: Annotated[
        Path | None, typer.Option("--batching-parameters-file", help="How, as a text-format BatchingParameters.")
    ] = None,
    per_model_batching: Annotated[
        bool,
        typer.Option(
            "--enable-per-model-batching-parameters",
            help="How, as batching_params.pbtxt in each version's folder says; without it, one by one.",
        ),
    ] = False,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes that answer at the same ports; each holds every model.")
    ] = 1,
    grace: Annotated[float, typer.Option(min=0, help="Seconds that requests under way get at the end.")] = 10,
) -> None:
    """Serve SavedModels over gRPC and REST, as TensorFlow Serving does. Its own flags are understood too.

    Ctrl-C and SIGTERM end it when the requests under way have been answered.
    """
    _need_serving()
    models, config_file = _models(path or base_path, name, config_file)
    if not port and not rest_port and not grpc_socket:
        refuse("both --port and --rest-port are 0: nobody could ask")
    joined = _batching(batching, batching_file, per_model_batching)
    if rest_tls and ssl_config is None:
        refuse("--rest-tls: with which certificate?", "name a file with --ssl-config-file")
    if grpc_socket and workers > 1:
        refuse("--grpc-socket-path with --workers: one process alone can listen there", "leave one of them out")
    tls = _tls(ssl_config) if ssl_config else None
    arguments = _channel_arguments(grpc_arguments)
    from shoal.listening import ListenError, check

    try:
        for each in filter(None, (port, rest_port)):
            check(host, each)
    except ListenError as fault:
        refuse(str(fault), ANOTHER_PORT)
    if request_log not in ("", "-"):
        try:
            Path(request_log).open("a").close()
        except OSError as fault:
            refuse(f"--request-log: {request_log}: {fault.strerror}")
    say("importing TensorFlow")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # else it tells of every processor feature
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    from shoal.serving.catalog import LoadSettings
    from shoal.serving.settings import RestSettings, ServerSettings, threads

    loading = LoadSettings(poll, retries, max(0.0, retry_micros / 1e6), load_threads or 1)
    settings = ServerSettings(
        models,
        host=host,
        grpc_port=port or None,
        rest_port=rest_port or None,
        loading=loading,
        rest=RestSettings(rest_threads or threads(joined), cors, body_bytes, rest_timeout / 1000),
        grpc_threads=grpc_threads or threads(joined),
        as_content=as_content,
        any_label=any_label,
        check_methods=check_methods,
        request_log=request_log,
        tls=tls,
        rest_tls=rest_tls,
        grpc_socket=grpc_socket,
        grpc_arguments=arguments,
        warm_up=max(1, warm_up_iterations) if warm_up else 0,
        config_file=config_file,
        config_poll_seconds=config_poll,
        batching=joined,
        per_model_batching=per_model_batching,
        workers=workers,
        grace=grace,
    )
    if workers > 1:
        from shoal.serving.workers import serve as run
    else:
        from shoal.serving.serve import serve as run
    try:
        signal = run(settings)
    except ListenError as fault:
        refuse(str(fault), ANOTHER_PORT)
    raise SystemExit(Exit.INTERRUPTED if signal == 2 else Exit.OK)


def publish(
    source: Annotated[Path, typer.Argument(metavar="SAVED_MODEL", help="The folder with saved_model.pb.")],
    base_path: Annotated[Path, typer.Argument(metavar="BASE_PATH", help="Where the model's versions are.")],
    version: Annotated[int | None, typer.Option(min=0, help="By default one more than the highest there.")] = None,
) -> None:
    """Put a SavedModel where a model server finds it: as a whole, under the next version. Prints the new path."""
    from shoal.serving.publish import PublishError
    from shoal.serving.publish import publish as put

    try:
        print(put(source, base_path, version))
    except PublishError as fault:
        refuse(str(fault), fault.hint)


def _models(path: Path | None, name: str | None, config_file: Path | None) -> tuple[list[ModelConfig], Path | None]:
    from shoal.serving import model_config
    from shoal.serving.folders import is_version_folder
    from shoal.serving.status import ServingError

    if config_file is not None:
        if path is not None:
            refuse("a path and --model-config-file: name one of them")
        try:
            return model_config.read(config_file) or [], config_file
        except ServingError as fault:
            refuse(fault.message)
    if path is None:
        refuse("which model?", "shoal serve PATH --name NAME, or --model_config_file=FILE")
    if not path.is_dir():
        refuse(f"{path}: no such folder", "name the folder that has a folder for each version in it")
    if is_version_folder(path):
        refuse(
            f"{path} is a SavedModel itself, and a folder of versions is wanted",
            f"serve {path.parent} if that is one, or: shoal publish {path} BASE_PATH",
        )
    return [model_config.ModelConfig(name or path.resolve().name, path.resolve())], None


def _batching(enabled: bool, file: Path | None, per_model: bool) -> BatchingParameters | None:
    from shoal.serving import batching_parameters
    from shoal.serving.status import ServingError

    if not enabled:
        if file is not None or per_model:
            flag = "--batching-parameters-file" if file is not None else "--enable-per-model-batching-parameters"
            refuse(f"{flag} is set without --enable-batching", "set both, or neither")
        return None
    if file is None:
        return batching_parameters.default()
    try:
        return batching_parameters.read(file, say)
    except ServingError as fault:
        refuse(fault.message)


def _tls(path: Path) -> Tls:
    from shoal.serving.status import ServingError
    from shoal.serving.tls import read

    try:
        return read(path)
    except ServingError as fault:
        refuse(fault.message, "docs/serving.md shows such a file")
    except OSError as fault:
        refuse(f"{path}: {fault.strerror}")


def _channel_arguments(text: str) -> tuple[tuple[str, str | int], ...]:
    """`key=value,…`; a value that reads as an integer is one."""
    pairs = [each.partition("=") for each in text.split(",") if each]
    if wrong := [key for key, equals, _ in pairs if not equals]:
        refuse(f"--grpc-channel-arguments: {wrong[0]}: expected KEY=VALUE")
    return tuple((key, int(value) if value.lstrip("-").isdigit() else value) for key, _, value in pairs)


def _need_serving() -> None:
    needed = ("tensorflow", "tensorflow_serving", "grpc_health", "grpc_reflection", "starlette", "uvicorn", "orjson")
    missing = [module for module in needed if find_spec(module) is None]
    if missing:
        refuse(
            f"a model server needs {', '.join(missing)}, which this Python has not: {sys.executable}",
            'pip install "shoal[serving]", and TensorFlow as docs/installing.md says',
        )
