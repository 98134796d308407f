"""A pod as the replica that `decide` judges: does it run, has it ended, and if so, how, when and through whom?

What counts is the container that trains. A sidecar that goes on, or fails on being stopped, says nothing of training.
"""

from __future__ import annotations

from datetime import datetime

from shoal.kubernetes.gpu_names import GPU_LEASE
from shoal.kubernetes.labels import REPLICA_INDEX, REPLICA_TYPE
from shoal.kubernetes.operator.replica_pods import ATTEMPT, SHAPE
from shoal.kubernetes.operator.views import ContainerStatus, Pod, Terminated
from shoal.resources import ReplicaType
from shoal.training import Cause, Replica, ReplicaId, ReplicaState

TAIL_LINES = 20
"""How many last log lines of a failed replica the status keeps."""

MESSAGE_LENGTH = 500

_BY_POD_REASON = {
    "Evicted": Cause.EVICTED,
    "Preempting": Cause.PREEMPTED,
    "Preempted": Cause.PREEMPTED,
    "NodeLost": Cause.NODE_LOST,
    "NodeShutdown": Cause.EVICTED,
    "Shutdown": Cause.EVICTED,
    "Terminated": Cause.EVICTED,
    # The kubelet turned the pod away although the scheduler had chosen the node.
    "UnexpectedAdmissionError": Cause.EVICTED,
    "NodeAffinity": Cause.EVICTED,
    "OutOfcpu": Cause.EVICTED,
    "OutOfmemory": Cause.EVICTED,
    "OutOfpods": Cause.EVICTED,
}
"""`status.reason` of a pod that has failed through no fault of its own."""

_BY_DISRUPTION = {
    "PreemptionByScheduler": Cause.PREEMPTED,
    "PreemptionByKubeScheduler": Cause.PREEMPTED,
    "DeletionByTaintManager": Cause.NODE_LOST,
    "DeletionByPodGC": Cause.NODE_LOST,
    "EvictionByEvictionAPI": Cause.EVICTED,
    "TerminationByKubelet": Cause.EVICTED,
}
"""Reasons of the condition DisruptionTarget
(https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions)."""

LOST_CONTAINER = "ContainerStatusUnknown"
"""What a kubelet says of a container that it cannot find again, as after a restart of its node."""


def replica_id(pod: Pod) -> ReplicaId | None:
    """Which replica the pod is an attempt of; None for a pod whose labels do not say."""
    kind = ReplicaType.parse(pod.metadata.labels.get(REPLICA_TYPE, ""))
    index = pod.metadata.labels.get(REPLICA_INDEX, "")
    return ReplicaId(kind.role, int(index)) if kind and index.isdecimal() else None


def observe(pod: Pod, id: ReplicaId, container: str) -> Replica:
    """What the pod says of the replica. `container` is the name of the container that trains."""
    status = next((each for each in pod.status.container_statuses if each.name == container), None)
    ended = _end(pod, status)
    cause = _cause(pod, ended)
    state = _state(pod, status, ended, cause)
    failed = state is ReplicaState.FAILED
    finished = state in (ReplicaState.FAILED, ReplicaState.SUCCEEDED)
    attempt = pod.metadata.labels.get(ATTEMPT, "")
    return Replica(
        id=id,
        attempt=int(attempt) if attempt.isdecimal() else 0,
        shape=pod.metadata.annotations.get(SHAPE, ""),
        state=state,
        exit_code=ended.exit_code if ended and finished else None,
        cause=cause if failed else Cause.EXIT,
        started_at=_started_at(status, ended),
        finished_at=_finished_at(pod, ended) if finished else None,
        in_place_restarts=_in_place_restarts(pod, status, ended),
        message=_message(pod, status, ended, state)[:MESSAGE_LENGTH],
        gated=any(each.type == "PodScheduled" and each.reason == "SchedulingGated" for each in pod.status.conditions),
        log_tail=tuple(ended.message.splitlines()[-TAIL_LINES:]) if failed and ended and not _unstarted(ended) else (),
    )


def _end(pod: Pod, status: ContainerStatus | None) -> Terminated | None:
    """How the training container ended for good, or an init container that kept it from starting."""
    if pod.status.phase == "Failed" and status and status.state.terminated is None:
        first = (each.state.terminated for each in pod.status.init_container_statuses)
        return next((end for end in first if end and end.exit_code), None)
    end = status.state.terminated if status else None
    if end is None or pod.status.phase in ("Succeeded", "Failed"):
        return end
    again = pod.spec.restart_policy == "Always" or (pod.spec.restart_policy == "OnFailure" and end.exit_code)
    return None if again else end


def _cause(pod: Pod, ended: Terminated | None) -> Cause:
    if cause := _BY_POD_REASON.get(pod.status.reason):
        return cause
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget" and condition.status == "True":
            return _BY_DISRUPTION.get(condition.reason, Cause.EVICTED)
    if ended and ended.reason == "OOMKilled":
        return Cause.OUT_OF_MEMORY
    return Cause.NODE_LOST if ended and ended.reason == LOST_CONTAINER else Cause.EXIT


def _state(pod: Pod, status: ContainerStatus | None, ended: Terminated | None, cause: Cause) -> ReplicaState:
    failed = pod.status.phase == "Failed" and not (ended and ended.exit_code == 0)
    failed = failed or bool(ended and ended.exit_code)
    succeeded = not failed and (ended is not None or pod.status.phase == "Succeeded")
    if pod.metadata.deletion_timestamp is not None:
        # What ends after it was told to says nothing by its exit code; what had ended before was judged by it.
        if succeeded and _ended_before_deletion(pod, ended):
            return ReplicaState.SUCCEEDED
        return ReplicaState.FAILED if failed and cause.disruption else ReplicaState.TERMINATING
    if failed or succeeded:
        return ReplicaState.FAILED if failed else ReplicaState.SUCCEEDED
    if pod.status.phase == "Pending" or (status and status.state.running is None):
        return ReplicaState.PENDING
    return ReplicaState.RUNNING


def _ended_before_deletion(pod: Pod, ended: Terminated | None) -> bool:
    due, grace = pod.metadata.deletion_timestamp, pod.metadata.deletion_grace_period_seconds or 0
    if due is None or ended is None or ended.finished_at is None:
        return False
    return ended.finished_at.timestamp() < due.timestamp() - grace


def _in_place_restarts(pod: Pod, status: ContainerStatus | None, ended: Terminated | None) -> int:
    """How often the kubelet has started the container again. Of a container that it cannot find any more, as after an
    eviction, it takes for granted that it was restarted, and counts that."""
    if status is None or pod.spec.restart_policy == "Never":
        return 0
    lost = ended is not None and ended.reason == LOST_CONTAINER
    return max(0, status.restart_count - lost)


def _started_at(status: ContainerStatus | None, ended: Terminated | None) -> float | None:
    if ended:
        return _seconds(ended.started_at)
    running = status.state.running if status else None
    return _seconds(running.started_at) if running else None


def _finished_at(pod: Pod, ended: Terminated | None) -> float | None:
    """When the container ended; for a pod that was taken away, when that was decided."""
    if ended and ended.finished_at:
        return _seconds(ended.finished_at)
    by_type = {condition.type: _seconds(condition.last_transition_time) for condition in pod.status.conditions}
    return by_type.get("DisruptionTarget") or by_type.get("Ready")


def _message(pod: Pod, status: ContainerStatus | None, ended: Terminated | None, state: ReplicaState) -> str:
    if state is ReplicaState.PENDING:
        return waits_for(pod, status)
    if state is ReplicaState.TERMINATING:
        # On a node that is lost this lasts until somebody gives the node up.
        return f"its pod is being deleted: {_disruption(pod)}".rstrip(": ")
    if state is not ReplicaState.FAILED:
        return ""
    if ended and _unstarted(ended):
        return f"{ended.reason}: {ended.message}".rstrip(": ")
    return pod.status.message or _disruption(pod)


def _disruption(pod: Pod) -> str:
    return next((each.message for each in pod.status.conditions if each.type == "DisruptionTarget"), "")


def waits_for(pod: Pod, status: ContainerStatus | None) -> str:
    """`ImagePullBackOff: …`, `Unschedulable: …`: why a replica does not run."""
    statuses = [*pod.status.init_container_statuses, *([status] if status else [])]
    for each in statuses:
        waiting = each.state.waiting
        if waiting and waiting.reason not in ("", "PodInitializing", "ContainerCreating"):
            return f"{waiting.reason}: {waiting.message}".rstrip(": ")
    for condition in pod.status.conditions:
        if condition.type == GPU_LEASE and condition.status == "False":
            return f"{condition.reason}: {condition.message}".rstrip(": ")  # why it is gated, which the next only says
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return f"{condition.reason}: {condition.message}".rstrip(": ")
    return ""


def _unstarted(ended: Terminated) -> bool:
    """Whether the container could not be started, so that its message is the runtime's and no log."""
    return ended.reason in ("StartError", "ContainerCannotRun", "CreateContainerError")


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()
