"""The fundamental types of PTX: what an instruction's last modifier says of the bits in a register."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """`kind` is b (bits), u, s, f (IEEE), bf (bfloat16) or p (predicate). `lanes` is 2 for packed types."""

    name: str
    kind: str
    bits: int
    lanes: int = 1

    @property
    def bytes(self) -> int:
        return (self.bits + 7) // 8

    @property
    def signed(self) -> bool:
        return self.kind == "s"

    @property
    def floating(self) -> bool:
        return self.kind in ("f", "bf")

    @property
    def integer(self) -> bool:
        return self.kind in ("u", "s", "b")


def _types() -> dict[str, Type]:
    found = {}
    for bits in (8, 16, 32, 64):
        for kind in ("b", "u", "s"):
            found[f"{kind}{bits}"] = Type(f"{kind}{bits}", kind, bits)
    found["b128"] = Type("b128", "b", 128)
    for bits in (16, 32, 64):
        found[f"f{bits}"] = Type(f"f{bits}", "f", bits)
    found["bf16"] = Type("bf16", "bf", 16)
    found["f16x2"] = Type("f16x2", "f", 32, 2)
    found["bf16x2"] = Type("bf16x2", "bf", 32, 2)
    found["u16x2"] = Type("u16x2", "u", 32, 2)
    found["s16x2"] = Type("s16x2", "s", 32, 2)
    found["pred"] = Type("pred", "p", 1)
    return found


TYPES = _types()
"""By the name that a modifier has, without its dot."""
