"""Long `dense<[...]>` literals of plain decimal numbers, read at once.

xDSL makes a token, a span and an object of each number: 9 s and 600 MB for a million. What is not
certainly right here is left to it, so that its messages are the only ones.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute

LONG = 2000  # characters, from which on NumPy is worth its import
_LITERAL = re.compile(r"\[[\[\]\s,0-9.eE+-]*+(?<=\])")
_ODD = re.compile(r"(?<![eE])\+|(?<![0-9])\.|\.\s*\.")  # NumPy reads these, MLIR does not
_NUMBERS = re.compile(r"[^\[\],]+")
_FLOATS = {Float16Type: "<f2", Float32Type: "<f4", Float64Type: "<f8"}
_WIDTHS = (8, 16, 32, 64)


def literal_end(content: str, start: int) -> int | None:
    """Return where a long literal that starts at a place ends; None if it is short or odd."""
    match = _LITERAL.match(content, start)
    return match.end() if match and match.end() - start >= LONG else None


def read_literal(text: str, type: Any) -> DenseIntOrFPElementsAttr | None:
    """Return the attribute that a literal of a type spells; None if that is not certain."""
    dtype, shape = _dtype_of(type.get_element_type()), tuple(type.get_shape())
    if dtype is None or not shape or prod(shape) < 1 or _ODD.search(text):
        return None
    if _NUMBERS.sub("", text) != _brackets(shape):
        return None
    numbers = _numbers(re.sub(r"[\[\]]", " ", text), dtype, prod(shape))
    if numbers is None:
        return None
    return DenseIntOrFPElementsAttr(type, BytesAttr(numbers.tobytes()))


def _dtype_of(element: Attribute) -> str | None:
    """Return how elements of a type are stored; None for types that are seldom spelled."""
    if isinstance(element, IndexType):
        return "<i8"
    if not isinstance(element, IntegerType):
        return _FLOATS.get(type(element))  # pyright: ignore[reportArgumentType]  # the rows
    integer = cast(IntegerType[int, Signedness], element)
    width, unsigned = integer.width.data, integer.signedness.data is Signedness.UNSIGNED
    return None if unsigned or width not in _WIDTHS else f"<i{width // 8}"


def _brackets(shape: Sequence[int]) -> str:
    """Return the brackets and commas of a literal of a shape."""
    text = ""
    for size in reversed(shape):
        text = f"[{','.join([text] * size)}]"
    return text


def _numbers(text: str, dtype: str, count: int) -> Any:
    """Return the numbers of a text as an array; None if not all are of the type."""
    import numpy as np

    is_float = dtype[1] == "f"
    if text.count(".") != (count if is_float else 0) or (not is_float and "e" in text.lower()):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            numbers = np.fromstring(text, np.float64 if is_float else np.int64, sep=",")
        except (DeprecationWarning, ValueError, OverflowError):
            return None
        if len(numbers) != count:
            return None
    with np.errstate(over="ignore", under="ignore"):
        rounded = numbers.astype(dtype)
    if is_float:
        return None if np.isinf(rounded).any() else rounded
    widest = np.iinfo(np.int64)  # larger ones, which unsigned ones may be, become these
    if (numbers == widest.max).any() or (numbers == widest.min).any():
        return None
    return rounded if (rounded == numbers).all() else None
