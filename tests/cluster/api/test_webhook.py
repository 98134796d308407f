"""The admission webhook, as the API server asks it: what it refuses and writes, and that it stays trusted.

Where the configuration says Fail, whatever is stored has passed the webhook.
"""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.api.model_servers import model_server
from tests.cluster.api.operators import install_crds
from tests.cluster.api.tfjobs import KIND, role, tfjob, wait_for_phase
from tests.cluster.api.webhooks import (
    CONFIGURATIONS,
    SECRET,
    WebhookOperator,
    apply,
    bundles,
    dry_run,
    mounting,
    register,
    review,
    unregister,
)
from tests.cluster.api_level import ApiCluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until

LARGEST = 8 * 1024 * 1024


@pytest.fixture(scope="module")
def webhook(api_cluster: ApiCluster) -> Iterator[WebhookOperator]:
    """One operator, which leads."""
    install_crds(api_cluster)
    running = WebhookOperator(api_cluster, "webhook", "--no-leader-elect")
    register(api_cluster, running)
    yield running.wait_until_ready()
    running.process.program.stop()
    unregister(api_cluster)
    assert [line for line in running.process.said() if line["level"] == "error"] == []


@pytest.mark.usefixtures("webhook")
@pytest.mark.parametrize("api", ["shoal.dev/v1", "kubeflow.org/v1"])
def test_a_faulty_manifest_is_refused_on_the_users_terminal(api: str, namespace: Kubectl) -> None:
    job = mounting(tfjob("faulty", api=api, Worker=role()))
    place = "spec.tfReplicaSpecs.Worker.template.spec.containers[0].volumeMounts[0].name"
    told = apply(namespace, job)
    assert 'admission webhook "validate.tfjobs.shoal.dev" denied the request' in told
    assert f'{place}: no volume is named "dta"; did you mean data?' in told
    assert not namespace.exists(f"tfjobs.v1.{api.split('/')[0]}/faulty")


@pytest.mark.usefixtures("webhook")
def test_a_faulty_model_server_is_refused_in_the_same_way(namespace: Kubectl) -> None:
    server = model_server("faulty", models=[{"name": "digits", "basePath": "/models"}])
    told = apply(namespace, server)
    assert 'admission webhook "validate.modelservers.shoal.dev" denied the request' in told
    assert "spec.models[0].basePath: nothing is mounted at /models; add spec.storage" in told
    sound = model_server("sound", storage=[{"name": "made", "mountPath": "/models", "size": "1Gi"}])
    assert "created" in apply(namespace, sound)
    sound["spec"]["storage"][0]["size"] = "1Mi"
    assert "spec.storage[0].size: 1Mi is less than the 1Gi that were made" in apply(namespace, sound)


@pytest.mark.usefixtures("webhook")
def test_roles_are_stored_as_others_look_for_them(namespace: Kubectl) -> None:
    worker = role()
    del worker["replicas"]
    job = tfjob("spelt", {"suspend": True}, tfReplicaSpecs={"worker": worker, "ps": role(2)})
    assert apply(namespace, job).startswith("tfjob.shoal.dev/spelt created")
    stored = namespace.json("get", f"{KIND}/spelt")["spec"]["tfReplicaSpecs"]
    assert {name: spec["replicas"] for name, spec in stored.items()} == {"Worker": 1, "PS": 2}
    namespace("scale", f"{KIND}/spelt", "--replicas=3")
    namespace("patch", f"{KIND}/spelt", "--type=merge", "-p", json.dumps(placed("zone-a")))
    # The same manifest again: neither a role that is written twice, nor the loss of what others have written.
    for words in ((), ("--server-side", "--force-conflicts")):
        assert "denied" not in apply(namespace, job, *words)
        again = namespace.json("get", f"{KIND}/spelt")["spec"]["tfReplicaSpecs"]
        assert {name: spec["replicas"] for name, spec in again.items()} == {"Worker": 3, "PS": 2}
        assert again["Worker"]["template"]["spec"]["nodeSelector"] == {"zone": "zone-a"}


def placed(zone: str) -> dict[str, Any]:
    template = {"spec": {"nodeSelector": {"zone": zone}}}
    return {"spec": {"tfReplicaSpecs": {"Worker": {"template": template}}}}


@pytest.mark.usefixtures("webhook")
def test_replicas_that_run_keep_what_they_were_made_from(namespace: Kubectl) -> None:
    namespace.apply(tfjob("runs", Worker=role()))
    wait_for_phase(namespace, "runs", "Running")
    edit = placed("zone-a")
    refused = namespace.try_("patch", f"{KIND}/runs", "--type=merge", "-p", json.dumps(edit)).stderr
    assert "spec.tfReplicaSpecs.Worker.template: cannot change now; its replicas run as they were made" in refused
    namespace("scale", f"{KIND}/runs", "--replicas=2")
    namespace("label", f"{KIND}/runs", "team=a")
    edit["spec"]["runPolicy"] = {"suspend": True}
    namespace("patch", f"{KIND}/runs", "--type=merge", "-p", json.dumps(edit))
    wait_for_phase(namespace, "runs", "Suspended")


def test_a_fault_that_was_stored_before_hinders_nobody(
    webhook: WebhookOperator, api_cluster: ApiCluster, namespace: Kubectl
) -> None:
    unregister(api_cluster)
    namespace.apply(mounting(tfjob("old", {"suspend": True}, Worker=role())))
    register(api_cluster, webhook)
    wait_until(lambda: all(bundles(api_cluster.kubectl)), 20, "trust in the webhook")
    namespace("label", f"{KIND}/old", "team=a")
    patched = namespace.try_(
        "patch", f"{KIND}/old", "--type=merge", "-p", '{"spec": {"runPolicy": {"backoffLimit": 3}}}'
    )
    assert patched.returncode == 0
    assert (
        "Warning: spec.tfReplicaSpecs.Worker.template.spec.containers[0].volumeMounts[0].name: no volume"
        in patched.stderr
    )
    worse = '{"spec": {"storage": [{"name": "data", "mountPath": "/more", "existingClaim": "more"}]}}'
    told = namespace.try_("patch", f"{KIND}/old", "--type=merge", "-p", worse).stderr
    assert '"data" is the name of a spec.storage too' in told
    namespace("delete", f"{KIND}/old")


# --- that it stays trusted ------------------------------------------------------------------------


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_a_bundle_that_somebody_empties_is_written_again(
    configuration: str, webhook: WebhookOperator, api_cluster: ApiCluster, namespace: Kubectl
) -> None:
    before = bundles(api_cluster.kubectl)
    remove = '[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]'
    api_cluster.kubectl("patch", configuration, "--type=json", "-p", remove)
    wait_until(lambda: bundles(api_cluster.kubectl) == before, 20, "the bundle")
    wait_until(lambda: "created" in dry_run(namespace), 20, "a job that is let through")


@pytest.mark.parametrize("damage", ["deleted", "emptied", "nonsense", "of somebody else"])
def test_a_secret_that_is_lost_or_damaged_is_replaced(
    damage: str, webhook: WebhookOperator, api_cluster: ApiCluster, namespace: Kubectl
) -> None:
    kubectl = api_cluster.kubectl
    before = kubectl.json("get", SECRET)
    if damage == "deleted":
        kubectl("delete", SECRET)
    else:
        data = {"emptied": dict.fromkeys(before["data"]), "nonsense": dict.fromkeys(before["data"], encoded("what"))}
        data["of somebody else"] = {"tls.crt": None, "ca.crt": encoded("mine"), "theirs": encoded("x")}
        kubectl("patch", SECRET, "--type=merge", "-p", json.dumps({"data": data[damage]}))

    def replaced() -> bool:
        done = kubectl.try_("get", SECRET, "-o", "json")
        found = json.loads(done.stdout).get("data", {}) if done.returncode == 0 else {}
        return decoded(found.get("ca.crt", "")) == bundles(kubectl)[0] != decoded(before["data"]["ca.crt"])

    wait_until(replaced, 20, "another Secret, and trust in it")
    wait_until(lambda: "created" in dry_run(namespace), 20, "a job that is let through")
    assert webhook.ask("/validate", review(tfjob("job", Worker=role())), bundles(kubectl)[1])[0] == 200


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def decoded(text: str) -> bytes:
    return base64.b64decode(text)


# --- whoever else may call --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body", "headers", "code", "told"),
    [
        ("/validate", b"{", {}, 400, "no AdmissionReview"),
        ("/default", b"\xff\x00", {}, 400, "no AdmissionReview"),
        ("/validate", b"", {}, 400, "no AdmissionReview"),
        ("/elsewhere", b"{}", {}, 404, "not found: /validate and /default are"),
        ("/validate", b"", {"Content-Length": str(LARGEST + 1)}, 413, f"{LARGEST} bytes at most"),
        ("/validate", b"", {"Content-Length": "9" * 5000}, 413, f"{LARGEST} bytes at most"),
        ("/validate", b"", {"Content-Length": "-1"}, 411, "Content-Length"),
    ],
)
def test_nonsense_is_answered(
    path: str,
    body: bytes,
    headers: dict[str, str],
    code: int,
    told: str,
    webhook: WebhookOperator,
    api_cluster: ApiCluster,
) -> None:
    found, text = webhook.ask(path, body, bundles(api_cluster.kubectl)[0], **headers)
    assert (found, told in text) == (code, True)


def test_who_says_nothing_keeps_nobody_waiting(
    webhook: WebhookOperator, api_cluster: ApiCluster, namespace: Kubectl
) -> None:
    silent = [socket.create_connection((webhook.address, webhook.port)) for _ in range(40)]
    silent[0].sendall(b"GET / HTTP/1.1\r\n\r\n")
    try:
        bundle = bundles(api_cluster.kubectl)[0]
        assert webhook.ask("/validate", review(tfjob("job", Worker=role())), bundle)[0] == 200
        assert "created" in dry_run(namespace)
    finally:
        for each in silent:
            each.close()
