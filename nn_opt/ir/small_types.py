"""Element types of fewer bits than an integer or float that machines know: below 8, and float8.

An element takes a byte in memory, its bits at the low end; what the others are does not matter.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    IntegerType,
    ReducedPrecisionFloatType,
    Signedness,
)
from xdsl.ir import Attribute

from nn_opt.ir.memory import remembered
from nn_opt.ir.types import UNSIGNED

# By the names that NumPy has of them through ml_dtypes.
SMALL_FLOATS: dict[str, ReducedPrecisionFloatType] = {
    "float8_e4m3fn": Float8E4M3FNType(),
    "float8_e4m3fnuz": Float8E4M3FNUZType(),
    "float8_e5m2": Float8E5M2Type(),
    "float8_e5m2fnuz": Float8E5M2FNUZType(),
    "float8_e8m0fnu": Float8E8M0FNUType(),
    "float6_e2m3fn": Float6E2M3FNType(),
    "float6_e3m2fn": Float6E3M2FNType(),
    "float4_e2m1fn": Float4E2M1FNType(),
}
SMALL_INTEGERS: dict[str, IntegerType[int, Signedness]] = {
    "int4": IntegerType(4),
    "uint4": UNSIGNED[4],
    "int2": IntegerType(2),
    "uint2": UNSIGNED[2],
}
SMALL: dict[str, Attribute] = {**SMALL_FLOATS, **SMALL_INTEGERS}
_FLOATS = frozenset(SMALL_FLOATS.values())
_INTEGERS = frozenset(SMALL_INTEGERS.values())
E8M0 = SMALL_FLOATS["float8_e8m0fnu"]  # powers of two: no sign, no zero


@remembered
def is_small_float(element: Attribute) -> bool:
    """Return whether an element type is a float of 8, 6 or 4 bits."""
    return element in _FLOATS


@remembered
def is_small_integer(element: Attribute) -> bool:
    """Return whether an element type is an integer of 4 or 2 bits."""
    return element in _INTEGERS


@remembered
def is_small(element: Attribute) -> bool:
    """Return whether elements are bytes in memory, but not integers of 8 bits."""
    return element in _FLOATS or element in _INTEGERS


def bits_of(element: Attribute) -> int:
    """Return how many bits of its byte an element of a small type has."""
    return cast(ReducedPrecisionFloatType, element).bitwidth
