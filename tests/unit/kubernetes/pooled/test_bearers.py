"""What is taken for a tenant's token."""

from __future__ import annotations

import base64

import pytest

from shoal.kubernetes.operator.views import Metadata, Secret
from shoal.kubernetes.pooled.bearers import NoToken, token_in


def secret(**data: str) -> Secret:
    held = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
    return Secret(Metadata(name="shoal-gpu-pool", namespace="team"), held)


def test_a_token_is_one_word() -> None:
    assert token_in(secret(token=f" {'a' * 43}\n", broker="https://gpus")) == "a" * 43


@pytest.mark.parametrize("text", ["", " \n", "two words", "a\r\nHost: elsewhere", "é", "a" * 1001])
def test_what_cannot_be_shown_to_a_broker_is_none(text: str) -> None:
    """Members of the tenant may write the Secret."""
    with pytest.raises(NoToken, match="has no `token` that is one word"):
        token_in(secret(token=text))


def test_a_secret_without_token_or_that_is_no_base64_has_none() -> None:
    for held in (
        secret(broker="https://gpus"),
        Secret(Metadata(name="s"), {"token": "***"}),
        Secret(Metadata(name="s")),
    ):
        with pytest.raises(NoToken):
            token_in(held)
