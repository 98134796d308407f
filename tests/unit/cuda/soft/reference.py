"""Floating-point arithmetic by fractions of Python's whole numbers: exact, then rounded once in any direction.

A number is its bits. What is not a number has no bits of its own here: `NAN` stands for all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

NAN = "NaN"
Exact = Fraction | float
"""A fraction, or what no fraction is: an infinity, a zero with its sign, or a NaN."""


@dataclass(frozen=True)
class Format:
    """`precision` counts the leading bit that is not stored."""

    bits: int
    precision: int

    @property
    def mantissa(self) -> int:
        return self.precision - 1

    @property
    def bias(self) -> int:
        return (1 << self.bits - self.precision - 1) - 1

    @property
    def infinity(self) -> int:
        return (1 << self.bits - self.precision) - 1 << self.mantissa

    @property
    def sign(self) -> int:
        return 1 << self.bits - 1

    def value(self, pattern: int) -> Exact:
        negative, magnitude = pattern & self.sign, pattern & self.sign - 1
        if magnitude > self.infinity:
            return math.nan
        if magnitude == self.infinity:
            return -math.inf if negative else math.inf
        if magnitude == 0:
            return -0.0 if negative else 0.0
        exponent, fraction = magnitude >> self.mantissa, magnitude & (1 << self.mantissa) - 1
        if exponent:
            fraction |= 1 << self.mantissa
        found = Fraction(fraction) * Fraction(2) ** (max(exponent, 1) - self.bias - self.mantissa)
        return -found if negative else found

    def round(self, value: Exact, direction: str = "rn") -> int | str:
        """The bits of the nearest number in a direction: rn (to even), rz, rm or rp."""
        if isinstance(value, float):
            if math.isnan(value):
                return NAN
            sign = self.sign if math.copysign(1, value) < 0 else 0
            if value == 0:
                return sign
            if math.isinf(value):
                return sign | self.infinity
            value = Fraction(value)
        if value == 0:
            return self.sign if direction == "rm" else 0
        negative = value < 0
        magnitude = abs(value)
        exponent = _floor_log2(magnitude)
        step = Fraction(2) ** (max(exponent, 1 - self.bias) - self.mantissa)
        whole, rest = divmod(magnitude, step)
        up = {
            "rn": rest * 2 > step or (rest * 2 == step and whole % 2 == 1),
            "rz": False,
            "rm": negative and rest > 0,
            "rp": not negative and rest > 0,
        }[direction]
        whole += up
        # The stored bits of consecutive numbers are consecutive, over the boundaries of exponents too.
        pattern = int(whole) + (max(exponent, 1 - self.bias) + self.bias - 1 << self.mantissa)
        if pattern >= self.infinity:
            away = direction == "rn" or (direction == "rp" and not negative) or (direction == "rm" and negative)
            pattern = self.infinity if away else self.infinity - 1
        return pattern | (self.sign if negative else 0)

    def flushed(self, pattern: int | str) -> int | str:
        if isinstance(pattern, str) or pattern & self.infinity:
            return pattern
        return pattern & self.sign


F16, BF16, F32, F64 = Format(16, 11), Format(16, 8), Format(32, 24), Format(64, 53)
FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}


def _floor_log2(value: Fraction) -> int:
    found = value.numerator.bit_length() - value.denominator.bit_length()
    return found if Fraction(2) ** found <= value else found - 1


def add(left: Exact, right: Exact, direction: str = "rn") -> Exact:
    if _special(left, right):
        if left == right == 0 and math.copysign(1, left) != math.copysign(1, right):
            return -0.0 if direction == "rm" else 0.0
        if isinstance(left, Fraction) and right == 0:
            return left
        if isinstance(right, Fraction) and left == 0:
            return right
        return _float(left) + _float(right)
    return Fraction(left) + Fraction(right)


def multiply(left: Exact, right: Exact) -> Exact:
    if _special(left, right):
        return _float(left) * _float(right)
    return Fraction(left) * Fraction(right)


def divide(left: Exact, right: Exact) -> Exact:
    if not _special(left, right):
        return Fraction(left) / Fraction(right)
    left, right = _float(left), _float(right)
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


def root(value: Exact, format_: Format, direction: str) -> int | str:
    """The square root, which is no fraction: enough bits of it, and one more where there are others."""
    if isinstance(value, float):
        return format_.round(value if value == 0 or value == math.inf else math.nan)
    if value < 0:
        return NAN
    shift = 1000
    scaled = (value.numerator << 2 * shift) // value.denominator
    whole = math.isqrt(scaled)
    exact = whole * whole == scaled and (value.numerator << 2 * shift) % value.denominator == 0
    return format_.round(Fraction(2 * whole + (not exact), 2) / Fraction(2) ** shift, direction)


def _special(left: Exact, right: Exact) -> bool:
    return isinstance(left, float) or isinstance(right, float)


def _float(value: Exact) -> float:
    """For combining with a zero, an infinity or a NaN, a number's sign is enough."""
    if isinstance(value, float):
        return value
    return -1.0 if value < 0 else 1.0
