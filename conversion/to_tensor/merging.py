"""Sorted runs become longer ones: two by two on one thread, by a bitonic network on many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntegerType

from nn_opt.conversion.to_tensor.body import Array, Body
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.scalar import I64, INDEX, Number, Scalar, constant
from nn_opt.conversion.to_tensor.steps import repeat

I32 = IntegerType(32)


def merge_runs(k: Lowering, keys: Array, places: Array, count: int) -> Array:
    """Return the first `count` places of each row, whose runs [rows.., runs, length] are sorted.

    A key of 32 bits and its place travel as one integer. What the rows lack of a power of two of
    runs are the largest keys, at the end.
    """
    parts = [keys, places] if keys.dtype == I64 else [_packed(k, keys, places)]
    while parts[0].shape[-2] > 1:
        parts = _merge_pairs(k, parts, count)
    merged = parts[-1]

    def place(b: Body) -> Scalar:
        found = b.element(merged, [*b.par[:-1], 0, b.par[-1]])
        return found.cast(I32)

    return k.compute("argsort.merged", [*keys.shape[:-2], count], I32, place)


def _packed(k: Lowering, keys: Array, places: Array) -> Array:
    def formula(b: Body) -> Scalar:
        key, place = b.element(keys, b.par).cast(I64), b.element(places, b.par).cast(I64)
        return key.binary("shl", 32) | place

    return k.compute("argsort.packed", keys.shape, I64, formula)


def _merge_pairs(k: Lowering, parts: Sequence[Array], count: int) -> list[Array]:
    """Merge runs 2p and 2p + 1 of all rows: at each step, the smaller of two heads comes next.

    The state is how many elements of each first run are gone. No more than `count` are merged.
    """
    *rows, runs, length = parts[0].shape
    pairs, steps = [*rows, runs // 2], min(2 * length, count)
    gone = k.compute("argsort.gone", pairs, I32, lambda b: constant(0, I32))
    clock = k.constant(np.arange(steps, dtype=np.int32))

    def step(
        now: Sequence[Array], table: Sequence[Array]
    ) -> tuple[Sequence[Array], Sequence[Array]]:
        def heads(b: Body, part: Array) -> Heads:
            return Heads.of(b, part, b.element(now[0], b.par), b.element(table[0], []))

        def taken(b: Body, part: Array) -> Scalar:
            own = heads(b, part)
            return heads(b, parts[0]).first_is_next().select(own.one, own.other)

        def moved(b: Body) -> Scalar:
            own = heads(b, parts[0])
            return own.first_is_next().select(own.first + 1, own.first)

        outputs = [
            k.compute("argsort.taken", pairs, part.dtype, lambda b, part=part: taken(b, part))
            for part in parts
        ]
        return [k.compute("argsort.gone", pairs, I32, moved)], outputs

    _, *stacked = repeat([gone], [clock], step, steps)
    return [_turned(k, stack) for stack in stacked]


@dataclass(frozen=True)
class Heads:
    """The elements of two runs that come next, their places there, and the length of the runs."""

    one: Scalar
    other: Scalar
    first: Scalar
    second: Scalar
    length: int

    @staticmethod
    def of(b: Body, runs: Array, first: Scalar, step: Scalar) -> Heads:
        """Return the heads of pair b.par[-1] when `first` elements of its first run are gone."""
        length, second = runs.shape[-1], step - first

        def head(side: int, place: Scalar) -> Scalar:
            at = place.minimum(length - 1).cast(INDEX)
            return b.element(runs, [*b.par[:-1], b.par[-1] * 2 + side, at])

        return Heads(head(0, first), head(1, second), first, second, length)

    def first_is_next(self) -> Scalar:
        """Return whether the next element is of the first run, which has it if they are equal."""
        smaller = self.second.compare("ge", self.length) | self.one.compare("le", self.other)
        return self.first.compare("lt", self.length) & smaller


def _turned(k: Lowering, stack: Array) -> Array:
    """Return [steps, rows..] as [rows.., steps]."""
    shape = [*stack.shape[1:], stack.shape[0]]
    return k.compute(
        "argsort.run", shape, stack.dtype, lambda b: b.element(stack, [b.par[-1], *b.par[:-1]])
    )


def sort_by_network(k: Lowering, keys: Array, most: Number, levels: int, count: int) -> Array:
    """Return the first places of rows, made a power of two long by the largest keys at the end."""
    shape = (*keys.shape[:-1], 1 << levels)
    states = [
        k.compute("argsort.padded", shape, keys.dtype, lambda b: b.element(keys, b.par, most)),
        k.compute("argsort.start", shape, I32, lambda b: b.index(b.par[-1]).cast(I32)),
    ]
    tables = [k.constant(table) for table in bitonic_steps(levels)]

    def step(
        now: Sequence[Array], table: Sequence[Array]
    ) -> tuple[Sequence[Array], Sequence[Array]]:
        def chosen(b: Body, at: int) -> Scalar:
            return _exchanged(b, now, [b.element(entry, []) for entry in table], at)

        return [
            k.compute("argsort.step", shape, part.dtype, lambda b, at=at: chosen(b, at))
            for at, part in enumerate(now)
        ], []

    places = repeat(states, tables, step, tables[0].shape[0])[1]
    return k.compute(
        "argsort.sorted", [*keys.shape[:-1], count], I32, lambda b: b.element(places, b.par)
    )


def bitonic_steps(levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each step, the distance of partners and the length of runs that ascend or not."""
    pairs = [(1 << j, 2 << i) for i in range(levels) for j in range(i, -1, -1)]
    distances, runs = np.array(pairs, np.int32).reshape(-1, 2).T
    return np.ascontiguousarray(distances), np.ascontiguousarray(runs)


def _exchanged(b: Body, now: Sequence[Array], table: Sequence[Scalar], at: int) -> Scalar:
    """Return the smaller or the larger of an element and its partner, which is `distance` away.

    The one with the lower index takes the smaller one in runs that ascend.
    """
    distance, run = table
    place = b.index(b.par[-1]).cast(I32)
    partner = (place ^ distance).cast(INDEX)
    own = [b.element(state, b.par) for state in now]
    other = [b.element(state, [*b.par[:-1], partner]) for state in now]
    smaller = own[0].compare("lt", other[0])
    smaller = smaller | (own[0].compare("eq", other[0]) & own[1].compare("lt", other[1]))
    low, ascends = ((place & bit).compare("eq", 0) for bit in (distance, run))
    takes_small = ~(low ^ ascends)
    return (~(takes_small ^ smaller)).select(own[at], other[at])
