"""LLVM's text to machine code for this computer."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from shoal.cuda.soft.compile import scheduler

_LOCK = threading.Lock()
"""LLVM is used by one thread at a time."""


class Machine:
    """Machine code, kept as long as this object is."""

    def __init__(self, text: str) -> None:
        with _LOCK:
            target = _target()
            module = llvm.parse_assembly(text)
            module.verify()
            options = llvm.create_pipeline_tuning_options(speed_level=2)
            builder = llvm.create_pass_builder(target, options)
            builder.getModulePassManager().run(module, builder)
            self.engine: Any = llvm.create_mcjit_compiler(module, _machine())
            self.engine.finalize_object()

    def address(self, name: str) -> int:
        return int(self.engine.get_function_address(name))


def _machine() -> Any:
    host = llvm.Target.from_default_triple()
    return host.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )


@cache
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return _machine()


@cache
def run_address() -> int:
    """Of the function that runs blocks."""
    machine = Machine(scheduler.text())
    _KEPT.append(machine)
    return machine.address("run")


_KEPT: list[Machine] = []
