"""Reductions and running sums for many threads: formulas in which no element waits for another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir.affine import AffineExpr

from nn_opt.conversion.to_tensor.body import Array, Body, Index
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.scalar import I64, Scalar, working
from nn_opt.ir.affine import floordiv, modulo

RUN = 32  # elements that a thread sums by itself
FEW = 2 * RUN  # elements of a line that is summed in one step


@dataclass(frozen=True)
class Running:
    """What a running total combines, and with what it begins."""

    word: str  # of its stages
    combiner: str
    neutral: int


RUNNING = {
    "graph.cumsum": Running("cumsum", "add", 0),
    "graph.cumprod": Running("cumprod", "mul", 1),
}
POSITION = IntegerType(32)  # of an element along an axis; not all GPUs have longer integers


def position_of(
    k: Lowering, word: str, x: Array, best: Array, axis: int, *, keepdims: bool, last: bool
) -> Array:
    """Return where along an axis the best element is, the first or the last of several.

    A best element that is no number stands for any such.
    """
    size = x.shape[axis]
    kept = [k for k in range(x.rank) if k != axis]

    def formula(b: Body) -> Scalar:
        par = [b.par[axis] for axis in kept] if keepdims else b.par
        at = dict(zip([*kept, axis], [*par, *b.red], strict=True))
        element = b.read(x, [at[axis] for axis in range(x.rank)])
        found = element.compare("eq", b.read(best, b.par))
        if isinstance(working(x.dtype), AnyFloat):
            found = found | element.is_nan()
        here = b.index(b.red[0]).cast(POSITION)
        return found.select(here, -1 if last else size)

    places = k.compute(
        word,
        best.shape,
        POSITION,
        formula,
        reduce=[size],
        combiner="max" if last else "min",
    )
    return k.compute(f"{word}.wide", places.shape, I64, lambda b: b.read(places, b.par))


def running_total(
    k: Lowering, x: Array, axis: int, how: Running, *, exclusive: bool, reverse: bool
) -> Array:
    """Return the total of all elements before each along an axis, itself among them or not.

    Lines are cut into runs: what a run holds before an element, and the sum of all runs before.
    """
    size = x.shape[axis]
    if size <= FEW:
        return _total_before(k, x, axis, size, how, exclusive=exclusive, reverse=reverse)
    inside = _total_before(k, x, axis, RUN, how, exclusive=exclusive, reverse=reverse)
    totals = _totals(k, x, axis, how)
    before = running_total(k, totals, axis, how, exclusive=True, reverse=reverse)

    def formula(b: Body) -> Scalar:
        run = _at(b.par, axis, floordiv(b.par[axis], RUN))
        return b.read(inside, b.par).binary(how.combiner, b.read(before, run))

    return k.compute(how.word, x.shape, inside.dtype, formula)


def _total_before(
    k: Lowering, x: Array, axis: int, run: int, how: Running, *, exclusive: bool, reverse: bool
) -> Array:
    """Return the totals within runs, each of as many elements."""
    test = {(False, False): "le", (True, False): "lt", (False, True): "ge", (True, True): "gt"}

    def formula(b: Body) -> Scalar:
        place, other = b.par[axis], b.red[0]
        element = b.read(x, _at(b.par, axis, floordiv(place, run) * run + other), how.neutral)
        own = b.index(modulo(place, run))
        before = b.index(other).compare(test[exclusive, reverse], own)
        return before.select(element, how.neutral)

    dtype = working(x.dtype)
    word = f"{how.word}.run"
    return k.compute(word, x.shape, dtype, formula, reduce=[run], combiner=how.combiner)


def _totals(k: Lowering, x: Array, axis: int, how: Running) -> Array:
    """Return the total of each run."""
    shape = [*x.shape]
    shape[axis] = -(-shape[axis] // RUN)

    def formula(b: Body) -> Scalar:
        return b.read(x, _at(b.par, axis, b.par[axis] * RUN + b.red[0]), how.neutral)

    dtype = working(x.dtype)
    word = f"{how.word}.total"
    return k.compute(word, shape, dtype, formula, reduce=[RUN], combiner=how.combiner)


def _at(par: Sequence[AffineExpr], axis: int, index: AffineExpr) -> list[Index]:
    """Return the indices of a result with another one along an axis."""
    return [*par[:axis], index, *par[axis + 1 :]]
