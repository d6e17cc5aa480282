"""Scalar constants inside custom syntax: `0.0`, `-inf`, `3`, whose type the context gives."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.hints import isa

Scalar = float | int


def parse_scalar(parser: Parser) -> Scalar:
    """Parse a number, `inf`, `-inf`, `nan`, `true` or `false`."""
    negative = parser.parse_optional_punctuation("-") is not None
    for word, value in (("inf", math.inf), ("nan", math.nan), ("true", 1), ("false", 0)):
        if parser.parse_optional_keyword(word):
            return -value if negative else value
    number = parser.parse_number()
    assert not isinstance(number, complex)
    if negative and number == 0 and isinstance(number, float):
        return -0.0
    return -number if negative else number


def scalar_attr(value: Scalar, type_: Attribute) -> FloatAttr | IntegerAttr:
    """Return the attribute of a number of the given element type."""
    if isinstance(type_, AnyFloat):
        return FloatAttr(float(value), type_)
    if isinstance(type_, IndexType):
        return IntegerAttr(int(value), type_)
    assert isa(type_, IntegerType)
    return IntegerAttr(int(value), type_)


def scalar_value(attr: Attribute) -> Scalar:
    """Return the number of an attribute made by `scalar_attr`."""
    assert isinstance(attr, FloatAttr | IntegerAttr)
    return attr.value.data


def print_scalar(printer: Printer, attr: Attribute) -> None:
    """Print the number alone, so that `parse_scalar` reads the same bits back."""
    value = scalar_value(attr)
    if isinstance(value, float):
        mantissa, e, exponent = repr(value).partition("e")
        point = "" if "." in mantissa or not math.isfinite(value) else ".0"
        printer.print_string(f"{mantissa}{point}{e}{exponent}")
    else:
        printer.print_string(str(value))
