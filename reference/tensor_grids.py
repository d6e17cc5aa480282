"""Index spaces as NumPy grids: boxes of a bounded size, and index expressions over them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from nn_opt.ir.resources import Array

POINTS_AT_ONCE = 1 << 21  # of an index space; at 8 bytes and a few temporaries, some 64 MB
Box = tuple[slice, ...]

BINARY: dict[AffineBinaryOpKind, Callable[[Any, Any], Any]] = {
    AffineBinaryOpKind.Add: lambda a, b: a + b,
    AffineBinaryOpKind.Mul: lambda a, b: a * b,
    AffineBinaryOpKind.FloorDiv: lambda a, b: a // b,
    AffineBinaryOpKind.Mod: lambda a, b: a % b,
    AffineBinaryOpKind.CeilDiv: lambda a, b: -(-a // b),
}


def evaluate_index(expr: AffineExpr, dimensions: Sequence[Any]) -> Any:
    """Return an index expression over grids of the dimensions' values."""
    match expr:
        case AffineConstantExpr(value=value):
            return np.int64(value)
        case AffineDimExpr(position=position):
            return dimensions[position]
        case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
            return BINARY[kind](evaluate_index(lhs, dimensions), evaluate_index(rhs, dimensions))
        case _:
            raise AssertionError(f"an access has no symbols: {expr}")


def boxes(sizes: Sequence[int], points: int = POINTS_AT_ONCE) -> Iterator[Box]:
    """Cut an index space, in row-major order, into boxes of about so many points at most."""
    if 0 in sizes:
        return
    if math.prod(sizes) <= points:
        yield tuple(slice(0, size) for size in sizes)
        return
    first, rest = sizes[0], sizes[1:]
    step = max(1, points // math.prod(rest))
    for start in range(0, first, step):
        for inner in boxes(rest, points):
            yield (slice(start, min(start + step, first)), *inner)


def grids(box: Box) -> list[Array]:
    """Return the indices along each axis of a box, each broadcasting along the others."""
    rank = len(box)
    sizes = extents(box)
    return [
        np.arange(box[axis].start, box[axis].stop, dtype=np.int64).reshape(
            [sizes[axis] if i == axis else 1 for i in range(rank)]
        )
        for axis in range(rank)
    ]


def extents(box: Box) -> tuple[int, ...]:
    return tuple(cut.stop - cut.start for cut in box)
