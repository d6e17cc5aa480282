"""Gathers and scatters: indices that are data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr

from nn_opt.conversion.to_tensor.body import Array, Body, Index
from nn_opt.conversion.to_tensor.lowering import OF_BITS, Lowering
from nn_opt.conversion.to_tensor.scalar import I64, INDEX, Number, Scalar, is_unsigned, working
from nn_opt.conversion.to_tensor.updates import (
    NOWHERE,
    position,
    scatter_lines,
    scatter_slices,
)
from nn_opt.dialects import graph
from nn_opt.dialects.tensor import identity_of
from nn_opt.ir.types import shape_of


def convert_gather(k: Lowering, op: graph.GatherOp) -> Array:
    """y[a.., i.., b..] = x[a.., indices[i..], b..]"""
    x, indices = k.array(op.x), k.array(op.indices)
    axis = op.axis.value.data % x.rank

    def formula(b: Body) -> Scalar:
        before, middle = b.par[:axis], b.par[axis : axis + indices.rank]
        at = position(b.element(indices, middle), x.shape[axis])
        return b.element(x, [*before, at, *b.par[axis + indices.rank :]])

    return k.compute("gather", shape_of(op.result), x.dtype, formula)


def convert_gather_elements(k: Lowering, op: graph.GatherElementsOp) -> Array:
    """y[i, j..] = x[indices[i, j..], j..]"""
    x, indices = k.array(op.x), k.array(op.indices)
    axis = op.axis.value.data % x.rank

    def formula(b: Body) -> Scalar:
        at = position(b.element(indices, b.par), x.shape[axis])
        return b.element(x, [*b.par[:axis], at, *b.par[axis + 1 :]])

    return k.compute("gather_elements", shape_of(op.result), x.dtype, formula)


def convert_gather_nd(k: Lowering, op: graph.GatherNDOp) -> Array:
    """y[a.., i.., b..] = x[a.., indices[a.., i.., 0], indices[a.., i.., 1].., b..]"""
    x, indices = k.array(op.x), k.array(op.indices)
    batch, depth = op.batch_dims.value.data, indices.shape[-1]
    outer = indices.rank - 1

    def formula(b: Body) -> Scalar:
        at = [
            position(b.element(indices, [*b.par[:outer], part]), x.shape[batch + part])
            for part in range(depth)
        ]
        return b.element(x, [*b.par[:batch], *at, *b.par[outer:]])

    return k.compute("gather_nd", shape_of(op.result), x.dtype, formula)


Hit = Callable[[Body, Sequence[AffineExpr], AffineExpr], Scalar]
Update = Callable[[Body, Sequence[AffineExpr], Index], Scalar]


def convert_scatter_nd(k: Lowering, op: graph.ScatterNDOp) -> Array:
    """One update after the other. With many threads, each element looks through all updates for
    those that name it: the last one wins.
    """
    x, indices, updates = k.array(op.x), k.array(op.indices), k.array(op.updates)
    depth = indices.shape[-1]
    count = math.prod(indices.shape[:-1])
    rows = k.view(indices, [count, depth])
    slices = k.view(updates, [count, *x.shape[depth:]])
    if not k.parallel and count and 0 not in x.shape:
        return scatter_slices(k, x, rows, slices, op.reduction.data)

    def hit(b: Body, place: Sequence[AffineExpr], u: AffineExpr) -> Scalar:
        result: Scalar | None = None
        for part in range(depth):
            same = _names(b, b.element(rows, [u, part]), place[part], x.shape[part])
            result = same if result is None else result & same
        assert result is not None, "an index has at least one part"
        return result

    def update(b: Body, place: Sequence[AffineExpr], u: Index) -> Scalar:
        return b.element(slices, [u, *place[depth:]])

    return _scatter(k, "scatter_nd", x, count, op.reduction.data, hit, update)


def convert_scatter_elements(k: Lowering, op: graph.ScatterElementsOp) -> Array:
    """One update of each line along the axis after the other. With many threads, or on lines that
    the updates leave alone, each element looks through the updates: the last one wins.
    """
    x, indices, updates = k.array(op.x), k.array(op.indices), k.array(op.updates)
    axis = op.axis.value.data % x.rank
    others = zip(x.shape, indices.shape, strict=True)
    if not k.parallel and 0 not in (*x.shape, *indices.shape):
        if all(own == named for at, (own, named) in enumerate(others) if at != axis):
            return scatter_lines(k, x, indices, updates, axis, op.reduction.data)

    def line(place: Sequence[AffineExpr], u: Index) -> list[Index]:
        return [*place[:axis], u, *place[axis + 1 :]]

    def hit(b: Body, place: Sequence[AffineExpr], u: AffineExpr) -> Scalar:
        index = b.element(indices, line(place, u), NOWHERE)
        return _names(b, index, place[axis], x.shape[axis])

    def update(b: Body, place: Sequence[AffineExpr], u: Index) -> Scalar:
        return b.element(updates, line(place, u), 0)

    count = indices.shape[axis] if 0 not in indices.shape else 0
    return _scatter(k, "scatter_elements", x, count, op.reduction.data, hit, update)


def _names(b: Body, index: Scalar, place: AffineExpr, size: int) -> Scalar:
    """Return whether an index, from either end, is the place."""
    index = index.cast(INDEX)
    here = b.index(place)
    return index.compare("eq", here) | (index + size).compare("eq", here)


def _scatter(
    k: Lowering, word: str, x: Array, count: int, reduction: str, hit: Hit, update: Update
) -> Array:
    """Return x with its updates; costs size of x times `count`."""
    if count == 0:
        return k.compute(word, x.shape, x.dtype, lambda b: b.element(x, b.par))
    build = _scatter_last if reduction == "none" else _scatter_combined
    return build(k, word, x, count, reduction, hit, update)


def _scatter_last(
    k: Lowering, word: str, x: Array, count: int, reduction: str, hit: Hit, update: Update
) -> Array:
    """Find the last update that names each element, then read that or x."""
    last = k.compute(
        f"{word}.last",
        x.shape,
        I64,
        lambda b: hit(b, b.par, b.red[0]).select(b.index(b.red[0]).cast(I64), -1),
        reduce=[count],
        combiner="max",
    )

    def formula(b: Body) -> Scalar:
        found = b.element(last, b.par).cast(INDEX)
        new = update(b, b.par, found.maximum(0))
        return found.compare("ge", 0).select(new, b.element(x, b.par))

    return k.compute(word, x.shape, x.dtype, formula)


def _scatter_combined(
    k: Lowering, word: str, x: Array, count: int, reduction: str, hit: Hit, update: Update
) -> Array:
    """Combine all updates that name each element, then that with x."""
    reduction = OF_BITS[reduction] if x.dtype == i1 else reduction
    wide = working(x.dtype)
    neutral = _neutral(reduction, wide)

    def formula(b: Body) -> Scalar:
        return hit(b, b.par, b.red[0]).select(update(b, b.par, b.red[0]).cast(wide), neutral)

    total = k.compute(
        f"{word}.{reduction}", x.shape, wide, formula, reduce=[count], combiner=reduction
    )
    return k.compute(
        word,
        x.shape,
        x.dtype,
        lambda b: b.read(x, b.par).binary(reduction, b.read(total, b.par)),
    )


def _neutral(reduction: str, dtype: Attribute) -> Number:
    if is_unsigned(dtype) and reduction in ("max", "min"):
        return 0 if reduction == "max" else -1
    return identity_of(reduction, dtype)


CONVERTERS = {
    "graph.gather": convert_gather,
    "graph.gather_elements": convert_gather_elements,
    "graph.gather_nd": convert_gather_nd,
    "graph.scatter_nd": convert_scatter_nd,
    "graph.scatter_elements": convert_scatter_elements,
}
