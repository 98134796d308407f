"""The control group that holds every pod of the node, made before the kubelet starts and removed after it."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from tests.cluster.errors import ClusterError

NAME = "shoal-test-node"
MOUNTS = Path("/sys/fs/cgroup")


class ControlGroup:
    """One group in every hierarchy of the machine, under a name of ours: other kubelets' pods are never touched."""

    def __init__(self) -> None:
        self._groups = [each / NAME for each in _hierarchies()]
        self.close()
        for group in self._groups:
            group.mkdir(exist_ok=True)
            _inherit(group)

    @property
    def path(self) -> str:
        """The group's path in each hierarchy."""
        return f"/{NAME}"

    def close(self) -> None:
        """Remove the group and all below it; its processes must have been ended."""
        for group in self._groups:
            deadline = time.monotonic() + 10
            # A group is busy until its last process is buried.
            while group.exists() and not _removed(group):
                if time.monotonic() > deadline:
                    raise ClusterError(
                        f"{group} cannot be removed", f"which processes does it hold? (cat {group}/*/procs)"
                    )
                time.sleep(0.05)


def _hierarchies() -> list[Path]:
    """Where control groups are mounted: one folder of version 2, one a controller of version 1, or both."""
    found: dict[str, Path] = {}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, options, *_ = line.split()
        if kind in ("cgroup", "cgroup2") and place.startswith(str(MOUNTS)) and "ro" not in options.split(","):
            found[place] = Path(place)
    return list(found.values())


def _inherit(group: Path) -> None:
    """Set what a new group lacks before it can hold processes, or before its children get controllers."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        with suppress(OSError):
            (group / name).write_text((group.parent / name).read_text())
    with suppress(OSError):
        controllers = (group.parent / "cgroup.controllers").read_text().split()
        for place in (group.parent, group):
            (place / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in controllers))


def _removed(group: Path) -> bool:
    folders = sorted((path for path in group.rglob("*") if path.is_dir()), key=lambda path: -len(path.parts))
    with suppress(FileNotFoundError):
        for each in [*folders, group]:
            try:
                each.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                return False
    return True
