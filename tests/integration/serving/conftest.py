from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.serving import models
from tests.integration.serving.server import ModelServer

POLL = "--file_system_poll_wait_seconds=0.1"


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Base paths with a version each: `half_plus_two/123`, `half_plus_three/123`, `many/7`, `tf1/1`, `keras/1`,
    `pictures/1`."""
    folder = tmp_path_factory.mktemp("models")
    models.half_plus(2.0, folder / "half_plus_two" / "00000123")
    models.half_plus(3.0, folder / "half_plus_three" / "123")
    models.many(folder / "many" / "7")
    models.keras_lstm(folder / "keras" / "1")
    models.tf1_half_plus_two(folder / "tf1" / "1")
    models.pictures(folder / "pictures" / "1")
    return folder


@pytest.fixture(scope="session")
def server(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    """A server of all of them, asked by tests that change nothing."""
    folder = tmp_path_factory.mktemp("server")
    config = folder / "models.config"
    entries = "".join(
        f'config {{ name: "{name}" base_path: "{made / name}" model_platform: "tensorflow" {more} }}\n'
        for name, more in {
            "half_plus_two": 'version_labels { key: "stable" value: 123 }',
            "half_plus_three": "",
            "many": "",
            "keras": "",
            "tf1": "",
            "pictures": "",
        }.items()
    )
    config.write_text(f"model_config_list {{ {entries} }}")
    server = ModelServer(folder / "log", f"--model_config_file={config}", "--rest_api_enable_cors_support=true")
    yield server.until_ready()
    server.close()


@pytest.fixture(scope="session")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SavedModels to copy: `2.0` and `3.0` add so much, `many` can be told to wait."""
    folder = tmp_path_factory.mktemp("versions")
    models.half_plus(2.0, folder / "2.0")
    models.half_plus(3.0, folder / "3.0")
    models.many(folder / "many")
    return folder


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    """A server that begins with no model; each test configures its own."""
    folder = tmp_path_factory.mktemp("running")
    (folder / "models.config").touch()
    config = f"--model_config_file={folder / 'models.config'}"
    server = ModelServer(
        folder / "log",
        config,
        POLL,
        "--max_num_load_retries=1",
        "--load_retry_interval_micros=100000",
        "--rest_body_bytes=1000000",
        "--rest_api_timeout_in_ms=3000",
        f"--request-log={folder / 'requests'}",
    )
    yield server.until_listening()
    server.close()
