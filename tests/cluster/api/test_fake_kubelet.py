"""The fake kubelet does to pods what a kubelet does, as far as the API shows it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.cluster.kubectl import Kubectl
from tests.cluster.pods import annotations, container, fake_pod, pod
from tests.cluster.waiting import wait_until


def phase(expected: str) -> Any:
    return lambda each: each["status"].get("phase") == expected


def main_status(found: Any) -> Any:
    return found["status"]["containerStatuses"][0]


def test_a_pod_runs_and_is_ready(namespace: Kubectl) -> None:
    namespace.apply(fake_pod("plain"))
    found = namespace.wait_for("pod/plain", phase("Running"))
    assert found["status"]["podIP"].startswith("10.24")
    assert main_status(found)["ready"]
    assert {each["type"]: each["status"] for each in found["status"]["conditions"]} == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }


def test_readiness_may_come_later(namespace: Kubectl) -> None:
    namespace.apply(fake_pod("slow", ready_after="1500ms"))
    assert not main_status(namespace.wait_for("pod/slow", phase("Running")))["ready"]
    namespace.wait_for("pod/slow", lambda each: main_status(each)["ready"])


@pytest.mark.parametrize(
    ("exit_", "expected", "code", "reason"),
    [
        ("0@0s", "Succeeded", 0, "Completed"),
        ("3@200ms", "Failed", 3, "Error"),
        ("137:OOMKilled@1s", "Failed", 137, "OOMKilled"),
    ],
)
def test_exit_codes_and_reasons(namespace: Kubectl, exit_: str, expected: str, code: int, reason: str) -> None:
    namespace.apply(fake_pod("ends", exit=exit_, message="the last words"))
    found = namespace.wait_for("pod/ends", phase(expected))
    ended = main_status(found)["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (code, reason)
    assert ended.get("message") == ("the last words" if code else None)
    assert main_status(found)["restartCount"] == 0


def test_on_failure_restarts_in_place_until_success(namespace: Kubectl) -> None:
    namespace.apply(fake_pod("retries", "OnFailure", exit="1@0s, 2@0s, 0@0s"))
    found = main_status(namespace.wait_for("pod/retries", phase("Succeeded")))
    assert found["restartCount"] == 2
    assert found["lastState"]["terminated"]["exitCode"] == 2


def test_always_restarts_after_success_and_backs_off(namespace: Kubectl) -> None:
    namespace.apply(fake_pod("again", "Always", exit="0@0s"))

    def backs_off(found: Any) -> bool:
        status = main_status(found)
        return status["restartCount"] >= 3 and "waiting" in status["state"]

    found = namespace.wait_for("pod/again", lambda each: each["status"].get("containerStatuses") and backs_off(each))
    assert found["status"]["phase"] == "Running"
    assert main_status(found)["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert main_status(found)["lastState"]["terminated"]["reason"] == "Completed"


def test_init_containers_come_first_and_a_sidecar_does_not_keep_the_pod(namespace: Kubectl) -> None:
    manifest = pod(
        "staged",
        [container()],
        annotations=annotations(exit="0@0s") | {"fake-kubelet.shoal.dev/exit.prepare": "0@1s"},
        initContainers=[container("proxy", restartPolicy="Always"), container("prepare")],
    )
    namespace.apply(manifest)
    found = namespace.wait_for("pod/staged", lambda each: each["status"].get("initContainerStatuses"))
    assert found["status"]["phase"] == "Pending"
    assert main_status(found)["state"]["waiting"]["reason"] == "PodInitializing"
    found = namespace.wait_for("pod/staged", phase("Succeeded"))
    assert [each["name"] for each in found["status"]["initContainerStatuses"]] == ["prepare", "proxy"]


def test_a_failed_init_container_fails_the_pod(namespace: Kubectl) -> None:
    script = {"fake-kubelet.shoal.dev/exit.prepare": "4@0s"}
    namespace.apply(pod("stuck", [container()], annotations=script, initContainers=[container("prepare")]))
    namespace.wait_for("pod/stuck", phase("Failed"))


def test_a_running_pod_can_be_told_to_end(namespace: Kubectl) -> None:
    namespace.apply(fake_pod("told"))
    namespace.wait_for("pod/told", phase("Running"))
    namespace("annotate", "pod/told", "fake-kubelet.shoal.dev/exit=9@0s")
    assert main_status(namespace.wait_for("pod/told", phase("Failed")))["state"]["terminated"]["exitCode"] == 9


def test_deletion_ends_the_pod_and_then_removes_it(namespace: Kubectl) -> None:
    namespace.apply(fake_pod("leaves", stop="0@1s"))
    namespace.wait_for("pod/leaves", phase("Running"))
    begin = time.monotonic()
    namespace("delete", "pod/leaves", "--wait=false")
    assert namespace.wait_for("pod/leaves", lambda each: each["metadata"].get("deletionTimestamp"))
    wait_until(lambda: not namespace.exists("pod/leaves"), 10, "the end of the pod")
    assert time.monotonic() - begin > 1


def test_a_finalizer_shows_how_a_deleted_pod_ended(namespace: Kubectl) -> None:
    manifest = fake_pod("held", "Always")
    manifest["metadata"]["finalizers"] = ["shoal.dev/looks-on"]
    namespace.apply(manifest)
    namespace.wait_for("pod/held", phase("Running"))
    namespace("delete", "pod/held", "--wait=false")
    found = namespace.wait_for("pod/held", phase("Failed"))
    assert main_status(found)["state"]["terminated"]["exitCode"] == 143
    namespace("patch", "pod/held", "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    wait_until(lambda: not namespace.exists("pod/held"), 10, "the end of the pod")


def test_eviction_and_deadline_say_why(namespace: Kubectl) -> None:
    namespace.apply(fake_pod("evicted", evict_after="500ms"))
    namespace.apply({**fake_pod("late"), "spec": {**fake_pod("late")["spec"], "activeDeadlineSeconds": 1}})
    evicted = namespace.wait_for("pod/evicted", phase("Failed"))
    assert evicted["status"]["reason"] == "Evicted"
    assert any(each["type"] == "DisruptionTarget" for each in evicted["status"]["conditions"])
    assert namespace.wait_for("pod/late", phase("Failed"))["status"]["reason"] == "DeadlineExceeded"


def test_a_silent_node_tells_no_news(namespace: Kubectl) -> None:
    namespace("annotate", "node/node-2", "fake-kubelet.shoal.dev/silent=true")
    try:
        namespace.apply(pod("lost", [container()], nodeSelector={"kubernetes.io/hostname": "node-2"}))
        namespace.wait_for("pod/lost", lambda each: each["spec"].get("nodeName"))
        time.sleep(1)
        assert namespace.json("get", "pod/lost")["status"]["phase"] == "Pending"
    finally:
        namespace("annotate", "node/node-2", "fake-kubelet.shoal.dev/silent-")
    namespace.wait_for("pod/lost", phase("Running"))


def test_logs_are_what_the_annotation_says(namespace: Kubectl) -> None:
    namespace.apply(fake_pod("speaks", log="step 1\nstep 2\n"))
    namespace.wait_for("pod/speaks", phase("Running"))
    assert namespace("logs", "speaks") == "step 1\nstep 2\n"
    assert namespace("logs", "speaks", "--tail=1") == "step 2\n"


def test_a_wrong_annotation_is_named(namespace: Kubectl) -> None:
    namespace.apply(fake_pod("typo", exit="oops"))
    found = namespace.wait_for("pod/typo", lambda each: each["status"].get("containerStatuses"))
    assert "'oops' is no ending" in main_status(found)["state"]["waiting"]["message"]
    namespace("delete", "pod/typo", timeout=10)


def test_a_thousand_pods(namespace: Kubectl) -> None:
    """At least: the Job controller makes some too many where pods end while it still creates others."""
    begin = time.monotonic()
    template = {"metadata": {"annotations": annotations(exit="0@2s")}, "spec": fake_pod("x")["spec"]}
    spec = {"completions": 1000, "parallelism": 1000, "template": template}
    namespace.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "wide"}, "spec": spec})
    namespace.wait_for("job/wide", lambda each: each["status"].get("succeeded", 0) >= 1000, timeout=180)
    print(f"1000 pods in {time.monotonic() - begin:.1f} s")
