r"""What a pod is to do, as its annotations say.

    fake-kubelet.shoal.dev/exit: "137:OOMKilled@2s"    the first container ends 2 s after its start, each time
    fake-kubelet.shoal.dev/exit: "1@1s, 0@500ms"       its first run fails, the second and all later ones succeed
    fake-kubelet.shoal.dev/exit: "1@1s, run"           its first run fails, the second goes on until it is deleted
    fake-kubelet.shoal.dev/exit.NAME: "0@0s"           the same for the container NAME (an init container succeeds at
                                                       once unless it is told otherwise)
    fake-kubelet.shoal.dev/message: "Traceback …"      the termination message of runs that fail
    fake-kubelet.shoal.dev/log: "step 1\nstep 2\n"      what `kubectl logs` shows; log.NAME is that of one container
    fake-kubelet.shoal.dev/ready-after: "2s"           when a running container becomes ready
    fake-kubelet.shoal.dev/stop: "0@1s"                how a container ends when its pod is deleted (143 at once)
    fake-kubelet.shoal.dev/evict-after: "3s"           the pod is evicted for want of memory
    fake-kubelet.shoal.dev/silent: "true"              on a Node: its kubelet has vanished, and so have its pods' news

They may be added or changed while the pod runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

PREFIX = "fake-kubelet.shoal.dev/"
SILENT = PREFIX + "silent"

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)")
_ENDING = re.compile(r"(\d{1,3})(?::(\w+))?@(\S+)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}


class ScriptError(ValueError):
    """An annotation that means nothing."""


@dataclass(frozen=True)
class Ending:
    """How a run of a container ends, `after` seconds from its start."""

    code: int
    reason: str
    after: float


@dataclass(frozen=True)
class Script:
    """How the runs of one container end, in turn; the last holds for all later ones. None is a run without an end."""

    endings: tuple[Ending | None, ...]

    def ending(self, run: int) -> Ending | None:
        """How run number `run` ends, counted from 0."""
        return self.endings[min(run, len(self.endings) - 1)]


FOREVER = Script((None,))
AT_ONCE = Script((Ending(0, "Completed", 0.0),))


def seconds(text: str) -> float:
    """A duration such as 500ms, 2s or 1m, in seconds."""
    if not (found := _DURATION.fullmatch(text.strip())):
        raise ScriptError(f"{text!r} is no duration such as 500ms, 2s or 1m")
    return float(found[1]) * _SECONDS[found[2]]


def ending(text: str) -> Ending:
    """An ending such as 1@2s or 137:OOMKilled@500ms."""
    if not (found := _ENDING.fullmatch(text.strip())):
        raise ScriptError(f"{text!r} is no ending such as 0@1s or 137:OOMKilled@500ms")
    code = int(found[1])
    return Ending(code, found[2] or ("Error" if code else "Completed"), seconds(found[3]))


def script(annotations: Mapping[str, str], container: str, *, first: bool, default: Script) -> Script:
    """What the annotations say of a container; of the first one without its name, too."""
    text = annotations.get(f"{PREFIX}exit.{container}")
    if text is None and first:
        text = annotations.get(f"{PREFIX}exit")
    if text is None:
        return default
    return Script(tuple(None if each.strip() == "run" else ending(each) for each in text.split(",")))


def delay(annotations: Mapping[str, str], name: str) -> float | None:
    """The annotation `name` as a duration in seconds; None without it."""
    text = annotations.get(PREFIX + name)
    return None if text is None else seconds(text)


def stop(annotations: Mapping[str, str]) -> Ending:
    """How a container ends when its pod is deleted."""
    text = annotations.get(PREFIX + "stop")
    return Ending(143, "Error", 0.0) if text is None else ending(text)
