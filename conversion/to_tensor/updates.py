"""Elements at places that are data, written one after the other: states of which little changes.

convert-tensor-to-loop writes such a state in place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir.affine import AffineExpr

from nn_opt.conversion.to_tensor.body import Array, Body
from nn_opt.conversion.to_tensor.lowering import OF_BITS, Lowering
from nn_opt.conversion.to_tensor.scalar import I64, INDEX, Scalar, working
from nn_opt.conversion.to_tensor.steps import repeat

NOWHERE = -(1 << 31)  # an index that names no element, counted from either end


def within(place: Scalar, size: int) -> Scalar:
    """Return a place as an index that is surely inside."""
    return place.cast(INDEX).maximum(0).minimum(size - 1)


def position(index: Scalar, size: int) -> Scalar:
    """Return a data-dependent index, counted from the end if negative, never out of bounds."""
    return within(_from_start(index, size), size)


def _from_start(index: Scalar, size: int) -> Scalar:
    index = index.cast(INDEX)
    return index.compare("lt", 0).select(index + size, index)


def _is_within(place: Scalar, size: int) -> Scalar:
    return place.compare("ge", 0) & place.compare("lt", size)


def put(b: Body, state: Array, at: Scalar, value: Scalar, axis: int = -1) -> Scalar:
    """Return an element of a state of which a step changes only that at a place along an axis."""
    return b.index(b.par[axis]).compare("eq", at).select(value, b.element(state, b.par))


def scatter_slices(k: Lowering, x: Array, rows: Array, slices: Array, reduction: str) -> Array:
    """Return x with slices [count, ..] replaced, or combined, at indices [count, depth]."""
    count, depth = rows.shape
    named = x.shape[:depth]

    def place(b: Body) -> Scalar:
        total, inside = b.index(0), None
        for number, size in enumerate(named):
            at = _from_start(b.element(rows, [b.par[0], number]), size)
            here = _is_within(at, size)
            inside = here if inside is None else inside & here
            total = total * size + at
        return total.cast(I64) if inside is None else inside.select(total.cast(I64), NOWHERE)

    places = k.compute("scatter_nd.place", [count], I64, place)
    size, length = math.prod(named), math.prod(x.shape[depth:])
    flat = k.view(x, [size, length])
    found = _in_turn(
        k, "scatter_nd", flat, [places, k.view(slices, [count, length])], 0, reduction, alike=True
    )
    return k.view(found, x.shape)


def scatter_lines(
    k: Lowering, x: Array, indices: Array, updates: Array, axis: int, reduction: str
) -> Array:
    """Return x with single elements of each line along an axis replaced or combined."""

    def first(part: Array) -> Array:
        shape = [part.shape[axis], *part.shape[:axis], *part.shape[axis + 1 :]]
        if math.prod(part.shape[:axis]) == 1:
            return k.view(part, shape)

        def formula(b: Body) -> Scalar:
            number, *row = b.par
            return b.element(part, [*row[:axis], number, *row[axis:]])

        return k.compute("scatter_elements.turned", shape, part.dtype, formula)

    tables = [first(indices), first(updates)]
    return _in_turn(k, "scatter_elements", x, tables, axis, reduction, alike=False)


def _in_turn(
    k: Lowering,
    word: str,
    x: Array,
    tables: Sequence[Array],
    axis: int,
    reduction: str,
    *,
    alike: bool,
) -> Array:
    """Return x after all updates; an index out of range names no element.

    alike: a step names one place along the axis for all lines.
    """
    size = x.shape[axis]
    combined = reduction != "none"
    dtype = working(x.dtype) if combined else x.dtype
    start = x
    if dtype != x.dtype:
        start = k.compute(f"{word}.start", x.shape, dtype, lambda b: b.read(x, b.par))
    combiner = OF_BITS[reduction] if combined and x.dtype == i1 else reduction

    def step(now: Sequence[Array], table: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        def formula(b: Body) -> Scalar:
            row: list[AffineExpr] = [*b.par[:axis], *b.par[axis + 1 :]]
            place = _from_start(b.element(table[0], [] if alike else row), size)
            at = within(place, size)
            old = b.element(now[0], [*b.par[:axis], at, *b.par[axis + 1 :]])
            value = b.element(table[1], row).cast(dtype)
            value = old.binary(combiner, value) if combined else value
            return put(b, now[0], at, _is_within(place, size).select(value, old), axis)

        return [k.compute(word, x.shape, dtype, formula)], []

    (found,) = repeat([start], tables, step, tables[0].shape[0])
    if dtype == x.dtype:
        return found
    return k.compute(f"{word}.end", x.shape, x.dtype, lambda b: b.element(found, b.par))
