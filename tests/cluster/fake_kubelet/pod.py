"""The life of one pod, from its binding to a node until it is gone. Pure: time is an argument.

`advance` does all that is due and says when it wants to be called next; `status` is what the kubelet would report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.cluster.fake_kubelet.container import NEVER, Container, timestamp
from tests.cluster.fake_kubelet.script import AT_ONCE, FOREVER, Ending, ScriptError, delay, script, stop

KILLED = Ending(137, "Error", 0.0)


class Pod:
    """A pod on a node of ours. `ip` and `host_ip` are its addresses."""

    def __init__(self, manifest: dict[str, Any], ip: str, host_ip: str, now: float) -> None:
        self.ip, self.host_ip, self.born_at = ip, host_ip, now
        self.fault = ""
        self.deleted_at: float | None = None
        self.evicted = False
        self._failed_early = False
        spec = manifest["spec"]
        policy = spec.get("restartPolicy", "Always")
        uid = manifest["metadata"]["uid"]
        self._deadline = spec.get("activeDeadlineSeconds")
        self._timed_out = False
        self._stop = stop({})
        self._ready_after = 0.0
        self._evict_after: float | None = None
        self._conditions_since: dict[str, tuple[str, float]] = {}
        self.initial = [
            Container(each["name"], each["image"], AT_ONCE, "OnFailure" if policy == "Always" else policy, uid)
            for each in spec.get("initContainers", [])
            if each.get("restartPolicy") != "Always"
        ]
        self.sidecars = [
            Container(each["name"], each["image"], FOREVER, "Always", uid)
            for each in spec.get("initContainers", [])
            if each.get("restartPolicy") == "Always"
        ]
        self.main = [Container(each["name"], each["image"], FOREVER, policy, uid) for each in spec["containers"]]
        self.read(manifest, now)

    def read(self, manifest: dict[str, Any], now: float) -> None:
        """Take in what was changed in the API: annotations, and the wish to have the pod gone."""
        annotations: Mapping[str, str] = manifest["metadata"].get("annotations") or {}
        try:
            for each in self.initial:
                each.script = script(annotations, each.name, first=False, default=AT_ONCE)
            for each in self.sidecars:
                each.script = script(annotations, each.name, first=False, default=FOREVER)
            for index, each in enumerate(self.main):
                each.script = script(annotations, each.name, first=index == 0, default=FOREVER)
                each.message = annotations.get("fake-kubelet.shoal.dev/message", "")
            self._stop = stop(annotations)
            self._ready_after = delay(annotations, "ready-after") or 0.0
            self._evict_after = delay(annotations, "evict-after")
            self.fault = ""
        except ScriptError as fault:
            self.fault = str(fault)
        if self.deleted_at is None and manifest["metadata"].get("deletionTimestamp"):
            self.deleted_at = now

    @property
    def ended(self) -> bool:
        """Whether no container of it runs, or ever will."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def phase(self) -> str:
        if self.evicted or self._timed_out or self._failed_early:
            return "Failed"
        if not self._initialized:
            return "Pending"
        if not all(each.finished for each in self.main):
            return "Running"
        return "Succeeded" if all(each.succeeded for each in self.main) else "Failed"

    def advance(self, now: float) -> float:
        """Do what is due at `now`; return when something is due next, in seconds since 1970, or NEVER."""
        if self.ended:
            return NEVER
        due = [self._lose(now)]
        if self.ended or self.fault:
            return min(due)
        due.append(self._initialize(now))
        if self._initialized:
            for each in self.main:
                if each.started_at is None:
                    each.start(now)
                due.append(each.advance(now))
                if each.running and each.started_at is not None and each.started_at + self._ready_after > now:
                    due.append(each.started_at + self._ready_after)
        if self.ended:
            self._end_all(Ending(0, "Completed", 0.0), now, self.sidecars)
        return min(due)

    def status(self, now: float) -> dict[str, Any]:
        """The status to report, as a patch of the pod's."""
        ready = [self._is_ready(each, now) for each in self.main]
        pod_ready = all(ready) and not self.ended
        found: dict[str, Any] = {
            "phase": self.phase,
            "startTime": timestamp(self.born_at),
            "hostIP": self.host_ip,
            "hostIPs": [{"ip": self.host_ip}],
            "podIP": self.ip,
            "podIPs": [{"ip": self.ip}],
            "conditions": self._conditions(pod_ready, now),
            "containerStatuses": [each.status(ready=is_ready) for each, is_ready in zip(self.main, ready, strict=True)],
        }
        if self.initial or self.sidecars:
            initial = [each.status(ready=each.succeeded) for each in self.initial]
            found["initContainerStatuses"] = initial + [each.status(ready=each.running) for each in self.sidecars]
        if self.evicted:
            found |= {"reason": "Evicted", "message": "The node was low on resource: memory. "}
        if self._timed_out:
            found |= {"reason": "DeadlineExceeded", "message": "Pod was active on the node longer than the deadline"}
        if self.fault:
            waiting = {"waiting": {"reason": "InvalidAnnotation", "message": self.fault}}
            found["containerStatuses"] = [{**each, "state": waiting} for each in found["containerStatuses"]]
        return found

    def _initialize(self, now: float) -> float:
        for each in self.sidecars:
            if each.started_at is None:
                each.start(now)
        for each in self.initial:
            if each.started_at is None:
                each.start(now)
            due = each.advance(now)
            if each.succeeded:
                continue
            if each.finished:
                self._failed_early = True
            return due
        return min((each.advance(now) for each in self.sidecars), default=NEVER)

    @property
    def _initialized(self) -> bool:
        return all(each.succeeded for each in self.initial)

    def _lose(self, now: float) -> float:
        """End the pod when it is deleted, evicted or over its deadline; else say when it will be."""
        due = NEVER
        if self.deleted_at is not None:
            if now >= (due := self.deleted_at + self._stop.after):
                self._end_all(self._stop, now)
        elif self._evict_after is not None:
            if now >= (due := self.born_at + self._evict_after):
                self.evicted = True
                self._end_all(KILLED, now)
        elif self._deadline is not None and now >= (due := self.born_at + self._deadline):
            self._timed_out = True
            self._end_all(KILLED, now)
        return due

    def _end_all(self, ending: Ending, now: float, containers: list[Container] | None = None) -> None:
        for each in containers if containers is not None else [*self.main, *self.sidecars]:
            each.policy = "Never"
            if each.running:
                each.end(ending, now)
        if any(each.started_at is None for each in self.main):
            self._failed_early = True

    def _is_ready(self, container: Container, now: float) -> bool:
        return (
            container.running
            and container.started_at is not None
            and container.started_at + self._ready_after <= now
            and not self.ended
        )

    def _conditions(self, ready: bool, now: float) -> list[dict[str, Any]]:
        done = self._initialized
        why = {} if ready else {"reason": "PodCompleted" if self.phase == "Succeeded" else "ContainersNotReady"}
        found: list[dict[str, Any]] = [
            {"type": "PodReadyToStartContainers", "status": str(not self.ended)},
            {"type": "Initialized", "status": str(done)} | ({} if done else {"reason": "ContainersNotInitialized"}),
            {"type": "ContainersReady", "status": str(ready)} | why,
            {"type": "Ready", "status": str(ready)} | why,
        ]
        if self.evicted:
            found.append({"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"})
        for each in found:
            status, since = self._conditions_since.get(each["type"], ("", now))
            if status != each["status"]:
                since = now
                self._conditions_since[each["type"]] = (each["status"], now)
            each["lastTransitionTime"] = timestamp(since)
        return found
