"""Model servers of this machine beside its runs: how they are named, listed, described and ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shoal.cli.names import complete_any
from shoal.local.servers import all_servers, registered
from shoal.resources import ModelServer, parse_server
from shoal.runs import RunError
from tests.unit.cli.test_run_commands import ended

PROCESS = """
import signal, sys
from shoal.local.servers import registered
from shoal.resources import parse_server
import json
with registered(parse_server(json.loads(sys.argv[1]))):
    print("serves", flush=True)
    signal.sigwait([signal.SIGTERM])
"""


def server(name: str = "digits") -> ModelServer:
    spec = {
        "models": [{"name": "digits", "basePath": "/models/digits"}],
        "image": "example/own",
        "ports": {"grpc": 1, "rest": 2},
    }
    return parse_server({"apiVersion": "shoal.dev/v1", "kind": "ModelServer", "metadata": {"name": name}, "spec": spec})


@contextmanager
def process(name: str = "digits") -> Iterator[subprocess.Popen[str]]:
    """A process that says it serves, until SIGTERM."""
    block = f"import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n{PROCESS}"
    command = [sys.executable, "-c", block, json.dumps(server(name).dump())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "serves\n"
        try:
            yield running
        finally:
            running.kill()


def test_ps_lists_servers_and_tells_kinds_apart_where_there_are_both(shoal):
    assert shoal("ps").err == "nothing runs\n"
    with registered(server()):
        header, row = shoal("ps").out.splitlines()
        assert header.split() == ["NAME", "PHASE", "REPLICAS", "PROGRESS", "RETRIES", "TIME"]
        assert row.split()[:5] == ["digits", "Pending", "0", "ready,", "1"]  # nothing answers at its port
        ended("train")
        assert "train" not in shoal("ps").out
        header, first, second = shoal("ps", "-a").out.splitlines()
        assert header.split()[:3] == ["NAME", "KIND", "PHASE"]
        assert first.split()[:3] == ["train", "TFJob", "Succeeded"]
        assert second.split()[:2] == ["digits", "ModelServer"]
        told = json.loads(shoal("ps", "-a", "-o", "json").out)
    assert [(each["name"], each["kind"]) for each in told] == [("train", "TFJob"), ("digits", "ModelServer")]
    assert shoal("ps").err == "nothing runs\n"


def test_describe_tells_where_it_is_reached(shoal):
    with registered(server()):
        for name in ("digits", "modelserver/digits", "ms/digits", "ModelServers/digits"):
            told = shoal("describe", name)
            assert told.code == 0, told
            assert "REST      http://127.0.0.1:2\n" in told.out
            assert "gRPC      127.0.0.1:1\n" in told.out
            assert "Models    digits (/models/digits)\n" in told.out
        assert json.loads(shoal("describe", "digits", "-o", "json").out)["status"]["url"] == "http://127.0.0.1:2"


@pytest.mark.parametrize("command", ["describe", "logs", "rm", "wait"])
def test_a_name_that_both_have_is_refused_and_both_are_named(shoal, command):
    ended("digits")
    with registered(server()):
        result = shoal(command, "digits")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "error: there are a job and a model server named 'digits'\n"
        "hint: say which: tfjob/digits or modelserver/digits\n"
    )


def test_the_kind_tells_which_of_them_is_meant(shoal):
    run = ended("digits")
    with registered(server()):
        assert "REST      " in shoal("describe", "modelserver/digits").out
        assert "Strategy  " in shoal("describe", "tfjob/digits").out
        assert shoal("rm", "tfjob/digits").err == "digits is removed\n"
        assert not run.exists
        assert shoal("describe", "digits").code == 0


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("digts", "there is no run and no model server named 'digts'\nhint: did you mean digits?"),
        ("modelserver/train", "there is no model server named 'train'\nhint: known model servers: digits"),
        ("tfjob/digits", "there is no run named 'digits'\nhint: known runs: train"),
    ],
)
def test_an_unknown_name_is_refused(shoal, name, told):
    ended("train")
    with registered(server()):
        assert shoal("describe", name).err == f"error: {told}\n"


@pytest.mark.parametrize("command", [["stop"], ["resume"], ["scale", "--workers", "2"], ["tensorboard"]])
@pytest.mark.parametrize("name", ["digits", "modelserver/digits"])
def test_what_only_runs_do_says_so(shoal, command, name):
    with registered(server()):
        result = shoal(*command, name)
    assert result.code == 2
    assert result.err == (
        "error: digits is a model server, not a run\nhint: end it with `shoal rm modelserver/digits`\n"
    )


def test_rm_ends_the_process_and_returns_when_it_has_gone(shoal):
    with process() as running:
        assert shoal("rm", "digits").err == "digits is removed\n"
        assert all_servers() == []
        assert running.wait(10) == 0


def test_one_that_was_killed_serves_no_more_and_its_name_is_free(shoal):
    with process() as running:
        running.send_signal(signal.SIGKILL)
        running.wait(10)
        assert shoal("ps").err == "nothing runs\n"
        with registered(server()):
            assert [each.name for each in all_servers()] == ["digits"]


def test_a_second_server_of_the_name_is_refused(home):
    with (
        registered(server()),
        pytest.raises(RunError, match="a model server named 'digits' is running"),
        registered(server()),
    ):
        raise AssertionError
    assert all_servers() == []


def test_a_server_on_this_machine_keeps_no_log(shoal):
    with registered(server()):
        assert "error: digits keeps no log\nhint: it writes to the terminal" in shoal("logs", "digits").err


def test_names_are_completed(home):
    ended("train")
    with registered(server("trees")):
        assert complete_any("tr") == ["train", "trees"]
        assert complete_any("modelserver/t") == ["modelserver/trees"]
        assert complete_any("tfjob/") == ["tfjob/train"]
        assert complete_any("pod/") == []
