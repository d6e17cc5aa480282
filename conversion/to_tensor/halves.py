"""Rows of two kinds of elements for many threads: how many of each kind there are up to a place."""

from __future__ import annotations

from nn_opt.conversion.to_tensor.body import Array, Body
from nn_opt.conversion.to_tensor.keys import I32, Keys, place_of
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.parallel import RUNNING, running_total
from nn_opt.conversion.to_tensor.scalar import Scalar


def halves(k: Lowering, keys: Keys, count: int) -> Array:
    """Return the first `count` places of each row, in which one bit of the keys differs."""
    source, size, axis = keys.array, keys.size, len(keys.rows)
    smallest = k.compute(
        "argsort.least",
        keys.rows,
        keys.type,
        lambda b: b.element(source, b.axes),
        reduce=[size],
        combiner="min",
    )

    def is_first(b: Body) -> Scalar:
        least = b.element(smallest, b.par[:-1])
        return b.element(source, b.par).compare("eq", least).select(b.index(1).cast(I32), 0)

    firsts = k.compute("argsort.first", source.shape, I32, is_first)
    how = RUNNING["graph.cumsum"]
    sums = running_total(k, firsts, axis, how, exclusive=False, reverse=False)

    def place(b: Body) -> Scalar:
        row, rank = b.par[:-1], place_of(b, b.par[-1])
        total = b.element(sums, [*row, size - 1])
        second = rank.compare("ge", total)
        wanted = second.select(rank - total, rank)
        found = b.index(0)
        for step in reversed(range(size.bit_length())):
            last = found + ((1 << step) - 1)
            here = b.element(sums, [*row, last.minimum(size - 1)])
            held = second.select((last + 1).cast(I32) - here, here)
            before = last.compare("lt", size) & held.compare("le", wanted)
            found = before.select(found + (1 << step), found)
        return found.minimum(size - 1).cast(I32)

    return k.compute("argsort.found", [*keys.rows, count], I32, place)
