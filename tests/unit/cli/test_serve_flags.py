"""How `shoal serve` reads TensorFlow Serving's spelling of flags."""

from __future__ import annotations

from typing import Any

import pytest
import typer
from typer.main import get_command

from shoal.cli import serve


@pytest.fixture
def command() -> Any:
    app = typer.Typer()
    serve.register(app)
    return vars(get_command(app))["commands"]["serve"]


@pytest.mark.parametrize(
    ("word", "name", "value"),
    [
        ("--enable_model_warmup=false", "warm_up", False),
        ("--enable_model_warmup=true", "warm_up", True),
        ("--enable_model_warmup", "warm_up", True),
        ("--rest_api_enable_cors_support=1", "cors", True),
        ("--rest_api_enable_cors_support=0", "cors", False),
        ("--enable_signature_method_name_check=true", "check_methods", True),
        ("--rest_api_timeout_in_ms=5", "rest_timeout", 5),
        ("--model_name=m", "name", "m"),
    ],
)
def test_both_spellings_of_switches(command: Any, word: str, name: str, value: object) -> None:
    assert command.make_context("serve", [word]).params[name] == value
