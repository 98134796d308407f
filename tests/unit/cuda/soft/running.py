"""Run compiled kernels with nothing but memory of numpy: the least that `compile/compiled.py` asks of a runtime."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence

import numpy as np

from shoal.cuda.soft.compile.compiled import ALIGN, Fault, Kernel, Program, compile_ptx, run_address
from shoal.cuda.soft.compile.layout import GRANULE, Block, Launch, Thread

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"

_CALL = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_uint64] * 5
)


def aligned(size: int) -> np.ndarray:
    whole = np.zeros(size + GRANULE, np.uint8)
    return whole[-whole.ctypes.data % GRANULE :][:size]


def compiled(*texts: str) -> Program:
    return compile_ptx(texts)


class Gpu:
    """One range of global memory. `asked` collects what kernels ask of the host: number and arguments."""

    def __init__(self, program: Program, memory: int = 1 << 20) -> None:
        self.program = program
        self.memory = aligned(memory)
        self.map = np.zeros(memory // GRANULE + 1, np.uint16)
        self.end = 0
        self.asked: list[tuple[int, list[int]]] = []
        image = self.program.image
        self.image = self.allocate(max(len(image.data), 1))
        self.view(self.image, len(image.data))[:] = np.frombuffer(image.data, np.uint8)
        for at in image.addresses:
            self.view(self.image + at, 8).view(np.uint64)[:] += np.uint64(self.image)

    def allocate(self, size: int) -> int:
        start = self.end
        whole, rest = divmod(size, GRANULE)
        self.map[start // GRANULE :][:whole] = GRANULE
        if rest:
            self.map[start // GRANULE + whole] = rest
        self.end = start + (whole + (rest > 0)) * GRANULE
        assert self.end <= len(self.memory)
        return int(self.memory.ctypes.data) + start

    def view(self, address: int, size: int) -> np.ndarray:
        start = address - int(self.memory.ctypes.data)
        return self.memory[start : start + size]

    def give(self, values: np.ndarray) -> int:
        address = self.allocate(max(values.nbytes, 1))
        self.view(address, values.nbytes)[:] = values.reshape(-1).view(np.uint8)
        return address

    def take(self, address: int, like: np.ndarray) -> np.ndarray:
        return self.view(address, like.nbytes).view(like.dtype).reshape(like.shape).copy()

    def variable(self, name: str) -> np.ndarray:
        offset, size = self.program.image.places[name]
        return self.view(self.image + offset, size)

    def launch(
        self,
        name: str,
        grid: int | tuple[int, int, int],
        block: int | tuple[int, int, int],
        *arguments: int | np.generic,
        shared: int = 0,
        workers: int = 1,
        stop_after: float | None = None,
    ) -> Fault | None:
        """An argument is an address, or a number of numpy of the parameter's size."""
        kernel = self.program.kernels[name]
        launch, kept = self._launch(kernel, grid, block, arguments, shared)
        run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(run_address())

        def work(number: int) -> None:
            memory = [
                aligned(max(size, 1))
                for size in (
                    launch.threads * kernel.record_bytes,
                    launch.shared_bytes,
                    launch.threads * launch.local_bytes,
                )
            ]
            for part in memory:
                part[:] = 0xCD  # nothing of it may be read before it is written
            own = Block(*(int(part.ctypes.data) for part in memory))
            own.worker = number
            run(ctypes.addressof(launch), ctypes.addressof(own))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
        for thread in threads:
            thread.start()
        if stop_after is not None:
            threads[0].join(stop_after)
            launch.stop = 1
        for thread in threads:
            thread.join()
        del kept
        return Fault.of(launch)

    def _launch(
        self,
        kernel: Kernel,
        grid: int | tuple[int, int, int],
        block: int | tuple[int, int, int],
        arguments: Sequence[int | np.generic],
        shared: int,
    ) -> tuple[Launch, object]:
        parameters = aligned(max(kernel.parameter_bytes, 1))
        assert len(arguments) == len(kernel.parameters)
        for (offset, size), argument in zip(kernel.parameters, arguments, strict=True):
            data = argument.tobytes() if isinstance(argument, np.generic) else argument.to_bytes(8, "little")
            assert len(data) == size, (kernel.name, offset, size)
            parameters[offset : offset + size] = np.frombuffer(data, np.uint8)
        grids = grid if isinstance(grid, tuple) else (grid, 1, 1)
        sizes = block if isinstance(block, tuple) else (block, 1, 1)

        @_CALL
        def call(what: int, _launch: int, _block: int, thread: int, *values: int) -> int:
            assert ctypes.cast(thread, ctypes.POINTER(Thread)).contents.linear < 1024
            self.asked.append((what, list(values)))
            return 7

        launch = Launch(
            code=kernel.code,
            blocks=int(np.prod(grids)),
            grid=grids,
            block=sizes,
            threads=int(np.prod(sizes)),
            stride=kernel.record_bytes,
            base=int(self.memory.ctypes.data),
            granules=len(self.memory) // GRANULE,
            map=int(self.map.ctypes.data),
            image=self.image,
            parameters=int(parameters.ctypes.data),
            parameter_bytes=kernel.parameter_bytes,
            shared_bytes=kernel.shared_bytes + shared,
            local_bytes=kernel.local_bytes,
            dynamic_bytes=shared,
            number=1,
            processors=3,
            call=ctypes.cast(call, ctypes.c_void_p).value,
        )
        assert ALIGN <= GRANULE
        return launch, (parameters, call)


def string_at(address: int) -> str:
    return ctypes.string_at(address).decode()
