"""The plugin's life: it listens, is registered, and looks after its devices until it is told to end.

A kubelet forgets its plugins when it starts, and removes their sockets. So a plugin begins anew, with a new socket and
a registration, whenever the kubelet's socket is another one, its own is gone, or the kubelet has stopped watching.
Sockets are looked at, twice a second, rather than watched: a folder can itself be replaced, and a look costs nothing.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
import structlog

from shoal.gpu.plugin import protocol
from shoal.gpu.plugin.devices import Device, Source, SourceError
from shoal.gpu.plugin.service import Service

log = structlog.get_logger()

LOOK_SECONDS = 0.5
REGISTER_SECONDS = 10.0
LONGEST_PATH = 107
"""Of a Unix socket, in bytes."""

Identity = tuple[int, int, int]
Companion = Callable[[Callable[[], Sequence[Device]]], Coroutine[Any, Any, None]]
"""What runs beside the plugin and may ask for the devices as they are, such as a labeller of nodes."""


class PluginError(Exception):
    """The plugin cannot work like this."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Settings:
    """`resource` is what pods ask for, `socket_name` the plugin's own file in the kubelet's folder."""

    resource: str
    socket_name: str
    folder: Path
    pre_start: bool = False
    check_seconds: float = 5.0

    @property
    def socket(self) -> Path:
        return self.folder / f"{self.socket_name.removesuffix('.sock')}.sock"

    @property
    def kubelet(self) -> Path:
        return self.folder / "kubelet.sock"


async def run_plugin(settings: Settings, source: Source, *companions: Companion) -> None:
    """Serve until SIGTERM or SIGINT. Raises PluginError where the kubelet refuses the plugin, and SourceError where
    there are no devices to begin with."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    _check(settings)
    service = Service(source, await asyncio.to_thread(source.devices), settings.pre_start)
    if not service.devices:
        log.warning("no devices", resource=settings.resource)
    work = (_stay_registered(settings, service), _look_after(settings, source, service))
    beside = (each(lambda: service.devices) for each in companions)
    tasks: list[asyncio.Task[Any]] = [asyncio.create_task(each) for each in (*work, *beside, ended.wait())]
    done, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for each in others:
        each.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for each in done:
        each.result()
    log.info("ended")


def _check(settings: Settings) -> None:
    path = os.fspath(settings.socket)
    if not settings.folder.is_dir():
        raise PluginError(f"there is no folder {settings.folder}", "is a kubelet on this node? --kubelet-folder")
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise PluginError(f"{path}: longer than the {LONGEST_PATH} bytes of a socket's path", "choose a shorter one")
    with socket.socket(socket.AF_UNIX) as other, suppress(OSError):
        other.connect(path)
        raise PluginError(f"another plugin listens on {path}", "end it first, or choose another SOCKET_NAME")


async def _look_after(settings: Settings, source: Source, service: Service) -> None:
    told = ""
    while True:
        try:
            await service.update(await asyncio.to_thread(source.devices))
            told = ""
        except SourceError as fault:
            if str(fault) != told:
                log.error("the devices do not answer, so none is healthy", fault=str(fault), hint=fault.hint)
            told = str(fault)
            await service.update(replace(each, healthy=False) for each in service.devices)
        await asyncio.sleep(settings.check_seconds)


async def _stay_registered(settings: Settings, service: Service) -> None:
    while True:
        await _be_registered(settings, service)
        log.info("beginning anew: the kubelet is another one, or does not watch any more")


async def _be_registered(settings: Settings, service: Service) -> None:
    """With one kubelet, until it is gone."""
    async with _listening(settings.socket, service) as own:
        told, watched = "", service.watched
        while fault := await _unregistered(settings, service.options, kubelet := _identity(settings.kubelet)):
            if fault != told:
                log.warning("waiting for the kubelet", fault=fault)
            told = fault
            await asyncio.sleep(LOOK_SECONDS)
            if _identity(settings.socket) != own:
                return
        while (_identity(settings.kubelet), _identity(settings.socket)) == (kubelet, own):
            if service.watched > watched and not service.watching:
                return
            await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def _listening(path: Path, service: Service) -> AsyncIterator[Identity | None]:
    """A server on a new socket. gRPC removes what a killed one has left, and in the end its own."""
    server = grpc.aio.server(handlers=[service.handler()])
    server.add_insecure_port(f"unix:{path}")
    await server.start()
    try:
        yield _identity(path)
    finally:
        await server.stop(grace=None)


async def _unregistered(settings: Settings, options: Any, kubelet: Identity | None) -> str:
    """Register. Answers why the kubelet has not taken the plugin; raises PluginError where it never will."""
    if not kubelet:
        return f"there is no {settings.kubelet}"
    request = protocol.RegisterRequest(
        version=protocol.VERSION, endpoint=settings.socket.name, resource_name=settings.resource, options=options
    )
    # gRPC would name the path as the authority, which a server written in Go refuses.
    target, authority = f"unix:{settings.kubelet}", [("grpc.default_authority", "localhost")]
    async with grpc.aio.insecure_channel(target, options=authority) as channel:
        register: Any = channel.unary_unary(
            protocol.REGISTER, lambda message: message.SerializeToString(), protocol.Empty.FromString
        )
        try:
            await register(request, timeout=REGISTER_SECONDS)
        except grpc.aio.AioRpcError as fault:
            if fault.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                return fault.details() or fault.code().name
            raise PluginError(
                f"the kubelet refuses {settings.resource}: {fault.details()}", "its log may tell more"
            ) from fault
    log.info("registered", resource=settings.resource, socket=settings.socket.name)
    return ""


def _identity(path: Path) -> Identity | None:
    """Tells a socket from another that was made in its place."""
    try:
        about = path.stat()
    except FileNotFoundError:
        return None
    return about.st_dev, about.st_ino, about.st_ctime_ns
