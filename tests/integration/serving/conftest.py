from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.serving import models
from tests.integration.serving.server import ModelServer


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
