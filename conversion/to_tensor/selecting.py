"""Few of many: the least key, then the least of those after it, and so on.

A row is cut in parts whose least keys are known. A step takes the least of those, and looks for the
next one in the part that had it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir.affine import AffineExpr

from nn_opt.conversion.to_tensor.body import Array, Body
from nn_opt.conversion.to_tensor.keys import I32, Keys, comes_before, place_of
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.scalar import INDEX, Scalar
from nn_opt.conversion.to_tensor.steps import repeat

LANES = 16
STEP = 40  # what a step costs apart from comparisons, in those of vectors
MERGED = 24  # what an element costs in a merge, in comparisons of vectors
FEW_STEPS = 96  # of many threads
ALONE = 512  # elements that are no more work together than in parts


def is_few(keys: Keys, count: int, parallel: bool) -> bool:
    """Return whether finding so many one by one is less work than to sort a row.

    Many threads wait for each other at every step.
    """
    if parallel:
        return count <= FEW_STEPS and 2 * count < keys.size + count
    return selecting(keys, count) < sorting(keys.size, count)


def selecting(keys: Keys, count: int) -> float:
    """Return the cost of finding so many one by one, in comparisons of vectors."""
    parts, length = _cut(keys.size)
    lanes = LANES if keys.width == 32 else LANES // 2
    return count * (STEP + 2 * (parts + length) / lanes)


def sorting(size: int, count: int) -> float:
    """Return the cost of counting, or of merging runs."""
    levels = max(0, (min(size, count) - 1).bit_length() - 6)
    if size <= 256:
        return 2 * size * size / LANES
    return size * (8 + MERGED * (levels + 1))


def _cut(size: int) -> tuple[int, int]:
    """Return how many parts a row has, and their length."""
    if size <= ALONE:
        return 1, size
    length = LANES
    while length * length < size:
        length *= 2
    return -(-size // length), length


def one_by_one(k: Lowering, keys: Keys, count: int) -> Array:
    """Return the first `count` places of each row in order."""
    rows, (parts, length) = keys.rows, _cut(keys.size)

    def padded(b: Body) -> Scalar:
        *own, part, at = b.par
        return b.element(keys.array, [*own, part * length + at], keys.most)

    source = k.compute("argsort.cut", [*rows, parts, length], keys.type, padded)
    least = k.compute(
        "argsort.least",
        [*rows, parts],
        keys.type,
        lambda b: b.element(source, b.axes),
        reduce=[length],
        combiner="min",
    )

    def first(b: Body) -> Scalar:
        part = b.par[-1]
        hit = b.element(source, b.axes).compare("eq", b.element(least, b.par))
        return hit.select(place_of(b, part * length + b.red[0]), parts * length)

    places = k.compute("argsort.first", [*rows, parts], I32, first, reduce=[length], combiner="min")

    def step(now: Sequence[Array], _: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        return _step(k, keys, source, now)

    found = repeat([least, places], [], step, count)[-1]
    return k.compute(
        "argsort.turned", [*rows, count], I32, lambda b: b.element(found, [b.par[-1], *b.par[:-1]])
    )


def _step(
    k: Lowering, keys: Keys, source: Array, now: Sequence[Array]
) -> tuple[list[Array], list[Array]]:
    """Return the least keys of parts and their places without the first of all, and its place.

    A part of which nothing is left has a place that is none.
    """
    best, part = _best(k, keys, now)
    *rows, parts, length = source.shape

    def last(b: Body, own: Sequence[AffineExpr]) -> tuple[Scalar, Scalar, Scalar]:
        at = b.element(part, own)
        return b.element(best, own), b.element(now[1], [*own, at.cast(INDEX)]), at

    taken = k.compute("argsort.taken", rows, I32, lambda b: last(b, b.par)[1])

    def later(b: Body) -> tuple[Scalar, Scalar, Scalar]:
        own, (i,) = b.par, b.red
        at = b.element(part, own)
        key = b.element(source, [*own, at.cast(INDEX), i])
        place = at * length + place_of(b, i)
        after = comes_before(b.element(best, own), b.element(taken, own), key, place)
        return after, key, place

    def least(b: Body) -> Scalar:
        after, key, _ = later(b)
        return after.select(key, keys.most)

    next_key = k.compute("argsort.next", rows, keys.type, least, reduce=[length], combiner="min")

    def first(b: Body) -> Scalar:
        after, key, place = later(b)
        hit = after & key.compare("eq", b.element(next_key, b.par))
        return hit.select(place, parts * length)

    next_place = k.compute("argsort.where", rows, I32, first, reduce=[length], combiner="min")

    def updated(b: Body, old: Array, new: Array) -> Scalar:
        *own, at = b.par
        mine = b.element(part, own).compare("eq", place_of(b, at))
        return mine.select(b.element(new, own), b.element(old, b.par))

    pairs = zip(now, (next_key, next_place), strict=True)
    states = [
        k.compute(
            "argsort.left",
            [*rows, parts],
            old.dtype,
            lambda b, old=old, new=new: updated(b, old, new),
        )
        for old, new in pairs
    ]
    return states, [taken]


def _best(k: Lowering, keys: Keys, now: Sequence[Array]) -> tuple[Array, Array]:
    """Return the least of the parts' keys, and the first part that has it."""
    rows, parts = keys.rows, now[0].shape[-1]
    best = k.compute(
        "argsort.best",
        rows,
        keys.type,
        lambda b: b.element(now[0], b.axes),
        reduce=[parts],
        combiner="min",
    )

    def first(b: Body) -> Scalar:
        same = b.element(now[0], b.axes).compare("eq", b.element(best, b.par))
        left = b.element(now[1], b.axes).compare("lt", keys.size)
        return (same & left).select(place_of(b, b.red[0]), parts)

    return best, k.compute("argsort.part", rows, I32, first, reduce=[parts], combiner="min")
