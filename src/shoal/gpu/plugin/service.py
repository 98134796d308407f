"""What the kubelet asks of a plugin, over gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import grpc
import structlog

from shoal.gpu.plugin import protocol
from shoal.gpu.plugin.devices import Device, Grant, Source, SourceError
from shoal.gpu.plugin.preference import preferred

log = structlog.get_logger()

Context = grpc.aio.ServicerContext[Any, Any]


class Service:
    """The devices as they are, told to each kubelet that watches. `pre_start` has it ask before a container starts."""

    def __init__(self, source: Source, devices: Iterable[Device], pre_start: bool = False) -> None:
        self._source = source
        self._devices = {each.id: each for each in devices}
        self._changed = asyncio.Condition()
        self.watching = self.watched = 0
        """How many kubelets are told of the devices, now and ever."""
        self.options = protocol.DevicePluginOptions(
            pre_start_required=pre_start, get_preferred_allocation_available=True
        )

    @property
    def devices(self) -> list[Device]:
        return list(self._devices.values())

    async def update(self, devices: Iterable[Device]) -> None:
        """Tell of devices that have come, gone, failed or recovered."""
        known, self._devices = self._devices, {each.id: each for each in devices}
        for id, each in self._devices.items():
            if id in known and known[id].healthy != each.healthy:
                log.warning("a device has failed" if known[id].healthy else "a device has recovered", device=id)
        if known != self._devices:
            async with self._changed:
                self._changed.notify_all()

    def handler(self) -> grpc.GenericRpcHandler:
        """All methods, for a gRPC server."""
        methods = {
            "GetDevicePluginOptions": (self._options, "Empty", grpc.unary_unary_rpc_method_handler),
            "ListAndWatch": (self._list_and_watch, "Empty", grpc.unary_stream_rpc_method_handler),
            "GetPreferredAllocation": (
                self._prefer,
                "PreferredAllocationRequest",
                grpc.unary_unary_rpc_method_handler,
            ),
            "Allocate": (self._allocate, "AllocateRequest", grpc.unary_unary_rpc_method_handler),
            "PreStartContainer": (
                self._pre_start,
                "PreStartContainerRequest",
                grpc.unary_unary_rpc_method_handler,
            ),
        }
        handlers: dict[str, Any] = {
            name: kind(method, getattr(protocol, request).FromString, lambda answer: answer.SerializeToString())
            for name, (method, request, kind) in methods.items()
        }
        return grpc.method_handlers_generic_handler(protocol.SERVICE, handlers)

    async def _options(self, _request: Any, _context: Context) -> Any:
        return self.options

    async def _list_and_watch(self, _request: Any, _context: Context) -> AsyncIterator[Any]:
        self.watching += 1
        self.watched += 1
        try:
            while True:
                told = self._devices
                yield protocol.ListAndWatchResponse(devices=[_message(each) for each in told.values()])
                async with self._changed:
                    while self._devices == told:
                        await self._changed.wait()
        finally:
            self.watching -= 1

    async def _prefer(self, request: Any, context: Context) -> Any:
        places = {each.id: each.place for each in self._devices.values()}
        answer = protocol.PreferredAllocationResponse()
        for each in request.container_requests:
            try:
                ids = preferred(each.available_deviceIDs, each.must_include_deviceIDs, each.allocation_size, places)
            except ValueError as fault:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(fault))
            answer.container_responses.add(deviceIDs=ids)
        return answer

    async def _allocate(self, request: Any, context: Context) -> Any:
        answer = protocol.AllocateResponse()
        for each in request.container_requests:
            devices = await self._usable(each.devices_ids, context)
            try:
                grant = await asyncio.to_thread(self._source.grant, devices)
            except SourceError as fault:
                await context.abort(grpc.StatusCode.UNAVAILABLE, str(fault))
            answer.container_responses.append(_granted(grant))
            log.info("allocated", devices=list(each.devices_ids))
        return answer

    async def _pre_start(self, request: Any, context: Context) -> Any:
        await self._usable(request.devices_ids, context)
        return protocol.PreStartContainerResponse()

    async def _usable(self, ids: Sequence[str], context: Context) -> list[Device]:
        """The devices by their ids. The kubelet shows what is wrong with them in the pod's status."""
        if len(set(ids)) != len(ids) or not ids:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"each device once, and at least one: {list(ids)}")
        for id in ids:
            if id not in self._devices:
                await context.abort(grpc.StatusCode.NOT_FOUND, f"there is no device {id} on this node any more")
            if not self._devices[id].healthy:
                await context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"device {id} is unhealthy")
        return [self._devices[id] for id in ids]


def _message(device: Device) -> Any:
    health = protocol.HEALTHY if device.healthy else protocol.UNHEALTHY
    told = protocol.Device(ID=device.id, health=health)
    if device.numa_node is not None:
        told.topology.nodes.add(ID=device.numa_node)
    return told


def _granted(grant: Grant) -> Any:
    return protocol.ContainerAllocateResponse(
        envs=[protocol.Text(key=key, value=value) for key, value in grant.environment.items()],
        mounts=[
            protocol.Mount(container_path=inside, host_path=outside, read_only=True)
            for outside, inside in grant.mounts.items()
        ],
        devices=[protocol.DeviceSpec(container_path=path, host_path=path, permissions="rw") for path in grant.nodes],
        cdi_devices=[protocol.CDIDevice(name=name) for name in grant.cdi],
    )
