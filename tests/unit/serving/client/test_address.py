from __future__ import annotations

import pytest

from shoal.serving.client.address import Address, parse
from shoal.serving.client.errors import ClientError


@pytest.mark.parametrize(
    ("at", "rest", "address"),
    [
        (None, False, Address(False, "127.0.0.1:8500")),
        (None, True, Address(True, "http://127.0.0.1:8501")),
        ("models", False, Address(False, "models:8500")),
        ("models:9000", False, Address(False, "models:9000")),
        ("models:9000", True, Address(True, "http://models:9000")),
        ("[::1]", False, Address(False, "[::1]:8500")),
        ("grpc://models:9000", False, Address(False, "models:9000")),
        ("grpcs://models:443", False, Address(False, "models:443", True)),
        ("http://models", False, Address(True, "http://models")),
        ("http://models:8501/v1/models", True, Address(True, "http://models:8501")),
        ("https://example.com/team/digits/", False, Address(True, "https://example.com/team/digits", True)),
    ],
)
def test_what_an_address_means(at: str | None, rest: bool, address: Address) -> None:
    assert parse(at, rest) == address


@pytest.mark.parametrize(
    ("at", "rest", "said"),
    [
        ("ftp://models", False, "no such scheme as ftp"),
        ("models:port", False, "that is no host and port"),
        ("models:99999", False, "that is no host and port"),
        ("models/v1", False, "that is no host and port"),
        ("http://", False, "that is no host and port"),
        ("http://models/v1/models/digits:predict", False, "name the server alone"),
        ("grpc://models", True, "that is gRPC, and --rest asks for REST"),
    ],
)
def test_what_is_no_address(at: str, rest: bool, said: str) -> None:
    with pytest.raises(ClientError, match=said):
        parse(at, rest)
