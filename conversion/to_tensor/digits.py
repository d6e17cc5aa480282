"""Sorting by digits: elements go, in order, to where those with the same digit begin.

The least digit comes first, so that after the last one all are in order. A step writes one element
of each row, which is a serial loop: no work for many threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from nn_opt.conversion.to_tensor.body import Array, Body
from nn_opt.conversion.to_tensor.keys import I32, Keys, place_of
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.scalar import Scalar, constant
from nn_opt.conversion.to_tensor.selecting import selecting, sorting
from nn_opt.conversion.to_tensor.steps import repeat
from nn_opt.conversion.to_tensor.updates import put, within

DIGIT = 8  # bits
BUCKETS = 1 << DIGIT
MOST_ROWS = 4  # that are sorted side by side
MOVE = 2  # what an element costs in a pass, in comparisons of vectors
PASS = 600  # what a pass costs apart from that


def are_digits_less_work(keys: Keys, count: int) -> bool:
    """Return whether the other ways to sort a row take longer; rows are sorted by one thread."""
    if math.prod(keys.rows) > MOST_ROWS:
        return False
    passes = -(-keys.bits // DIGIT)
    own = MOVE * keys.size * (passes + 1) + PASS * passes
    return own < min(selecting(keys, count), sorting(keys.size, count))


def sort_by_digits(k: Lowering, keys: Keys, count: int) -> Array:
    """Return the first `count` places of each row in order."""
    rows, size, passes = keys.rows, keys.size, -(-keys.bits // DIGIT)
    sign = -(1 << (keys.bits - 1)) if keys.signed else 0
    order = [
        k.compute(
            "argsort.unsigned",
            [size, *rows],
            keys.type,
            lambda b: b.element(keys.array, [*b.par[1:], b.par[0]]) ^ sign,
        ),
        k.compute("argsort.place", [size, *rows], I32, lambda b: place_of(b, b.par[0])),
    ]
    begins = _begins(k, _counts(k, order[0], passes))
    for number in range(passes):
        order = _pass(k, order, begins, number)
        if number < passes - 1:
            order = [_turned(k, part) for part in order]
    places = order[-1]
    return k.compute("argsort.sorted", [*rows, count], I32, lambda b: b.element(places, b.par))


def _digit(key: Scalar, shift: Scalar | int) -> Scalar:
    return within(key.binary("shr", shift) & (BUCKETS - 1), BUCKETS)


def _counts(k: Lowering, keys: Array, passes: int) -> Array:
    """Return how many elements have each value of each digit: [passes, rows.., values]."""
    shape = [passes, *keys.shape[1:], BUCKETS]
    none = k.compute("argsort.none", shape, I32, lambda b: constant(0, I32))

    def step(now: Sequence[Array], table: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        def counted(b: Body) -> Scalar:
            number, *row = b.par[:-1]
            key = b.element(table[0], row)
            at = _digit(key, b.index(number * DIGIT).cast(key.type))
            return put(b, now[0], at, b.element(now[0], [number, *row, at]) + 1)

        return [k.compute("argsort.counted", shape, I32, counted)], []

    return repeat([none], [keys], step, keys.shape[0])[0]


def _begins(k: Lowering, counts: Array) -> Array:
    """Return where elements with each value of a digit begin: [values, passes, rows..]."""
    rows = counts.shape[:-1]
    table = k.compute(
        "argsort.counts", [BUCKETS, *rows], I32, lambda b: b.element(counts, [*b.par[1:], b.par[0]])
    )
    none = k.compute("argsort.none", rows, I32, lambda b: constant(0, I32))

    def step(now: Sequence[Array], table: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        def total(b: Body) -> Scalar:
            return b.element(now[0], b.par) + b.element(table[0], b.par)

        before = k.compute("argsort.before", rows, I32, lambda b: b.element(now[0], b.par))
        return [k.compute("argsort.total", rows, I32, total)], [before]

    return repeat([none], [table], step, BUCKETS)[1]


def _pass(k: Lowering, order: Sequence[Array], begins: Array, number: int) -> list[Array]:
    """Return keys and places [rows.., n] in the order of a digit; after the last one, places."""
    size, *rows = order[0].shape
    digits = begins.shape[1]
    keep = order if number < digits - 1 else order[1:]
    start = k.compute(
        "argsort.begin",
        [*rows, BUCKETS],
        I32,
        lambda b: b.element(begins, [b.par[-1], number, *b.par[:-1]]),
    )
    empty = [
        k.compute(
            "argsort.empty", [*rows, size], part.dtype, lambda b, t=part.dtype: constant(0, t)
        )
        for part in keep
    ]

    def step(now: Sequence[Array], table: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        free = now[-1]

        def digit(b: Body) -> Scalar:
            return _digit(b.element(table[0], b.par[:-1]), number * DIGIT)

        def moved(b: Body, old: Array, part: Array) -> Scalar:
            row = b.par[:-1]
            at = within(b.element(free, [*row, digit(b)]), size)
            return put(b, old, at, b.element(part, row))

        def used(b: Body) -> Scalar:
            at = digit(b)
            return put(b, free, at, b.element(free, [*b.par[:-1], at]) + 1)

        pairs = zip(now, table[len(table) - len(keep) :], strict=False)
        return [
            *(
                k.compute(
                    "argsort.moved", old.shape, old.dtype, lambda b, o=old, p=part: moved(b, o, p)
                )
                for old, part in pairs
            ),
            k.compute("argsort.free", free.shape, I32, used),
        ], []

    return repeat([*empty, start], order, step, size)[:-1]


def _turned(k: Lowering, part: Array) -> Array:
    """Return [rows.., n] as [n, rows..]."""
    *rows, size = part.shape
    if math.prod(rows) == 1:
        return k.view(part, [size, *rows])
    return k.compute(
        "argsort.turned",
        [size, *rows],
        part.dtype,
        lambda b: b.element(part, [*b.par[1:], b.par[0]]),
    )
