"""A plugin beside a kubelet that comes and goes."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest

from shoal.gpu.plugin import protocol
from shoal.gpu.plugin.devices import Chosen, Device, Source, SourceError
from shoal.gpu.plugin.pooled import Pooled
from shoal.gpu.plugin.run import PluginError, Settings, run_plugin
from shoal.gpu.plugin.software import Software
from tests.unit.gpu.plugin.kubelets import Kubelet, health, until


@pytest.fixture
def folder() -> Iterator[Path]:
    # pytest's own folders can be too long for a socket.
    with tempfile.TemporaryDirectory(prefix="plugin-") as name:
        yield Path(name)


def settings(folder: Path, pre_start: bool = False) -> Settings:
    return Settings("bitfusion.io/gpu", "bitfusiongpu", folder, pre_start, check_seconds=0.02)


TWO = Software(2, 16384, "A100")


@asynccontextmanager
async def plugin(folder: Path, source: Source = TWO, pre_start: bool = False) -> AsyncIterator[asyncio.Task[None]]:
    """A plugin that in the end is told to stop, and leaves no socket."""
    task = asyncio.create_task(run_plugin(settings(folder, pre_start), source))
    await until(lambda: task.done() or (folder / "bitfusiongpu.sock").exists())
    yield task
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(task, 30)
    assert not (folder / "bitfusiongpu.sock").exists()


async def test_it_registers_and_tells_of_its_devices(folder: Path) -> None:
    async with Kubelet(folder) as kubelet, plugin(folder):
        await until(lambda: kubelet.told)
        (request,) = kubelet.registrations
        about = (request.version, request.endpoint, request.resource_name)
        assert about == ("v1beta1", "bitfusiongpu.sock", "bitfusion.io/gpu")
        assert request.options.get_preferred_allocation_available
        assert not request.options.pre_start_required
        assert health(kubelet.told[-1]) == {"software-0": True, "software-1": True}
        asked = await kubelet.ask("GetDevicePluginOptions", protocol.Empty(), protocol.DevicePluginOptions)
        assert asked == request.options


async def test_it_waits_for_a_kubelet(folder: Path) -> None:
    async with plugin(folder), Kubelet(folder) as kubelet:
        await until(lambda: kubelet.told)


@pytest.mark.parametrize("tidy", [True, False])
async def test_it_registers_with_each_kubelet_that_starts(tidy: bool, folder: Path) -> None:
    async with Kubelet(folder) as first, plugin(folder):
        await until(lambda: first.told)
        async with Kubelet(folder, tidy=tidy) as second:
            await until(lambda: second.told)
            assert (await second.allocate("software-1")).envs[0].value == "software-1"
            assert len(first.registrations) == 1


async def test_it_registers_again_when_nobody_watches_any_more(folder: Path) -> None:
    async with Kubelet(folder) as kubelet, plugin(folder):
        for count in (1, 2):
            await until(lambda count=count: len(kubelet.registrations) == count and kubelet.told)
            kubelet.told.clear()
            kubelet.stop_watching()
        await until(lambda: len(kubelet.registrations) == 3)


async def test_it_makes_its_socket_anew(folder: Path) -> None:
    async with Kubelet(folder) as kubelet, plugin(folder):
        await until(lambda: kubelet.told)
        (folder / "bitfusiongpu.sock").unlink()
        await until(lambda: len(kubelet.registrations) == 2)
        await kubelet.allocate("software-0")


async def test_it_ends_when_the_kubelet_refuses_it(folder: Path) -> None:
    async with Kubelet(folder, (grpc.StatusCode.UNKNOWN, "the name is taken")):
        with pytest.raises(PluginError, match=r"the kubelet refuses bitfusion\.io/gpu: the name is taken"):
            await run_plugin(settings(folder), TWO)
    assert not (folder / "bitfusiongpu.sock").exists()


async def test_a_kubelet_that_is_not_ready_is_asked_again(folder: Path) -> None:
    async with Kubelet(folder, (grpc.StatusCode.UNAVAILABLE, "starting")) as kubelet, plugin(folder):
        await asyncio.sleep(0.2)
        assert kubelet.registrations == []
        kubelet.refusal = None
        await until(lambda: kubelet.told)


async def test_health_is_told_as_it_changes(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out-of-use"
    async with Kubelet(folder) as kubelet, plugin(folder, Chosen(TWO, unhealthy=out), pre_start=True):
        await until(lambda: kubelet.told)
        out.write_text("software-1\n")
        await until(lambda: health(kubelet.told[-1]) == {"software-0": True, "software-1": False})
        assert kubelet.registrations[0].options.pre_start_required
        request = protocol.PreStartContainerRequest(devices_ids=["software-1"])
        with pytest.raises(grpc.aio.AioRpcError, match="device software-1 is unhealthy"):
            await kubelet.ask("PreStartContainer", request, protocol.PreStartContainerResponse)
        out.unlink()
        await until(lambda: health(kubelet.told[-1]) == {"software-0": True, "software-1": True})
        await kubelet.ask("PreStartContainer", request, protocol.PreStartContainerResponse)
        # Nothing is told where nothing has changed.
        assert len(kubelet.told) == 3


class Silent:
    """A source that stops to answer."""

    driver = ""

    def __init__(self) -> None:
        self.silent = False

    def devices(self) -> list[Device]:
        if self.silent:
            raise SourceError("the driver is gone")
        return TWO.devices()

    grant = TWO.grant


async def test_devices_that_do_not_answer_are_unhealthy(folder: Path) -> None:
    source = Silent()
    async with Kubelet(folder) as kubelet, plugin(folder, source):
        await until(lambda: kubelet.told)
        source.silent = True
        await until(lambda: not any(health(kubelet.told[-1]).values()))
        source.silent = False
        await until(lambda: all(health(kubelet.told[-1]).values()))


@pytest.mark.parametrize(
    ("ids", "code", "told"),
    [
        (["software-7"], grpc.StatusCode.NOT_FOUND, "there is no device software-7 on this node"),
        (["software-1"], grpc.StatusCode.FAILED_PRECONDITION, "device software-1 is unhealthy"),
        (["software-0", "software-0"], grpc.StatusCode.INVALID_ARGUMENT, "each device once"),
        ([], grpc.StatusCode.INVALID_ARGUMENT, "at least one"),
    ],
)
async def test_what_cannot_be_allocated(
    ids: list[str], code: grpc.StatusCode, told: str, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").write_text("software-1")
    async with Kubelet(folder) as kubelet, plugin(folder, Chosen(TWO, unhealthy=tmp_path / "out")):
        await until(lambda: kubelet.told)
        with pytest.raises(grpc.aio.AioRpcError, match=told) as fault:
            await kubelet.allocate(*ids)
        assert fault.value.code() is code


async def test_a_share_brings_library_and_broker(folder: Path) -> None:
    source = Pooled(3, "/opt/lib", "https://broker:7000")
    async with Kubelet(folder) as kubelet, plugin(folder, source):
        await until(lambda: kubelet.told)
        given = await kubelet.allocate("share-0", "share-2")
    assert {each.key: each.value for each in given.envs} == {
        "SHOAL_GPU_COUNT": "2",
        "SHOAL_BROKER": "https://broker:7000",
        "LD_LIBRARY_PATH": "/opt/shoal/client",
    }
    (mount,) = given.mounts
    assert (mount.host_path, mount.container_path, mount.read_only) == ("/opt/lib", "/opt/shoal/client", True)


async def test_preferred_devices_are_those_that_must_be_and_near_ones(folder: Path) -> None:
    async with Kubelet(folder) as kubelet, plugin(folder, Software(4, 16384, "A100")):
        await until(lambda: kubelet.told)
        each = protocol.ContainerPreferredAllocationRequest(
            available_deviceIDs=[f"software-{i}" for i in range(4)],
            must_include_deviceIDs=["software-2"],
            allocation_size=2,
        )
        request = protocol.PreferredAllocationRequest(container_requests=[each])
        answer = await kubelet.ask("GetPreferredAllocation", request, protocol.PreferredAllocationResponse)
        assert list(answer.container_responses[0].deviceIDs) == ["software-2", "software-0"]
        each.allocation_size = 5
        with pytest.raises(grpc.aio.AioRpcError, match="5 devices are asked for, and 4 are available"):
            await kubelet.ask(
                "GetPreferredAllocation",
                protocol.PreferredAllocationRequest(container_requests=[each]),
                protocol.PreferredAllocationResponse,
            )


async def test_a_folder_without_kubelet_a_taken_and_a_long_socket_are_refused(folder: Path) -> None:
    with pytest.raises(PluginError, match="there is no folder"):
        await run_plugin(settings(folder / "none"), TWO)
    long = folder / ("x" * 100)
    long.mkdir()
    with pytest.raises(PluginError, match="longer than the 107 bytes"):
        await run_plugin(settings(long), TWO)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(folder / "bitfusiongpu.sock"))
        other.listen()
        with pytest.raises(PluginError, match="another plugin listens"):
            await run_plugin(settings(folder), TWO)


async def test_what_a_killed_plugin_left_is_no_obstacle(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(folder / "bitfusiongpu.sock"))
    async with plugin(folder), Kubelet(folder) as kubelet:
        await until(lambda: kubelet.told)


def test_a_pattern_chooses_by_model() -> None:
    assert len(Chosen(TWO, re.compile("H100|A100")).devices()) == 2
    assert Chosen(TWO, re.compile("H100")).devices() == []
