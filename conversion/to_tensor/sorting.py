"""Orders: integers that sort as the elements do, and the ways to sort those.

Few of many are found one by one (selecting.py). Short rows are sorted by counting, for each
element, those before it; a few long rows by their digits (digits.py); many so in runs, which are
then merged two by two. For many threads a bitonic network takes the place of both, in which each
element waits for the one before, and two kinds of elements are found by halving (halves.py).
"""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, Float64Type

from nn_opt.conversion.to_tensor.body import Array, Body, Index
from nn_opt.conversion.to_tensor.digits import are_digits_less_work, sort_by_digits
from nn_opt.conversion.to_tensor.halves import halves
from nn_opt.conversion.to_tensor.keys import I32, Keys, comes_before, place_of, sortable
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.merging import merge_runs, sort_by_network
from nn_opt.conversion.to_tensor.scalar import (
    I64,
    INDEX,
    Scalar,
    constant,
    is_unsigned,
    width,
    working,
)
from nn_opt.conversion.to_tensor.selecting import is_few, one_by_one
from nn_opt.dialects import graph
from nn_opt.ir.types import shape_of

RUN = {32: 64, 64: 16}  # elements that are sorted by counting before they are merged, by bits
LONG = {32: 256, 64: 48}  # elements of a row that is not sorted by counting alone


def convert_argsort(k: Lowering, op: graph.ArgSortOp) -> Array:
    """Keys in rows, their first places in order, and those along the axis."""
    x, shape = k.array(op.x), shape_of(op.result)
    axis, count = op.axis.value.data % x.rank, op.count.value.data
    if 0 in shape:
        return k.compute("argsort", shape, I64, lambda b: constant(0, I64))
    keys = _keys(k, x, axis, op.descending is not None)
    found = _sorted(k, keys, count)

    def formula(b: Body) -> Scalar:
        return b.element(found, [*b.par[:axis], *b.par[axis + 1 :], b.par[axis]]).cast(I64)

    return k.compute("argsort", shape, I64, formula)


def _sorted(k: Lowering, keys: Keys, count: int) -> Array:
    """Return the first `count` places of each row in order."""
    size = keys.size
    levels = (size - 1).bit_length()
    if k.parallel and keys.bits == 1:
        return halves(k, keys, count)
    if not k.parallel and are_digits_less_work(keys, count):
        return sort_by_digits(k, keys, count)
    if is_few(keys, count, k.parallel):
        return one_by_one(k, keys, count)
    if size <= LONG[keys.width]:
        return _by_counting(k, keys, count)
    if k.parallel:
        return sort_by_network(k, keys.array, keys.most, levels, count)
    return merge_runs(k, *_sorted_runs(k, keys, min(count, RUN[keys.width])), count)


def _keys(k: Lowering, x: Array, axis: int, descending: bool) -> Keys:
    number = working(x.dtype)
    long = isinstance(number, Float64Type) or width(number) > 32
    last = x.rank - 1

    def formula(b: Body) -> Scalar:
        key = sortable(b.read(x, [*b.par[:axis], b.par[last], *b.par[axis:last]]))
        return ~key if descending else key

    rows = [size for at, size in enumerate(x.shape) if at != axis]
    shape = [*rows, x.shape[axis]]
    keys = k.compute("argsort.keys", shape, I64 if long else I32, formula)
    bits = width(number)
    if isinstance(number, AnyFloat) or bits >= 32:
        return Keys(keys, width(keys.dtype))
    return Keys(keys, bits, signed=not is_unsigned(number))


def _by_counting(k: Lowering, keys: Keys, count: int) -> Array:
    """The rank of an element is the number of those before it; that of rank r has place r."""
    source, rows, size = keys.array, keys.rows, keys.size

    def smaller(b: Body) -> Scalar:
        own, (other,) = b.par, b.red
        key, mine = b.element(source, [*own[:-1], other]), b.element(source, own)
        before = comes_before(key, place_of(b, other), mine, place_of(b, own[-1]))
        return before.select(constant(1, I32), 0)

    rank = k.compute("argsort.rank", [*rows, size], I32, smaller, reduce=[size], combiner="add")

    def place(b: Body) -> Scalar:
        here = b.element(rank, [*b.par[:-1], b.red[0]])
        return here.compare("eq", place_of(b, b.par[-1])).select(place_of(b, b.red[0]), 0)

    return k.compute("argsort.place", [*rows, count], I32, place, reduce=[size], combiner="max")


def _sorted_runs(k: Lowering, keys: Keys, count: int) -> tuple[Array, Array]:
    """Return the keys and places [rows.., runs, count] of a row cut in runs, each sorted."""
    length = RUN[keys.width]
    runs = -(-keys.size // length)
    runs = 1 << (runs - 1).bit_length()
    shape = [*keys.rows, runs, length]
    last = len(shape) - 1

    def padded(b: Body) -> Scalar:
        return b.element(keys.array, [*b.par[:-2], b.par[-2] * length + b.par[-1]], keys.most)

    cut = Keys(k.compute("argsort.cut", shape, keys.type, padded), keys.bits, keys.signed)
    inner = _by_counting(k, cut, count)

    def at(b: Body) -> list[Index]:
        return [*b.par[:last], b.element(inner, b.par).cast(INDEX)]

    def place(b: Body) -> Scalar:
        return b.element(inner, b.par) + place_of(b, b.par[-2] * length)

    shape = [*shape[:last], count]
    ordered = k.compute("argsort.run", shape, keys.type, lambda b: b.element(cut.array, at(b)))
    return ordered, k.compute("argsort.start", shape, I32, place)


def convert_search_sorted(k: Lowering, op: graph.SearchSortedOp) -> Array:
    """Halve what is left of the numbers until nothing is."""
    numbers, values = k.array(op.numbers), k.array(op.values)
    size = numbers.shape[-1]
    word = "le" if op.right is not None else "lt"

    def formula(b: Body) -> Scalar:
        value, found = b.read(values, b.par), b.index(0)
        for step in reversed(range(size.bit_length())):
            last = found + ((1 << step) - 1)
            number = b.read(numbers, [*b.par[:-1], last.minimum(size - 1)])
            before = last.compare("lt", size) & number.compare(word, value)
            found = before.select(found + (1 << step), found)
        return found.cast(I64)

    return k.compute("search_sorted", values.shape, I64, formula)


CONVERTERS = {
    "graph.argsort": convert_argsort,
    "graph.search_sorted": convert_search_sorted,
}
