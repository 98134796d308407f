"""A kubelet as far as plugins see one: real gRPC over Unix sockets, with a client made for what it asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc

from shoal.gpu.plugin import protocol


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


def health(told: Any) -> dict[str, bool]:
    return {each.ID: each.health == "Healthy" for each in told.devices}


class Kubelet:
    """Takes registrations, watches each plugin's devices, and asks what a test asks. A start removes what is in the
    folder, as a real one's does, unless it is not `tidy`."""

    def __init__(self, folder: Path, refusal: tuple[grpc.StatusCode, str] | None = None, tidy: bool = True) -> None:
        self.folder = folder
        self._tidy = tidy
        self.refusal = refusal
        self.registrations: list[Any] = []
        self.told: list[Any] = []
        self._watching: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Kubelet:
        for each in self.folder.iterdir() if self._tidy else ():
            each.unlink()
        register = grpc.unary_unary_rpc_method_handler(
            self._register, protocol.RegisterRequest.FromString, lambda message: message.SerializeToString()
        )
        self._server = grpc.aio.server()
        self._server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler("v1beta1.Registration", {"Register": register})]
        )
        self._server.add_insecure_port(f"unix:{self.folder}/kubelet.sock")
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop_watching()
        await self._server.stop(None)

    def stop_watching(self) -> None:
        for each in self._watching:
            each.cancel()

    async def ask(self, method: str, request: Any, answer: Any) -> Any:
        async with self._channel() as channel:
            call = channel.unary_unary(
                f"/v1beta1.DevicePlugin/{method}", lambda message: message.SerializeToString(), answer.FromString
            )
            return await call(request, timeout=20)

    async def allocate(self, *ids: str) -> Any:
        request = protocol.AllocateRequest(container_requests=[protocol.ContainerAllocateRequest(devices_ids=ids)])
        answer = await self.ask("Allocate", request, protocol.AllocateResponse)
        (only,) = answer.container_responses
        return only

    def _channel(self) -> Any:
        return grpc.aio.insecure_channel(f"unix:{self.folder}/{self.registrations[-1].endpoint}")

    async def _register(self, request: Any, context: Any) -> Any:
        if self.refusal:
            await context.abort(*self.refusal)
        self.registrations.append(request)
        task = asyncio.create_task(self._watch())
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)
        return protocol.Empty()

    async def _watch(self) -> None:
        async with self._channel() as channel:
            call = channel.unary_stream(
                "/v1beta1.DevicePlugin/ListAndWatch",
                lambda message: message.SerializeToString(),
                protocol.ListAndWatchResponse.FromString,
            )
            try:
                async for told in call(protocol.Empty()):
                    self.told.append(told)
            except grpc.aio.AioRpcError:
                return
