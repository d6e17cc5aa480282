"""Resampling: each axis in turn, by tables of indices and weights made at compile time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr

from nn_opt.conversion.to_tensor.body import Array, Body, Index
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.scalar import F64, INDEX, Scalar, constant, working
from nn_opt.dialects import graph
from nn_opt.dialects.graph.resampling import Taps
from nn_opt.ir.types import numpy_dtype, shape_of
from nn_opt.reference.graph_movement import resize_taps

UNROLLED = 4  # taps that are written out, as linear and cubic have; antialiasing has more


def convert_resize(k: Lowering, op: graph.ResizeOp) -> Array:
    """nearest: one stage that reads; else one stage of weighted sums an axis."""
    x, shape = k.array(op.x), shape_of(op.result)
    taps = {axis: taps for axis, taps in enumerate(resize_taps(op)) if taps is not None}
    if op.mode.data == "nearest":
        result = _nearest(k, x, shape, taps)
    else:
        result = x
        for axis, own in taps.items():
            result = _weighted(k, result, axis, own, _computed_in(x.dtype))
    outside = {axis: own for axis, own in taps.items() if own.outside.any()}
    if result.dtype == x.dtype and not outside:
        return result
    return _finished(k, op, result, outside, x.dtype)


def _computed_in(dtype: Attribute) -> Attribute:
    return working(dtype) if isinstance(dtype, AnyFloat) else F64


def _nearest(k: Lowering, x: Array, shape: Sequence[int], taps: dict[int, Taps]) -> Array:
    tables = {axis: IndexTable(k, own.indices[:, 0]) for axis, own in taps.items()}

    def formula(b: Body) -> Scalar:
        indices: list[Index] = list(b.par)
        for axis, table in tables.items():
            indices[axis] = table.at(b, b.par[axis])
        return b.element(x, indices)

    return k.compute("resize", shape, x.dtype, formula)


def _weighted(k: Lowering, x: Array, axis: int, taps: Taps, dtype: Attribute) -> Array:
    count = taps.indices.shape[1]
    shape = (*x.shape[:axis], len(taps.indices), *x.shape[axis + 1 :])
    weights = k.constant(taps.weights.astype(numpy_dtype(dtype)))
    indices = k.constant(taps.indices)

    def term(b: Body, tap: AffineExpr) -> Scalar:
        here = b.par[axis]
        at = b.element(indices, [here, tap]).cast(INDEX)
        element = b.read(x, [*b.par[:axis], at, *b.par[axis + 1 :]]).cast(dtype)
        return element * b.read(weights, [here, tap])

    def formula(b: Body) -> Scalar:
        if count > UNROLLED:
            return term(b, b.red[0])
        total = term(b, AffineExpr.constant(0))
        for tap in range(1, count):
            total = total + term(b, AffineExpr.constant(tap))
        return total

    reduce = [count] if count > UNROLLED else []
    return k.compute("resize", shape, dtype, formula, reduce=reduce, combiner="add")


def _finished(
    k: Lowering, op: graph.ResizeOp, x: Array, outside: dict[int, Taps], dtype: Attribute
) -> Array:
    """Put the extrapolation value outside, and return to the element type."""
    tables = {axis: k.constant(own.outside) for axis, own in outside.items()}

    def formula(b: Body) -> Scalar:
        result = b.read(x, b.par)
        for axis, table in tables.items():
            beyond = b.element(table, [b.par[axis]])
            result = beyond.select(constant(op.extrapolation.value.data, result.type), result)
        return result

    return k.compute("resize.end", x.shape, dtype, formula)


class IndexTable:
    """A table of indices: an expression where one gives the same numbers, else a constant."""

    def __init__(self, k: Lowering, indices: np.ndarray):
        self.step = affine_step(indices)
        self.table = k.constant(indices) if self.step is None else None

    def at(self, b: Body, place: AffineExpr) -> Index:
        """Return the index at a place."""
        if self.step is None:
            assert self.table is not None
            return b.element(self.table, [place]).cast(INDEX)
        factor, divisor, offset = self.step
        return (place * factor + offset) // divisor if divisor > 1 else place * factor + offset


def affine_step(indices: np.ndarray) -> tuple[int, int, int] | None:
    """Return (a, d, c) with indices[i] == (a * i + c) // d, for a or d = 1, if there are any."""
    places = np.arange(len(indices))
    rise = int(indices[-1] - indices[0]) / max(len(indices) - 1, 1) if len(indices) else 0
    whole = max(round(rise), 1)
    if np.array_equal(places * whole + indices[:1], indices):
        return whole, 1, int(indices[0])
    divisor = max(math.ceil(1 / rise), 1) if rise else 1
    for divide in (divisor - 1, divisor):
        if divide > 1 and np.array_equal(places // divide, indices):
            return 1, divide, 0
    return None


CONVERTERS = {"graph.resize": convert_resize}
