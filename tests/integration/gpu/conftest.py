from __future__ import annotations

import os
from collections.abc import Iterator

import httpx2
import pytest

from tests.integration.gpu.brokers import TOKENS, bearer
from tests.integration.gpu.test_agent import agent, until
from tests.integration.gpu.test_broker_process import broker


@pytest.fixture(scope="package")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx2.Client, dict[str, str]]]:
    """A broker with an agent of two GPUs, and the environment of who asks it."""
    folder = tmp_path_factory.mktemp("pool")
    with broker(folder) as (_, client), agent(folder, client):
        (folder / "tenant").write_text(TOKENS["vision"])
        until(lambda: client.get("/v1/hosts", headers=bearer("ops")).json())
        yield (
            client,
            {
                **os.environ,
                "SHOAL_BROKER": str(client.base_url),
                "SHOAL_TOKEN_FILE": str(folder / "tenant"),
                "SHOAL_BROKER_CA": str(folder / "tls" / "ca.crt"),
            },
        )
