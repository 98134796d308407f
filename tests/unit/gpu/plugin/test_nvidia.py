"""NVIDIA's GPUs by the names and signatures of the real binding; what a driver would answer is made up here."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import create_autospec

import pynvml
import pytest

from shoal.gpu.plugin.devices import PassBy, SourceError
from shoal.gpu.plugin.nvidia import Nvidia

BUS = "0000:3b:00.0"


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two A100s, called 0 and 1."""
    functions = {
        "nvmlSystemGetDriverVersion": lambda: "550.54.15",
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": lambda i: i,
        "nvmlDeviceGetUUID": lambda i: f"GPU-{i}",
        "nvmlDeviceGetName": lambda i: "NVIDIA A100-SXM4-40GB",
        "nvmlDeviceGetMinorNumber": lambda i: i + 4,
        "nvmlDeviceGetMemoryInfo": lambda i: SimpleNamespace(total=40 << 30),
        "nvmlDeviceGetPciInfo": lambda i: SimpleNamespace(busId=f"0000{BUS.upper()}"),
        "nvmlEventSetCreate": lambda: "events",
        "nvmlDeviceRegisterEvents": lambda *_: None,
        "nvmlEventSetWait_v2": _raise(pynvml.NVMLError_Timeout),
        "nvmlInit": lambda: None,
    }
    made = SimpleNamespace()
    for name, answer in functions.items():
        fake = create_autospec(getattr(pynvml, name), side_effect=answer)
        monkeypatch.setattr(pynvml, name, fake)
        setattr(made, name, fake)
    return made


def _raise(fault: type[Exception]) -> Any:
    def answer(*_: object) -> None:
        raise fault()

    return answer


def happened(driver: Any, xid: int, device: int) -> None:
    driver.nvmlEventSetWait_v2.side_effect = [SimpleNamespace(eventData=xid, device=device), pynvml.NVMLError_Timeout()]


def test_what_they_are(driver: Any, tmp_path: Path) -> None:
    place = tmp_path / "sys/bus/pci/devices" / BUS
    place.mkdir(parents=True)
    (place / "numa_node").write_text("1\n")
    found = Nvidia(root=tmp_path)
    first, second = found.devices()
    assert (first.id, first.model, first.memory_mib, first.numa_node) == ("GPU-0", "A100", 40960, 1)
    assert first.healthy
    assert second.healthy
    assert found.driver == "550.54.15"


def test_what_a_container_is_given(driver: Any, tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    by_environment = Nvidia(root=tmp_path)
    devices = by_environment.devices()
    assert by_environment.grant(devices).environment == {"NVIDIA_VISIBLE_DEVICES": "GPU-0,GPU-1"}
    assert by_environment.grant(devices).nodes == by_environment.grant(devices).cdi == ()
    given = Nvidia([PassBy.NODES, PassBy.CDI], tmp_path).grant(devices[1:])
    assert given.environment == {}
    assert given.nodes == ("/dev/nvidia5", "/dev/nvidiactl")
    assert given.cdi == ("nvidia.com/gpu=GPU-1",)


@pytest.mark.parametrize(("xid", "healthy"), [(79, False), (31, True)])
def test_a_fault_of_the_gpu_is_one_and_a_programs_is_not(xid: int, healthy: bool, driver: Any, tmp_path: Path) -> None:
    found = Nvidia(root=tmp_path)
    happened(driver, xid, 1)
    assert [each.healthy for each in found.devices()] == [True, healthy]
    driver.nvmlEventSetWait_v2.side_effect = pynvml.NVMLError_Timeout()
    assert [each.healthy for each in found.devices()] == [True, healthy]


def test_one_that_does_not_answer_is_unhealthy(driver: Any, tmp_path: Path) -> None:
    found = Nvidia(root=tmp_path)
    driver.nvmlDeviceGetMemoryInfo.side_effect = pynvml.NVMLError_GpuIsLost()
    assert not any(each.healthy for each in found.devices())


def test_without_a_driver_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pynvml, "nvmlInit", _raise(pynvml.NVMLError_LibraryNotFound))
    with pytest.raises(SourceError, match="there is no NVIDIA driver here") as fault:
        Nvidia()
    assert "--software-gpus" in fault.value.hint
