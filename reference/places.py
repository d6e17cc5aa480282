"""Affine maps as functions, buffers as parts of flat arrays, and where an access lands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr, MemRefType
from xdsl.ir import Operation
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from nn_opt.dialects import loop
from nn_opt.ir.resources import Array
from nn_opt.ir.types import element_type, numpy_dtype

Index = Any  # an int, or an array of them
Maps = dict[tuple[Operation, str], Callable[[Sequence[Index]], Sequence[Index]]]
OPERATORS = {
    AffineBinaryOpKind.Add: "({} + {})",
    AffineBinaryOpKind.Mul: "({} * {})",
    AffineBinaryOpKind.FloorDiv: "({} // {})",
    AffineBinaryOpKind.Mod: "({} % {})",
    AffineBinaryOpKind.CeilDiv: "-(-{} // {})",
}


def spelled(expr: AffineExpr) -> str:
    """Return an affine expression as Python over a sequence `v`."""
    match expr:
        case AffineConstantExpr(value=value):
            return str(value)
        case AffineDimExpr(position=position):
            return f"v[{position}]"
        case AffineBinaryOpExpr(kind=kind, lhs=left, rhs=right):
            return OPERATORS[kind].format(spelled(left), spelled(right))
        case _:
            raise AssertionError(f"an access has no symbols: {expr}")


def compiled(map: AffineMapAttr) -> Callable[[Sequence[Index]], Sequence[Index]]:
    """Return an affine map as a function from a sequence of values."""
    body = "".join(f"{spelled(expr)}, " for expr in map.data.results)
    return eval(f"lambda v: ({body})")


@dataclass(frozen=True)
class Buffer:
    """A buffer inside a flat array, from `start` on: an int, or one for each lane."""

    flat: Array
    start: Index
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def array(self) -> Array:
        """Return the elements as an array that is written in place."""
        return self.flat[self.start : self.start + self.size].reshape(self.shape)


def buffer_of(array: Array) -> Buffer:
    """Return the buffer that an array is."""
    flat = array.reshape(-1)
    assert flat.size == 0 or np.shares_memory(flat, array), "buffers are contiguous"
    return Buffer(flat, 0, array.shape)


def unwritten(count: int, type_: MemRefType[Any]) -> Array:
    """Return elements that show up as wrong where they are read before they are written."""
    dtype = numpy_dtype(element_type(type_))
    if dtype.kind in "fV":
        return np.full(count, np.nan, dtype)
    if dtype.kind == "b":
        return np.ones(count, dtype)
    return np.full(count * dtype.itemsize, 0xAB, np.uint8).view(dtype)


def all_of(conditions: Iterable[Any]) -> Any:
    """Return whether all hold: True or False, or an array where lanes differ."""
    result: Any = True
    for condition in conditions:
        if isinstance(condition, bool | np.bool_):
            if not condition:
                return False
        else:
            result = condition if result is True else result & condition
    return True if result is not True and np.all(result) else result


def locate(
    buffer: Buffer, indices: Sequence[Index], vector: tuple[int, int] | None, *, each: bool
) -> tuple[Index, Any]:
    """Return where the elements are in the flat array, and whether they are inside.

    each: every index must be inside, also those of a vector's lanes; else only the vector as a
    whole must be.
    """
    if vector is None:
        place, inside = _offset(buffer.shape, indices)
        return buffer.start + place, inside
    lanes, stride = vector
    steps = np.arange(lanes)
    indices = [np.asarray(index)[..., None] for index in indices]
    start = np.asarray(buffer.start)[..., None]
    moving = loop.lane_dimension(buffer.shape, stride) if each else None
    if moving is not None:
        indices[moving[0]] = indices[moving[0]] + steps * moving[1]
        place, inside = _offset(buffer.shape, indices)
        return start + place, inside
    place, _ = _offset(buffer.shape, indices)
    place = place + steps * stride
    inside = all_of([(place >= 0) & (place < buffer.size)])
    return start + place, inside


def _offset(shape: Sequence[int], indices: Sequence[Index]) -> tuple[Index, Any]:
    place: Index = 0
    tests: list[Any] = []
    for index, size in zip(indices, shape, strict=True):
        place = place * size + index
        if isinstance(index, int):
            tests.append(0 <= index < size)
        else:
            tests.append((index >= 0) & (index < size))
    return place, all_of(tests)


def pick(index: Index, shape: Sequence[int], where: Sequence[int]) -> int:
    """Return the index of one lane."""
    full = np.broadcast_to(index, shape) if np.ndim(index) <= len(shape) else np.asarray(index)
    return int(full[tuple(where)] if full.ndim else full)
