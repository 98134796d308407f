"""The life of one container: waiting, running, terminated, and around again. Pure: time is an argument."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.fake_kubelet.script import Ending, Script

NEVER = math.inf
BACK_OFF = 0.25
LONGEST_BACK_OFF = 5.0


def timestamp(at: float) -> str:
    """Seconds since 1970 as Kubernetes writes them."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Container:
    """One container; `restarts` counts as `restartCount` does."""

    name: str
    image: str
    script: Script
    policy: str
    identity: str
    message: str = ""
    restarts: int = 0
    started_at: float | None = None
    ended_at: float | None = None
    ending: Ending | None = None
    last: dict[str, Any] = field(default_factory=dict)

    @property
    def running(self) -> bool:
        return self.started_at is not None and self.ending is None

    @property
    def finished(self) -> bool:
        """Whether it has ended for good."""
        return self.ending is not None and not self._restarts_after(self.ending)

    @property
    def _waits(self) -> bool:
        """Whether it waits for its next start."""
        return self.ending is not None and not self.finished

    @property
    def succeeded(self) -> bool:
        return self.finished and self.ending is not None and self.ending.code == 0

    def start(self, now: float) -> None:
        """Start, or start again."""
        if self.ending is not None:
            self.last = self._terminated()
            self.restarts += 1
        self.started_at, self.ending, self.ended_at = now, None, None

    def end(self, ending: Ending, now: float) -> None:
        """End the current run."""
        self.ending, self.ended_at = ending, now

    def advance(self, now: float) -> float:
        """Do what is due in a container that was started. Return when something is due next."""
        while True:
            if self.running:
                assert self.started_at is not None
                planned = self.script.ending(self.restarts)
                if planned is None:
                    return NEVER
                due = self.started_at + planned.after
                if due > now:
                    return due
                self.end(planned, now)
            elif self.ending is None or self.finished:
                return NEVER
            else:
                assert self.ended_at is not None
                due = self.ended_at + self._back_off()
                if due > now:
                    return due
                self.start(now)

    def status(self, *, ready: bool) -> dict[str, Any]:
        """Its entry in the pod's containerStatuses."""
        return {
            "name": self.name,
            "image": self.image,
            "imageID": f"fake://{self.image}",
            "containerID": self._id() if self.started_at is not None else "",
            "ready": ready,
            "started": self.running,
            "restartCount": self.restarts,
            "state": self._state(),
            "lastState": {"terminated": last} if (last := self._terminated() if self._waits else self.last) else {},
        }

    def _state(self) -> dict[str, Any]:
        if self.running:
            assert self.started_at is not None
            return {"running": {"startedAt": timestamp(self.started_at)}}
        if self.ending is None:
            return {"waiting": {"reason": "PodInitializing"}}
        if not self._waits:
            return {"terminated": self._terminated()}
        message = f"back-off {self._back_off()}s restarting failed container={self.name}"
        return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}

    def _terminated(self) -> dict[str, Any]:
        assert self.ending is not None
        assert self.started_at is not None
        assert self.ended_at is not None
        found = {
            "exitCode": self.ending.code,
            "reason": self.ending.reason,
            "startedAt": timestamp(self.started_at),
            "finishedAt": timestamp(self.ended_at),
            "containerID": self._id(),
        }
        if self.message and self.ending.code != 0:
            found["message"] = self.message
        return found

    def _restarts_after(self, ending: Ending) -> bool:
        return self.policy == "Always" or (self.policy == "OnFailure" and ending.code != 0)

    def _back_off(self) -> float:
        """Seconds before the next start: none before the first restart, as the kubelet has it, then doubling."""
        return 0.0 if self.restarts == 0 else min(BACK_OFF * 2.0 ** (self.restarts - 1), LONGEST_BACK_OFF)

    def _id(self) -> str:
        return f"fake://{self.identity}/{self.name}/{self.restarts}"
