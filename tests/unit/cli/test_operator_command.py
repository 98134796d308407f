"""`shoal operator` where it cannot begin."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest
import structlog

CONFIG = {
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
    "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
    "users": [{"name": "u", "user": {}}],
    "current-context": "here",
}


@pytest.fixture(autouse=True)
def logging() -> Iterator[None]:
    """The command says where the whole process logs to; that is this test's own output, which ends with it."""
    yield
    structlog.reset_defaults()


def test_a_webhook_that_nobody_could_trust_is_refused(shoal):
    done = shoal("operator", "--webhook-port=9443")
    assert done.code == 2
    assert "nobody could trust the webhook" in done.err
    assert "hint: say how it is reached, as in --webhook-host=10.0.0.1" in done.err


def test_a_port_that_is_taken_is_named_as_the_cause(shoal, tmp_path):
    file = tmp_path / "config"
    file.write_text(json.dumps(CONFIG))
    with socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as taken:
        options = ("--metrics-port=0", f"--webhook-port={taken.getsockname()[1]}", "--webhook-host=10.0.0.1")
        done = shoal("operator", "--kubeconfig", file, *options)
    assert done.code == 2
    assert "cannot listen: Address already in use" in done.err
    assert "hint: choose other ports" in done.err
