"""`shoal gpu plugin` where it cannot begin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog

SOFTWARE = ["--software-gpus", "1"]


@pytest.fixture(autouse=True)
def logging() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--resource-name", "gpu"], "RESOURCE_NAME gpu: no name of an extended resource\nhint: DOMAIN/NAME"),
        (["--resource-name", "x.kubernetes.io/gpu"], "RESOURCE_NAME x.kubernetes.io/gpu: no name"),
        (["--socket-name", "kubelet.sock"], "SOCKET_NAME kubelet.sock: no name of a file for the plugin alone"),
        (["--socket-name", "../x"], "SOCKET_NAME ../x: no name"),
        (["--device-pattern", "A100("], "REG_EXP_SFC A100(: missing )"),
        ([*SOFTWARE, "--pool-shares", "1"], "--software-gpus and --pool-shares: a plugin offers one kind"),
        ([*SOFTWARE, "--broker", "x"], "--client-library and --broker are of the pool\nhint: say --pool-shares"),
        (["--pool-shares", "1", "--client-library", "lib"], "--client-library lib: not absolute"),
        ([*SOFTWARE, "--label-node"], "--label-node: which node is this?\nhint: say --node, or NODE_NAME"),
        (["--pool-shares", "1", "--label-node", "--node", "n"], "GPUs of the pool are not this node's"),
        ([*SOFTWARE, "--gpu-memory", "16Go"], "--gpu-memory '16Go' is not a quantity such as"),
        ([*SOFTWARE, "--gpu-memory", "16"], "--gpu-memory 16: less than a mebibyte"),
        ([*SOFTWARE, "--label-node", "--node", "n", "--kubeconfig", "/none"], "--label-node: no cluster to connect to"),
    ],
)
def test_what_cannot_be_offered_is_refused(shoal, words, told):
    code, out, err = shoal("gpu", "plugin", *words)
    assert (code, out) == (2, "")
    assert told in err


def test_the_environment_says_what_the_options_do(shoal, monkeypatch):
    monkeypatch.setenv("RESOURCE_NAME", "no-domain")
    assert "RESOURCE_NAME no-domain: no name" in shoal("gpu", "plugin").err


def test_a_node_without_a_kubelet_is_said(shoal, tmp_path):
    code, _, err = shoal("gpu", "plugin", *SOFTWARE, "--kubelet-folder", tmp_path / "none")
    assert code == 1
    assert f"error: there is no folder {tmp_path}/none\nhint: is a kubelet on this node? --kubelet-folder" in err
