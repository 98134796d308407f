"""How tests tell a running server what to serve, and ask which version answers."""

from __future__ import annotations

from pathlib import Path

from tensorflow_serving.apis import model_management_pb2

from tests.integration.serving.server import RPC_SECONDS, ModelServer


def configure(server: ModelServer, *entries: str) -> None:
    from google.protobuf import text_format

    request = model_management_pb2.ReloadConfigRequest()
    configs = " ".join(f"config {{ {entry} }}" for entry in entries)
    text_format.Parse(f"model_config_list {{ {configs} }}", request.config)
    server.models.HandleReloadConfigRequest(request, RPC_SECONDS)


def entry(path: Path, more: str = "", name: str = "m") -> str:
    return f'name: "{name}" base_path: "{path}" model_platform: "tensorflow" {more}'


def specific(*numbers: int) -> str:
    return f"model_version_policy {{ specific {{ {' '.join(f'versions: {n}' for n in numbers)} }} }}"


def value(server: ModelServer, version: int | None = None, label: str = "", name: str = "m") -> float:
    where = f"/versions/{version}" if version is not None else f"/labels/{label}" if label else ""
    status, answer = server.rest(f"/v1/models/{name}{where}:predict", {"instances": [0.0]})
    assert status == 200, answer
    found: float = answer["predictions"][0]
    return found
