from __future__ import annotations

from pathlib import Path
from unittest.mock import create_autospec

import pytest
from typer.testing import CliRunner

from shoal.cli.main import app


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ([], "a broker has TLS in one of three ways: --tls-folder, --tls-cert with --tls-key, or --plain-http"),
        (["--tls-cert", "x"], "a broker has TLS in one of three ways"),
        (["--plain-http"], "tenants.yaml: tenants.vision.tokens.0: String should match pattern"),
    ],
)
def test_what_a_broker_cannot_start_with_is_told(tmp_path: Path, flags: list[str], told: str) -> None:
    (tmp_path / "tenants.yaml").write_text("tenants: {vision: {tokens: [secret]}}")
    result = CliRunner().invoke(app, ["gpu", "broker", "--tenants", str(tmp_path / "tenants.yaml"), *flags])
    assert result.exit_code == 2
    assert told in result.stderr


def test_an_agent_without_a_driver_says_what_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pynvml

    monkeypatch.setattr(pynvml, "nvmlInit", create_autospec(pynvml.nvmlInit, side_effect=_no_library))
    (tmp_path / "token").write_text("t")
    flags = ["--broker", "http://127.0.0.1:1", "--token-file", str(tmp_path / "token"), "--state", str(tmp_path)]
    result = CliRunner().invoke(app, ["gpu", "serve", *flags])
    assert result.exit_code == 1
    assert "error: there is no NVIDIA driver here: libnvidia-ml.so.1 is missing" in result.stderr
    assert "without a GPU, use --software-gpus" in result.stderr


def _no_library() -> None:
    import pynvml

    raise pynvml.NVMLError_LibraryNotFound


def test_a_token_is_made_with_the_hash_that_knows_it() -> None:
    from shoal.gpu.tenants import matches

    made = CliRunner().invoke(app, ["gpu", "token"]).stdout.split()
    assert len(made[0]) == 43
    assert matches(*made)
