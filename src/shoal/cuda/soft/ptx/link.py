"""Several modules to one, and where its variables lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.cuda.soft.ptx.tree import Module, Name, Number, PtxError, Real, Variable


def link(modules: Sequence[Module]) -> Module:
    """One module in which what one declares `.extern` is what another defines."""
    merged = Module(max(module.version for module in modules), modules[0].target)
    for module in modules:
        for name, function in module.functions.items():
            known = merged.functions.get(name)
            if known is None or known.body is None:
                merged.functions[name] = function
        for name, variable in module.variables.items():
            known_variable = merged.variables.get(name)
            if known_variable is None or known_variable.extern:
                merged.variables[name] = variable
    for variable in merged.variables.values():
        if variable.extern and variable.space != "shared":
            raise PtxError(f"{variable.name} is declared .extern, and no image defines it", variable.line)
    return merged


@dataclass(frozen=True, slots=True)
class Image:
    """The bytes that a module's variables start with. `places` holds offset and size of each by name; `addresses` are
    the offsets of 64 bits to which the image's own address is added."""

    data: bytes
    places: dict[str, tuple[int, int]]
    addresses: tuple[int, ...]


def image(module: Module) -> Image:
    places: dict[str, tuple[int, int]] = {}
    end = 0
    variables = [variable for variable in module.variables.values() if variable.space in ("global", "const")]
    for variable in variables:
        start = -(-end // max(variable.align, 16)) * max(variable.align, 16)
        places[variable.name] = (start, variable.size)
        end = start + variable.size
    data = bytearray(end)
    addresses: list[int] = []
    for variable in variables:
        _initial(variable, places, data, addresses)
    return Image(bytes(data), places, tuple(addresses))


def _initial(variable: Variable, places: dict[str, tuple[int, int]], data: bytearray, addresses: list[int]) -> None:
    step = variable.type.bytes
    at, size = places[variable.name]
    if len(variable.initial) * step > size:
        raise PtxError(f"{variable.name} starts with more values than it holds", variable.line)
    for value in variable.initial:
        match value:
            case Number(number):
                if number and variable.type.floating:
                    raise PtxError(f"{variable.name}: {number} is no real number; write {number}.0", variable.line)
                data[at : at + step] = (number & (1 << 8 * step) - 1).to_bytes(step, "little")
            case Real():
                found = value.of(8 * step)
                if found is None:
                    raise PtxError(f"{variable.name}: a constant of {value.bits} bits for {step} bytes", variable.line)
                data[at : at + step] = found.to_bytes(step, "little")
            case Name(text, _, offset):
                if text not in places or step != 8:
                    raise PtxError(f"{variable.name}: the address of {text} cannot stand here", variable.line)
                data[at : at + 8] = (places[text][0] + offset).to_bytes(8, "little")
                addresses.append(at)
        at += step
