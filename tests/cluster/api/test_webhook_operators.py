"""Operators with a webhook as they come and go: before the first, two at once, and one whose certificates live for
seconds."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.api.operators import install_crds
from tests.cluster.api.tfjobs import role, tfjob
from tests.cluster.api.webhooks import (
    CONFIGURATIONS,
    QUICK,
    SECRET,
    SHORT_LIVES,
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
from tests.cluster.certificates import Authority
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until


@pytest.fixture(autouse=True)
def nothing_is_left(api_cluster: ApiCluster) -> Iterator[None]:
    install_crds(api_cluster)
    yield
    unregister(api_cluster)


def test_without_a_webhook_jobs_are_stored_all_the_same(api_cluster: ApiCluster, namespace: Kubectl) -> None:
    """As the chart has it by default: nobody answers yet, and nobody is trusted yet."""
    register(api_cluster, None, failure_policy="Ignore")
    namespace.apply(tfjob("early", {"suspend": True}, Worker=role()))
    # What the CRD says by itself, holds by itself.
    assert "the roles are Chief" in apply(namespace, tfjob("odd", Worker=role(), Launcher=role()))


def test_certificates_are_renewed_while_jobs_are_created(api_cluster: ApiCluster, namespace: Kubectl) -> None:
    """Two authorities one after the other, with lives of seconds: nobody who trusts what the configuration says at any
    moment meets a certificate that he does not know, whichever operator has renewed it, and no request fails."""
    kubectl = api_cluster.kubectl
    both = [WebhookOperator(api_cluster, f"short-lived-{index}", before=SHORT_LIVES) for index in range(2)]
    register(api_cluster, both[0])
    try:
        for each in both:
            each.wait_until_ready()
        first = bundles(kubectl)[0]
        job = tfjob("job", Worker=role())
        served, answers = set(), 0

        def turned_over() -> bool:
            nonlocal answers
            bundle = bundles(kubectl)[0]
            assert [each.ask("/validate", review(job), bundle)[0] for each in both] == [200, 200]
            assert "created" in dry_run(namespace)
            served.add(kubectl.json("get", SECRET)["data"]["tls.crt"])
            answers += 1
            return first not in bundle

        wait_until(turned_over, 60, "the end of the first authority")
        assert len(served) >= 3
        assert answers > 10
    finally:
        for each in both:
            each.process.program.stop()


def test_two_operators_share_their_certificates_and_both_answer(api_cluster: ApiCluster, namespace: Kubectl) -> None:
    both = [WebhookOperator(api_cluster, f"one-of-two-{index}") for index in range(2)]
    try:
        register(api_cluster, both[0])
        for each in both:
            each.wait_until_ready()
        (bundle,) = set(bundles(api_cluster.kubectl))
        assert bundle.count(b"BEGIN CERTIFICATE") == 1
        for each in both:
            assert each.ask("/validate", review(tfjob("job", Worker=role())), bundle)[0] == 200
            register(api_cluster, each)
            wait_until(lambda: "created" in dry_run(namespace), 20, "a job that is let through")
            assert "no volume is named" in apply(namespace, mounting(tfjob("faulty", Worker=role())))
    finally:
        for each in both:
            each.process.program.stop()


def test_one_that_is_told_to_end_answers_until_nobody_is_sent_to_it(api_cluster: ApiCluster) -> None:
    """As a rolling update has it: the pod is told to end, and still is among the Service's endpoints for a moment."""
    leaves_slowly = f"{QUICK}\nwebhook.DRAIN_SECONDS = 10.0"
    running = WebhookOperator(api_cluster, "ends", "--no-leader-elect", before=leaves_slowly)
    register(api_cluster, running)
    try:
        running.wait_until_ready()
        bundle = bundles(api_cluster.kubectl)[0]
        running.process.program.terminate()
        wait_until(lambda: any(line["event"] == "ending" for line in running.process.said()), 20, "its end to begin")
        assert running.ask("/validate", review(tfjob("job", Worker=role())), bundle)[0] == 200
    finally:
        running.process.program.kill()


def test_certificates_may_come_from_elsewhere(api_cluster: ApiCluster, namespace: Kubectl, tmp_path: Path) -> None:
    folder = tmp_path / "mounted"
    folder.mkdir()
    first, second = (Authority(tmp_path / name, name) for name in ("first", "second"))
    running = WebhookOperator(api_cluster, "given", "--no-leader-elect", certificates=folder)
    try:
        register(api_cluster, running)
        running.process.program.wait_until(
            lambda: any(line["event"] == "cannot use the certificate" for line in running.process.said()), 30
        )
        for authority in (first, second):
            provide(authority, folder, running.address)
            trust(api_cluster, authority)
            running.wait_until_ready()
            wait_until(lambda: "created" in dry_run(namespace), 20, "a job that is let through")
        (folder / "tls.key").write_text("damaged")
        wait_until(lambda: running.process.said()[-1]["event"] == "cannot use the certificate", 20, "a warning")
        bundle = second.certificate.cert.read_bytes()
        assert running.ask("/validate", review(tfjob("job", Worker=role())), bundle)[0] == 200
        assert set(bundles(api_cluster.kubectl)) == {bundle}
        assert not api_cluster.kubectl.exists(SECRET)
    finally:
        running.process.program.stop()


def provide(authority: Authority, folder: Path, host: str) -> None:
    """As the kubelet puts a Secret's new content in place of the old."""
    made = authority.issue("webhook", hosts=[host])
    (folder / "tls.crt").write_bytes(made.cert.read_bytes())
    (folder / "tls.key").write_bytes(made.key.read_bytes())


def trust(cluster: ApiCluster, authority: Authority) -> None:
    bundle = base64.b64encode(authority.certificate.cert.read_bytes()).decode()
    for configuration in CONFIGURATIONS:
        webhooks = cluster.kubectl.json("get", configuration)["webhooks"]
        paths = [f"/webhooks/{index}/clientConfig/caBundle" for index in range(len(webhooks))]
        add = [{"op": "add", "path": path, "value": bundle} for path in paths]
        cluster.kubectl("patch", configuration, "--type=json", "-p", json.dumps(add))
