"""Commands against clusters that lack something. What they do on a real one, tests/cluster/api/test_cli.py
tests."""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from typing import Any

import httpx2
import pytest
import yaml

from shoal.kubernetes.client import connection, watching
from shoal.kubernetes.client.runs import ClusterRuns
from shoal.kubernetes.operator.client import Client
from shoal.resources.yaml_text import write_yaml
from tests.unit.resources.manifests import manifest

CONFIG = {
    "clusters": [{"name": "c", "cluster": {"server": "http://api"}}],
    "users": [{"name": "u", "user": {}}],
    "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
    "current-context": "here",
}


def job(name: str, **status: object) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team", "uid": f"uid-of-{name}", "resourceVersion": "1"}
    return {"metadata": metadata, "apiVersion": "shoal.dev/v1", "spec": {"tfReplicaSpecs": {}}, "status": status}


def model_server(name: str, **status: object) -> dict[str, Any]:
    return {**job(name, **status), "spec": {"models": []}}


def items(*objects: object) -> tuple[int, object]:
    return 200, {"metadata": {}, "items": list(objects)}


def refusal(code: int, message: str) -> tuple[int, object]:
    return code, {"kind": "Status", "code": code, "message": message}


class Server(httpx2.AsyncBaseTransport):
    """Answers by the path's beginning, and with 404 as an API server does for groups that it has not; an exception is
    raised, and an answer in a list is given once."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        for path, answer in self.answers.items():
            if request.url.path.startswith(path):
                given = answer.pop(0) if isinstance(answer, list) and len(answer) > 1 else answer
                given = given[0] if isinstance(given, list) else given
                if isinstance(given, Exception):
                    raise given
                return httpx2.Response(given[0], json=given[1])
        return httpx2.Response(404, text="404 page not found\n")


@pytest.fixture
def server(monkeypatch, tmp_path) -> Server:
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(CONFIG))
    monkeypatch.setenv("KUBECONFIG", str(file))
    monkeypatch.setenv("SHOAL_ON", "kubernetes")
    monkeypatch.setattr(ClusterRuns, "look_seconds", 0.01)
    server = Server()
    monkeypatch.setattr(connection, "Client", partial(Client, transport=server))
    return server


def test_what_belongs_to_a_cluster_is_refused_without_one(shoal):
    result = shoal("ps", "-n", "team")
    assert (result.code, result.err) == (
        2,
        "error: --context and --namespace belong to a cluster\nhint: add --on kubernetes\n",
    )
    assert shoal("ps", "--on", "kubernets").code == 2


def test_without_the_extra(shoal, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightkube", None)
    result = shoal("ps", "--on", "kubernetes")
    assert (result.code, result.out) == (2, "")
    assert result.err == 'error: Kubernetes needs more than Shoal\'s base\nhint: pip install "shoal[kubernetes]"\n'


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("words", [("ps",), ("describe", "train"), ("wait", "train")])
def test_a_cluster_without_tfjobs(shoal, words):
    result = shoal(*words)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: the cluster knows no TFJobs\nhint: an administrator installs Shoal's: kubectl")


def test_one_group_is_enough(shoal, server):
    """A cluster may have Kubeflow's CRD alone, and a user may have rights to one group alone."""
    server.answers["/apis/kubeflow.org/v1/"] = items(job("old", phase="Running"))
    server.answers["/api/v1/namespaces/team/pods"] = items()
    assert [each["name"] for each in json.loads(shoal("ps", "-o", "json").out)] == ["old"]
    server.answers["/apis/shoal.dev/"] = refusal(403, "you may not")
    assert [each["name"] for each in json.loads(shoal("ps", "-o", "json").out)] == ["old"]
    server.answers["/apis/kubeflow.org/v1/"] = items()
    absent = shoal("describe", "train")
    assert absent.err.startswith("error: the cluster refuses: you may not\nhint: ask for the right"), "it may be there"


def test_a_cluster_that_does_not_know_the_user(shoal, server):
    server.answers["/apis/"] = refusal(401, "Unauthorized")
    result = shoal("ps")
    assert (result.code, result.err.split("\n")[0]) == (2, "error: the cluster refuses: Unauthorized")
    assert "hint: it does not know who you are: log in again" in result.err


def test_commands_that_are_told_find_the_cluster_again(shoal, server, monkeypatch):
    server.answers["/apis/shoal.dev/v1/namespaces/team/tfjobs/train"] = 200, job("train", phase="Running")
    server.answers["/apis/"] = items(job("train", phase="Running"))
    server.answers["/api/"] = items()
    assert "hint: see it with `shoal logs -f train`\n" in shoal("resume", "train").err
    monkeypatch.delenv("SHOAL_ON")
    told = shoal("resume", "train", "--on", "kubernetes", "--context", "here", "-n", "team").err
    assert "`shoal logs -f train --on kubernetes --context here`\n" in told


def test_who_waits_bears_a_short_silence(shoal, server):
    of_job = "/apis/shoal.dev/v1/namespaces/team/tfjobs/train"
    silence = httpx2.ConnectError("no route")
    running, ended = (200, job("train", phase="Running")), (200, job("train", phase="Succeeded"))
    server.answers[of_job] = [running, silence, ended, silence]
    server.answers["/apis/shoal.dev/v1/namespaces/team/modelservers"] = items()
    server.answers["/apis/"] = items(job("train", phase="Running"))
    server.answers["/api/"] = items()
    assert shoal("wait", "train").code == 0
    server.answers["/apis/"] = silence
    assert "does not answer: no route" in shoal("wait", "train").err


def test_who_waits_for_a_server_bears_a_short_silence_and_no_long_one(shoal, server, monkeypatch):
    of_server = "/apis/shoal.dev/v1/namespaces/team/modelservers/digits"
    silence = httpx2.ConnectError("no route")
    starting, ready = (model_server("digits", phase=phase) for phase in ("Pending", "Ready"))
    server.answers[of_server] = [(200, starting), silence, silence, (200, ready), silence]
    server.answers["/apis/shoal.dev/v1/namespaces/team/modelservers"] = items(starting)
    server.answers["/apis/"] = items()
    assert shoal("wait", "modelserver/digits") == (0, "", "digits ready\n")
    server.answers[of_server] = [(200, starting), refusal(403, "you may not"), (200, ready)]
    assert "the cluster refuses: you may not" in shoal("wait", "modelserver/digits").err
    server.answers[of_server] = [(200, starting), silence, (200, ready)]
    monkeypatch.setattr(connection, "PATIENCE_SECONDS", 0.0)
    told = shoal("wait", "modelserver/digits")
    assert (told.code, "does not answer: no route" in told.err) == (2, True)


def test_a_job_that_no_operator_looks_at_is_told_and_a_short_silence_is_borne(shoal, server, monkeypatch, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(write_yaml(manifest()))
    silence = httpx2.ConnectError("no route")
    monkeypatch.setattr(watching, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(watching, "UNNOTICED_SECONDS", 0.0)
    of_job = "/apis/shoal.dev/v1/namespaces/team/tfjobs/train"
    ended = job("train", phase="Succeeded")
    ended["metadata"]["resourceVersion"] = "2"
    server.answers[of_job] = [(200, job("train")), silence, silence, (200, ended)]
    server.answers["/apis/shoal.dev/"] = [items(), (201, job("train"))]
    server.answers["/api/"] = items()
    result = shoal("run", file, "--no-lint")
    assert result.code == 0, result
    assert "does `shoal operator` run in this cluster?" in result.err
    server.answers[of_job] = [(200, job("train")), silence]
    server.answers["/apis/shoal.dev/"] = [items(), (201, job("train"))]
    monkeypatch.setattr(watching, "PATIENCE_SECONDS", 0.1)
    began = time.monotonic()
    result = shoal("run", file, "--no-lint")
    assert (result.code, "error: the cluster at http://api does not answer: no route" in result.err) == (2, True)
    assert time.monotonic() - began < 10
