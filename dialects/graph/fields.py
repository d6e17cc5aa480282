"""Properties of graph ops: Python values to attributes, and how they read in the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    Float32Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer

Ints = DenseArrayBase[IntegerType]
Floats = DenseArrayBase[Float32Type]
Int = IntegerAttr[IntegerType | IndexType]
Float = FloatAttr[AnyFloat]

INTS: AttrConstraint[Ints] = DenseArrayBase.constr(i64)
FLOATS: AttrConstraint[Floats] = DenseArrayBase.constr(f32)
INT = IntegerAttr.constr(i64)
FLOAT = FloatAttr.constr(f32)

NON_FINITE = {"nan": float("nan"), "inf": float("inf"), "minus_inf": float("-inf")}


def ints_def() -> Ints:
    """Declare a property `name [1, 2]`."""
    return prop_def(INTS)


def floats_def() -> Floats:
    """Declare a property `name [1.0, 2.0]`."""
    return prop_def(FLOATS)


def int_def() -> Int:
    """Declare a property `name 1`."""
    return prop_def(INT)


def float_def() -> Float:
    """Declare a property `name 1.0`."""
    return prop_def(FLOAT)


def opt_floats_def() -> Floats | None:
    """Declare a property `name [1.0, 2.0]` that may be absent."""
    return opt_prop_def(FLOATS)


def opt_int_def() -> Int | None:
    """Declare a property `name 1` that may be absent."""
    return opt_prop_def(INT)


def text_def() -> StringAttr:
    """Declare a property `name "text"`."""
    return prop_def(StringAttr)


def opt_text_def() -> StringAttr | None:
    """Declare a property `name "text"` that may be absent."""
    return opt_prop_def(StringAttr)


def flag_def() -> UnitAttr | None:
    """Declare a property that is the bare word `name` if set."""
    return opt_prop_def(UnitAttr)


def ints(values: Sequence[int]) -> Ints:
    """Return the attribute of a list of integers."""
    return DenseArrayBase.from_list(i64, [int(value) for value in values])


def floats(values: Sequence[float]) -> Floats:
    """Return the attribute of a list of floats."""
    return DenseArrayBase.from_list(f32, [float(value) for value in values])


def integer(value: int) -> Int:
    """Return the attribute of an integer."""
    return IntegerAttr(int(value), i64)


def real(value: float) -> Float:
    """Return the attribute of a float, rounded to f32."""
    return FloatAttr(float(value), f32)


def text(value: str) -> StringAttr:
    """Return the attribute of a text."""
    return StringAttr(value)


def opt_text(value: str) -> StringAttr | None:
    """Return the attribute of a text, None for the empty one."""
    return StringAttr(value) if value else None


def flag(value: bool) -> UnitAttr | None:
    """Return the attribute of a flag: None if it is not set."""
    return UnitAttr() if value else None


def float_text(value: float) -> str:
    """Return the shortest decimal that reads back as the same f32, always with a point."""
    for word, special in NON_FINITE.items():
        if value == special or (value != value and special != special):
            return word
    digits = str(np.float32(value))
    if "." in digits:
        return digits
    mantissa, letter, exponent = digits.partition("e")
    return f"{mantissa}.0{letter}{exponent}"


def print_field(printer: Printer, name: str, value: Attribute) -> None:
    """Print ` name value`; a flag is its bare name."""
    printer.print_string(f" {name}")
    match value:
        case UnitAttr():
            return
        case StringAttr():
            printer.print_string(" ")
            printer.print_string_literal(value.data)
        case IntegerAttr():
            printer.print_string(f" {value.value.data}")
        case FloatAttr():
            printer.print_string(f" {float_text(value.value.data)}")
        case DenseArrayBase():
            numbers = cast(Floats, value).iter_values()  # iterates over integers just as well
            printer.print_string(f" [{', '.join(map(_number_text, numbers))}]")
        case _:
            printer.print_string(" ")
            printer.print_attribute(value)


def _number_text(value: float) -> str:
    return float_text(value) if isinstance(value, float) else str(value)


def _parse_number(parser: Parser) -> int | float:
    word = parser.parse_optional_keyword_in(NON_FINITE)
    return parser.parse_number() if word is None else NON_FINITE[word]


def _optional_number(parser: Parser) -> int | float | None:
    word = parser.parse_optional_keyword_in(NON_FINITE)
    return parser.parse_optional_number() if word is None else NON_FINITE[word]


def parse_field(parser: Parser) -> Attribute:
    """Parse the value after a name: a text, number, list of numbers, or nothing (a flag)."""
    literal = parser.parse_optional_str_literal()
    if literal is not None:
        return StringAttr(literal)
    number = _optional_number(parser)
    if number is not None:
        return real(number) if isinstance(number, float) else integer(number)
    numbers = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _parse_number(parser)
    )
    if numbers is None:
        return UnitAttr()
    if any(isinstance(value, float) for value in numbers):
        return floats(numbers)
    return ints([int(value) for value in numbers])
