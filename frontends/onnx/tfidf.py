"""The converter of TfIdfVectorizer: all windows of all rows pass a tree of n-grams at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.movement import sliced
from nn_opt.frontends.onnx.node import (
    F32,
    I64,
    Attributes,
    BadNode,
    Node,
    Results,
    cast,
    constant,
    rank_of,
    reshaped,
    scalar_like,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import shape_of

Array = NDArray[Any]


@dataclass
class Grams:
    """The n-grams as a tree: an edge from a state by a token; state 0 is where all begin."""

    tokens: dict[Any, int]  # that occur, in order, with their places
    edges: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    columns: list[int] = field(default_factory=lambda: [-1])  # by state, of the result; -1 for none

    def add(self, gram: Sequence[Any], column: int) -> None:
        """Add an n-gram, counted in a column."""
        state = 0
        for token in gram:
            edge = (state, self.tokens[token])
            if edge not in self.edges:
                self.edges[edge] = len(self.columns)
                self.columns.append(-1)
            state = self.edges[edge]
        self.columns[state] = column


def grams_of(attrs: Attributes, pool: Sequence[Any]) -> Grams:
    """Return the n-grams of the sizes that are asked for; BadNode if the attributes disagree."""
    starts, columns = attrs.ints("ngram_counts") or [], attrs.ints("ngram_indexes") or []
    least, most = attrs.int("min_gram_length"), attrs.int("max_gram_length")
    if not columns or min(columns) < 0 or not 1 <= least <= most <= len(starts):
        raise BadNode("min_gram_length, max_gram_length and ngram_indexes do not fit ngram_counts")
    grams, number = Grams({token: k for k, token in enumerate(sorted(set(pool)))}), 0
    for size, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)], strict=True), 1):
        if not 0 <= start <= end <= len(pool) or (end - start) % size:
            raise BadNode(f"ngram_counts is {starts}, for a pool of {len(pool)} entries")
        for at in range(start, end, size):
            if number >= len(columns):
                raise BadNode(f"ngram_indexes has {len(columns)} entries, fewer than n-grams")
            if least <= size <= most:
                grams.add(pool[at : at + size], columns[number])
            number += 1
    return grams


def column_weights(attrs: Attributes, width: int) -> Array | None:
    """Return the weight of each column, which is that of its n-gram in the pool; None for ones."""
    given, columns = attrs.floats("weights") or [], attrs.ints("ngram_indexes") or []
    if not given:
        return None
    if len(given) != len(columns):
        raise BadNode(f"weights has {len(given)} entries, expected {len(columns)}")
    weights = np.zeros(width, np.float32)
    weights[columns] = given
    return weights


@converts("TfIdfVectorizer")
def tf_idf_vectorizer(node: Node) -> Results:
    """Counts n-grams, also with gaps between their tokens, of each row or of one vector."""
    attrs, x = node.attrs, node[0]
    if rank_of(x) not in (1, 2):
        raise BadNode(f"operand 0 has shape {list(shape_of(x))}, expected one row or several")
    pool = attrs.ints("pool_int64s")
    if not pool:
        raise BadNode("pool_int64s is missing or empty, expected it for an operand of numbers")
    width = max(attrs.ints("ngram_indexes") or [0]) + 1
    rows = reshaped(cast(x, I64), [1, *shape_of(x)]) if rank_of(x) == 1 else cast(x, I64)
    counts = _counts(Walk(grams_of(attrs, pool)), attrs, rows, width)
    result = _weighed(attrs, counts, width)
    return reshaped(result, [width]) if rank_of(x) == 1 else result


def _counts(walk: Walk, attrs: Attributes, rows: SSAValue, width: int) -> SSAValue:
    """Return how often each column is met, [B, width] of float32."""
    batch = shape_of(rows)[0]
    total = constant(np.zeros((batch, width + 1), np.float32))  # the last is for what is none
    for columns in walk.columns(attrs, walk.token(rows), width):
        ones = constant(np.ones(shape_of(columns), np.float32))
        total = graph.ScatterElementsOp(total, columns, ones, 1, "add").result
    return sliced(total, 1, 0, width)


class Walk:
    """Follows the edges of a tree; states and tokens are indices, one more stands for none."""

    def __init__(self, grams: Grams) -> None:
        self._grams = grams
        self._none = len(grams.columns)
        self._factor = len(grams.tokens) + 1
        edges = sorted(grams.edges.items())
        self._keys = np.asarray([s * self._factor + t for (s, t), _ in edges], np.int64)
        self._targets = np.asarray([target for _, target in edges], np.int64)

    def token(self, rows: SSAValue) -> SSAValue:
        """Return the place of each element among the tokens, or how many these are."""
        tokens = np.asarray([*self._grams.tokens], np.int64)
        return _found(rows, tokens, np.arange(len(tokens)), len(tokens))

    def columns(self, attrs: Attributes, tokens: SSAValue, width: int) -> Iterator[SSAValue]:
        """Yield the columns in which windows are counted, `width` for one in none."""
        least, most = attrs.int("min_gram_length"), attrs.int("max_gram_length")
        table = np.asarray([*self._grams.columns, -1], np.int64)
        table[table < 0] = width
        length = shape_of(tokens)[1]
        for gap in range(1, attrs.int("max_skip_count") + 2):
            state: SSAValue | None = None
            for size in range(1, most + 1):
                count = length - (size - 1) * gap
                if count <= 0:
                    break
                state = self._next(state, sliced(tokens, 1, (size - 1) * gap, count))
                if size >= least and (size > 1 or gap == 1):
                    yield graph.GatherOp(constant(table), state).result

    def _next(self, state: SSAValue | None, tokens: SSAValue) -> SSAValue:
        keys = tokens
        if state is not None:
            first = sliced(state, 1, 0, shape_of(tokens)[1])
            scaled = graph.MulOp(first, scalar_like(self._factor, first)).result
            keys = graph.AddOp(scaled, tokens).result
        return _found(keys, self._keys, self._targets, self._none)


def _found(x: SSAValue, keys: Array, values: Array, none: int) -> SSAValue:
    """Return values by keys, which ascend, and `none` for what is no key."""
    flat = reshaped(x, [shape_of(x)[0] * shape_of(x)[1]])
    places = graph.SearchSortedOp(constant(keys), flat).result
    places = graph.MinimumOp(places, scalar_like(len(keys) - 1, places)).result
    hit = graph.EqualOp(graph.GatherOp(constant(keys), places).result, flat).result
    value = graph.GatherOp(constant(values.astype(np.int64)), places).result
    return reshaped(graph.WhereOp(hit, value, scalar_like(none, value)).result, shape_of(x))


MODES = {"TF": (True, False), "IDF": (False, True), "TFIDF": (True, True)}


def _weighed(attrs: Attributes, counts: SSAValue, width: int) -> SSAValue:
    """Return counts, or one for what is there, times weights if the mode has these."""
    counted, weighed = attrs.choice("mode", "TF", MODES)
    weights = column_weights(attrs, width)
    if not counted:
        counts = cast(graph.GreaterOp(counts, scalar_like(0, counts)).result, F32)
    if not weighed or weights is None:
        return counts
    return graph.MulOp(counts, constant(weights)).result
