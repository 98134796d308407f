"""Operators that are killed, doubled, cut off and contradicted, beside jobs that must end right all the same."""

from __future__ import annotations

import asyncio
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.kinds import PODS
from shoal.kubernetes.operator.kubeconfig import configuration
from shoal.kubernetes.operator.reflector import Reflector
from shoal.kubernetes.operator.store import Store
from shoal.kubernetes.operator.views import Pod
from tests.cluster.api.operators import OperatorProcess, install_crds
from tests.cluster.api.tfjobs import (
    KIND,
    names,
    role,
    tell,
    tfjob,
    wait_for_attempt,
    wait_for_phase,
    wait_until_nothing_is_left,
)
from tests.cluster.api_level import ApiCluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.pods import fake_pod
from tests.cluster.waiting import wait_until

JOBS = 100


@pytest.fixture(scope="module", autouse=True)
def crds(api_cluster: ApiCluster) -> None:
    install_crds(api_cluster)


@pytest.fixture
def start(api_cluster: ApiCluster, namespace: Kubectl) -> Iterator[Callable[..., OperatorProcess]]:
    """Starts operators that look after the test's namespace."""
    started: list[OperatorProcess] = []

    def begin(name: str, *options: str) -> OperatorProcess:
        unique = f"{namespace.namespace}-{name}-{len(started)}"
        started.append(OperatorProcess(api_cluster, unique, "--namespace", namespace.namespace, *options))
        return started[-1]

    yield begin
    for each in started:
        each.program.stop()
    assert [fault for each in started for fault in each.faults()] == []


class PodHistory:
    """Every pod that was ever seen in a namespace, by name."""

    def __init__(self, namespace: Kubectl, file: Path) -> None:
        self._file = file
        form = '-o=jsonpath={.metadata.name} {.metadata.uid}{"\\n"}'
        command = [namespace.program, f"--kubeconfig={namespace.kubeconfig}", f"--namespace={namespace.namespace}"]
        with file.open("w") as output:
            self._watch = subprocess.Popen([*command, "get", "pods", "--watch", form], stdout=output)

    def stop(self) -> dict[str, set[str]]:
        """The uids of the pods of each name."""
        self._watch.terminate()
        self._watch.wait()
        seen: dict[str, set[str]] = {}
        for line in self._file.read_text().splitlines():
            name, _, uid = line.partition(" ")
            seen.setdefault(name, set()).add(uid)
        return seen


def phases(namespace: Kubectl) -> dict[str, str]:
    return {
        each["metadata"]["name"]: each.get("status", {}).get("phase", "")
        for each in namespace.json("get", KIND)["items"]
    }


def test_an_operator_that_is_killed_again_and_again_ends_every_job_right(
    start: Callable[..., OperatorProcess], namespace: Kubectl, tmp_path: Path
) -> None:
    history = PodHistory(namespace, tmp_path / "pods")
    operator = start("killed", "--no-leader-elect")
    roles = [
        {"Worker": role(exit="0@1s")},
        {"Worker": role(2, exit="0@1500ms")},
        {"Chief": role(exit="0@2s"), "PS": role(), "Worker": role()},
        {"Worker": role(restart="Never", exit="7@1s")},
    ]
    namespace.apply(*(tfjob(f"small-{number}", **roles[number % 4]) for number in range(JOBS)))
    kills, deadline = 0, time.monotonic() + 150
    while not all(phase in ("Succeeded", "Failed") for phase in phases(namespace).values()):
        assert time.monotonic() < deadline, phases(namespace)
        if kills < 10:
            # From in the middle of its start-up to well into its work.
            time.sleep(random.uniform(0.8, 3.5))
            operator.program.kill()
            kills += 1
            operator = start("killed", "--no-leader-elect")
        else:
            time.sleep(0.5)
    assert kills > 2
    ended = phases(namespace)
    assert {name for name, phase in ended.items() if phase == "Failed"} == {f"small-{n}" for n in range(3, JOBS, 4)}
    twice = {name: uids for name, uids in history.stop().items() if len(uids) > 1}
    assert twice == {}
    assert [each for each in namespace.json("get", KIND)["items"] if "retries" in each["status"]] == []
    wait_until(lambda: not names(namespace, "services,configmaps"), 20, "the end of all Services")
    namespace("delete", KIND, "--all", "--wait=false")
    wait_until_nothing_is_left(namespace, 60)


def test_of_two_operators_one_acts_and_hands_over(
    start: Callable[..., OperatorProcess], namespace: Kubectl, tmp_path: Path
) -> None:
    history = PodHistory(namespace, tmp_path / "pods")
    first = start("first").wait_until_ready()
    second = start("second")
    second.program.wait_until(lambda: any(line["event"] == "waiting for the lease" for line in second.said()), 20)
    namespace.apply(*(tfjob(f"pair-{number}", Worker=role(2, exit="0@1s")) for number in range(6)))
    wait_until(lambda: set(phases(namespace).values()) == {"Succeeded"}, 30, "the end of the jobs")
    assert "shoal_operator_leader 1.0" in first.get("/metrics")
    assert "shoal_operator_leader 0.0" in second.get("/metrics")
    assert 'shoal_operator_api_writes_total{resource="pods"' not in second.get("/metrics")
    assert second.get("/readyz") == "ok\n"

    namespace.apply(*(tfjob(f"more-{number}", Worker=role(2, exit="0@1s")) for number in range(6)))
    began = time.monotonic()
    first.program.stop()
    second.wait_until_ready(10)
    assert time.monotonic() - began < 6  # the lease was given back
    wait_until(lambda: set(phases(namespace).values()) == {"Succeeded"}, 30, "the end of the other jobs")
    assert {name: uids for name, uids in history.stop().items() if len(uids) > 1} == {}


def test_an_operator_that_dies_is_followed_when_its_lease_has_run_out(
    start: Callable[..., OperatorProcess], namespace: Kubectl
) -> None:
    first = start("first").wait_until_ready()
    second = start("second")
    first.program.kill()
    began = time.monotonic()
    namespace.apply(tfjob("late", Worker=role(exit="0@0s")))
    second.wait_until_ready(40)
    assert time.monotonic() - began > 10  # nobody acts on a lease that somebody may still trust
    wait_for_phase(namespace, "late", "Succeeded")


def test_a_leader_that_loses_its_lease_ends(start: Callable[..., OperatorProcess], namespace: Kubectl) -> None:
    operator = start("robbed").wait_until_ready()
    patch = '{"spec": {"holderIdentity": "somebody else"}}'
    namespace("patch", "lease/shoal-operator", "--type=merge", "-p", patch)
    wait_until(lambda: not operator.program.running, 10, "the end of the operator")
    assert "no longer leading" in {line["event"] for line in operator.said()}


def test_the_api_server_may_be_restarted(
    start: Callable[..., OperatorProcess], api_cluster: ApiCluster, namespace: Kubectl
) -> None:
    operator = start("patient").wait_until_ready()
    namespace.apply(tfjob("survives", Chief=role(), PS=role(), Worker=role(2)))
    wait_for_attempt(namespace, "survives-chief-0", 0)
    api_cluster.control_plane.restart_api_server(down=1.0)
    tell(namespace, "survives-chief-0", exit="0@0s")
    status = wait_for_phase(namespace, "survives", "Succeeded", 60)["status"]
    assert "retries" not in status
    assert operator.program.running


def test_conflicting_edits_do_no_harm(start: Callable[..., OperatorProcess], namespace: Kubectl) -> None:
    start("contradicted", "--no-leader-elect").wait_until_ready()
    namespace.apply(tfjob("edited", Chief=role(), PS=role(), Worker=role(3, restart="ExitCode")))
    over = threading.Event()

    def edit() -> None:
        number = 0
        while not over.is_set():
            number += 1
            namespace.try_("label", "--overwrite", f"{KIND}/edited", f"edit={number}")

    editors = [threading.Thread(target=edit) for _ in range(3)]
    for each in editors:
        each.start()
    try:
        wait_for_attempt(namespace, "edited-worker-0", 0)
        tell(namespace, "edited-worker-0", exit="137@0s")
        wait_for_attempt(namespace, "edited-worker-0", 1)
        tell(namespace, "edited-chief-0", exit="0@0s")
        status = wait_for_phase(namespace, "edited", "Succeeded")["status"]
    finally:
        over.set()
        for each in editors:
            each.join()
    assert status["retries"] == 1


async def test_a_watch_from_too_old_a_version_lists_again_and_sees_deletions(
    api_cluster: ApiCluster, namespace: Kubectl
) -> None:
    namespace.apply(fake_pod("stays"), fake_pod("goes"))
    client = Client(configuration([str(api_cluster.kubeconfig)], None))
    store: Store[Pod] = Store()
    gone: list[str] = []
    store.listen(lambda before, after: gone.append(before.metadata.name) if before and not after else None)
    reflector = Reflector(client, PODS, store, namespace.namespace)
    running = asyncio.create_task(reflector.run())
    try:
        await asyncio.wait_for(reflector.synced.wait(), 10)
        running.cancel()
        namespace("delete", "pod/goes")
        reflector._version = "1"  # long gone from the server's memory
        running = asyncio.create_task(reflector.run())
        async with asyncio.timeout(20):
            while gone != ["goes"]:
                await asyncio.sleep(0.1)
        assert reflector.lists == 2
        assert [pod.metadata.name for pod in store.all()] == ["stays"]
    finally:
        running.cancel()
        await client.close()


def test_a_job_of_many_replicas_is_cheap_to_run(start: Callable[..., OperatorProcess], namespace: Kubectl) -> None:
    """The writes grow with the replicas, the status is written a few times however many there are."""
    operator = start("wide", "--no-leader-elect").wait_until_ready()
    namespace.apply(tfjob("wide", Worker=role(200, exit="0@2s")))
    wait_for_phase(namespace, "wide", "Succeeded", 60)

    def writes(resource: str, verb: str) -> float:
        prefix = f'shoal_operator_api_writes_total{{resource="{resource}",verb="{verb}"}} '
        lines = (line for line in operator.get("/metrics").splitlines() if line.startswith(prefix))
        return float(next(lines, "0 0").rpartition(" ")[2])

    assert writes("pods", "create") == 200
    assert writes("services", "create") == 200
    assert writes("tfjobs", "patch") < 60
