"""A line for each request, and nothing of what was in it."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.integration.serving.configuration import configure, entry
from tests.integration.serving.server import ModelServer


def test_what_is_written(running: ModelServer, versions: Path, tmp_path: Path) -> None:
    """Into a new file when the old one has been renamed, as logrotate does."""
    shutil.copytree(versions / "2.0", tmp_path / "7")
    configure(running, entry(tmp_path))
    file = running.log.parent / "requests"
    running.rest("/v1/models/m:predict", {"instances": [1.0]})
    file.rename(tmp_path / "rotated")
    body = b'{"instances": [1.0, 4321.0]}'
    assert running.rest("/v1/models/m:predict", body)[0] == 200
    running.predict("m", x=[4321.0, 2.0, 3.0])
    running.rest("/v1/models/m:classify", {"signature_name": "classify_x_to_y", "examples": [{"x": 4321.0}]})
    with pytest.raises(grpc.RpcError):
        running.predict("nobody", x=[4321.0])
    assert running.rest("/v1/models/m:predict", {"instances": ["4321"]})[0] == 400
    text = file.read_text()
    assert "4321" not in text
    lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    keys = ("protocol", "api", "model", "version", "signature", "code", "rows")
    assert [tuple(line[key] for key in keys) for line in lines] == [
        ("REST", "predict", "m", 7, "serving_default", "OK", 2),
        ("GRPC", "predict", "m", 7, "serving_default", "OK", 3),
        ("REST", "classify", "m", 7, "classify_x_to_y", "OK", 1),
        ("GRPC", "predict", "nobody", None, None, "NOT_FOUND", None),
        ("REST", "predict", "m", 7, None, "INVALID_ARGUMENT", None),
    ]
    assert lines[0]["bytes"] == len(body)
    assert all(line["ms"] > 0 and datetime.fromisoformat(line["time"]).tzinfo for line in lines)
    assert json.loads((tmp_path / "rotated").read_text().splitlines()[-1])["rows"] == 1


def test_what_tensorflow_serving_collects_is_not(running: ModelServer, versions: Path, tmp_path: Path) -> None:
    shutil.copytree(versions / "2.0", tmp_path / "1")
    logging = 'logging_config { log_collector_config { type: "file" } sampling_config { sampling_rate: 0.5 } }'
    configure(running, entry(tmp_path, logging, name="collecting"))
    assert running.log.read_text().count("collecting: logging_config has no effect") == 1
