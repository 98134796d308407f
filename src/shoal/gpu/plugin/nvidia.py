"""The machine's NVIDIA GPUs, as NVML tells of them, to the device plugin and to the pool's agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from shoal.gpu.plugin.devices import Device, Grant, PassBy, SourceError
from shoal.resources.gpu_model import gpu_model

CONTROL_NODES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")
CDI_KIND = "nvidia.com/gpu"
PROGRAMS_OWN_FAULTS = frozenset({13, 31, 43, 45, 68, 109})
"""Xids by which the driver reports what a program did wrong; the GPU is as good as before.
https://docs.nvidia.com/deploy/xid-errors/"""


class Nvidia:
    """Whole GPUs. One that has told of a fault of its own stays unhealthy until NVML is asked by a new process."""

    def __init__(self, by: Sequence[PassBy] = (PassBy.ENV,), root: Path = Path("/")) -> None:
        """Raises SourceError where there is no driver. `root` is the root of /dev and /sys."""
        import pynvml

        self._nvml: Any = pynvml
        self._by = frozenset(by)
        self._root = root
        self._minor: dict[str, int] = {}
        self._faulty: set[str] = set()
        self._ask(pynvml.nvmlInit)
        self.driver = str(self._ask(pynvml.nvmlSystemGetDriverVersion))
        self._handles = {
            str(self._ask(pynvml.nvmlDeviceGetUUID, handle)): handle
            for handle in (
                self._ask(pynvml.nvmlDeviceGetHandleByIndex, i) for i in range(self._ask(pynvml.nvmlDeviceGetCount))
            )
        }
        self._known = {uuid: self._describe(uuid, handle) for uuid, handle in self._handles.items()}
        self._events = self._ask(pynvml.nvmlEventSetCreate)
        for handle in self._handles.values():
            self._listen(handle)

    def devices(self) -> list[Device]:
        self._faulty.update(self._faults())
        return [
            Device(
                uuid,
                uuid not in self._faulty and self._answers(self._handles[uuid]),
                known.model,
                known.memory_mib,
                known.numa_node,
                known.place,
            )
            for uuid, known in self._known.items()
        ]

    def grant(self, devices: Sequence[Device]) -> Grant:
        ids = [each.id for each in devices]
        nodes: list[str] = []
        if PassBy.NODES in self._by:
            nodes = [f"/dev/nvidia{self._minor[id]}" for id in ids]
            nodes += [f"/dev/{name}" for name in CONTROL_NODES if (self._root / "dev" / name).exists()]
        return Grant(
            {"NVIDIA_VISIBLE_DEVICES": ",".join(ids)} if PassBy.ENV in self._by else {},
            nodes=tuple(nodes),
            cdi=tuple(f"{CDI_KIND}={id}" for id in ids) if PassBy.CDI in self._by else (),
        )

    def _describe(self, uuid: str, handle: Any) -> Device:
        nvml = self._nvml
        self._minor[uuid] = int(self._ask(nvml.nvmlDeviceGetMinorNumber, handle))
        model = gpu_model(str(self._ask(nvml.nvmlDeviceGetName, handle)))
        memory = int(self._ask(nvml.nvmlDeviceGetMemoryInfo, handle).total) >> 20
        numa = self._numa_node(str(self._ask(nvml.nvmlDeviceGetPciInfo, handle).busId))
        return Device(uuid, True, model, memory, numa, () if numa is None else (f"numa-{numa}",))

    def _numa_node(self, bus: str) -> int | None:
        # NVML writes the domain with eight digits, the kernel with four.
        file = self._root / "sys/bus/pci/devices" / bus.lower()[-12:] / "numa_node"
        try:
            number = int(file.read_text())
        except (OSError, ValueError):
            return None
        return number if number >= 0 else None

    def _listen(self, handle: Any) -> None:
        nvml = self._nvml
        try:
            nvml.nvmlDeviceRegisterEvents(handle, nvml.nvmlEventTypeXidCriticalError, self._events)
        except nvml.NVMLError_NotSupported:
            return  # older cards tell nothing; whether they answer is all that is known
        except nvml.NVMLError as fault:
            raise _unanswered(fault) from fault

    def _faults(self) -> Iterator[str]:
        """GPUs that have reported a fault of their own since last time."""
        nvml = self._nvml
        while True:
            try:
                event = nvml.nvmlEventSetWait_v2(self._events, 0)
            except nvml.NVMLError_Timeout:
                return
            except nvml.NVMLError as fault:
                raise _unanswered(fault) from fault
            if event.eventData not in PROGRAMS_OWN_FAULTS:
                yield from self._named(event.device)

    def _named(self, handle: Any) -> Sequence[str]:
        """The GPU that an event is of; all of them where it cannot be told any more, as when one fell off its bus."""
        try:
            return [str(self._nvml.nvmlDeviceGetUUID(handle))]
        except self._nvml.NVMLError:
            return list(self._handles)

    def _answers(self, handle: Any) -> bool:
        try:
            self._nvml.nvmlDeviceGetMemoryInfo(handle)
        except self._nvml.NVMLError:
            return False
        return True

    def _ask(self, question: Callable[..., Any], *words: Any) -> Any:
        try:
            return question(*words)
        except self._nvml.NVMLError_LibraryNotFound as fault:
            raise SourceError(
                "there is no NVIDIA driver here: libnvidia-ml.so.1 is missing",
                "in a pod, runtimeClassName: nvidia brings it; without a GPU, use --software-gpus",
            ) from fault
        except self._nvml.NVMLError as fault:
            raise _unanswered(fault) from fault


def _unanswered(fault: Exception) -> SourceError:
    return SourceError(f"NVML: {fault}", "what does `nvidia-smi` say on this machine?")
