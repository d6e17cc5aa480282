"""Converters of operators that select, as `bounded` rewrites them: all there can be, and a size."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.bounded import DOMAIN
from nn_opt.frontends.onnx.node import (
    I64,
    BadNode,
    Node,
    Results,
    axis_in,
    cast,
    constant,
    int64s,
    rank_of,
    reshaped,
    scalar_like,
    transposed,
)
from nn_opt.frontends.onnx.scan import scan
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, mlir_type, shape_of

UI8, I32 = mlir_type(np.uint8), mlir_type(np.int32)
MOST_POWER = 24  # of the sizes that are asked for


@converts("Cut", domain=DOMAIN)
def cut(node: Node) -> Results:
    """The first elements along an axis."""
    x, (size, *_) = node[0], node.known_ints(1) or [0]
    shape = list(shape_of(x))
    shape[node.attrs.int("axis")] = size
    return graph.SliceOp(x, [0] * len(shape), shape, [1] * len(shape)).result


def vector(x: SSAValue) -> SSAValue:
    """Return all elements in row-major order."""
    return reshaped(x, [math.prod(shape_of(x))])


def part(x: SSAValue, start: int, size: int) -> SSAValue:
    """Return some elements of a vector."""
    return graph.SliceOp(x, [start], [size], [1]).result


def running_count(mask: SSAValue) -> SSAValue:
    """Return, as i32, how many of a vector's elements up to each hold."""
    return graph.CumSumOp(cast(mask, I32), 0).result


def held(mask: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return the places where a vector of bools holds, then all others, and how many hold, as a
    vector of one element.
    """
    count = shape_of(mask)[0]
    if not count:
        return constant(np.zeros(0, np.int64)), constant(np.zeros(1, np.int64))
    places = graph.ArgSortOp(mask, descending=True).result
    return places, cast(graph.ReduceOp(cast(mask, I32), "sum", [0], True).result, I64)


def single(value: SSAValue, what: str) -> SSAValue:
    """Return the one element of an operand as a scalar; BadNode if it has several."""
    if math.prod(shape_of(value)) != 1:
        raise BadNode(f"{what} has shape {list(shape_of(value))}, expected one element")
    return reshaped(value, [])


def coordinates(places: SSAValue, shape: Sequence[int]) -> list[SSAValue]:
    """Return the index along each axis of places in row-major order."""
    found: list[SSAValue] = []
    for axis, size in enumerate(shape):
        step = math.prod(shape[axis + 1 :])
        index = graph.DivOp(places, scalar_like(step, places)).result if step != 1 else places
        if axis:
            index = graph.ModOp(index, scalar_like(max(size, 1), places)).result
        found.append(index)
    return found


def _in_columns(values: Sequence[SSAValue], axis: int) -> SSAValue:
    """Return vectors side by side along a new axis."""
    count = shape_of(values[0])[0]
    shape = [1, count] if axis == 0 else [count, 1]
    return graph.ConcatOp([reshaped(value, shape) for value in values], axis).result


def _holds(x: SSAValue) -> SSAValue:
    """Return whether numbers are not zero."""
    x = cast(x, UI8) if element_type(x) == mlir_type(np.bool_) else x
    return graph.NotOp(graph.EqualOp(x, scalar_like(0, x)).result).result


@converts("NonZero", domain=DOMAIN)
def non_zero(node: Node) -> Results:
    """A scalar has no axes, so that of its coordinates none are listed."""
    x = node[0]
    places, count = held(_holds(vector(x)))
    if not rank_of(x) or 0 in shape_of(x):
        return [constant(np.zeros((rank_of(x), shape_of(places)[0]), np.int64)), count]
    return [_in_columns(coordinates(places, shape_of(x)), 0), count]


@converts("Compress", domain=DOMAIN)
def compress(node: Node) -> Results:
    """The slices along an axis where the condition holds; what it does not reach is left out."""
    x, condition = node[0], node[1]
    if "axis" not in node.attrs:
        x = vector(x)
    axis = axis_in(node.attrs.int("axis", 0), rank_of(x))
    reached = min(shape_of(condition)[0], shape_of(x)[axis])
    places, count = held(part(condition, 0, reached))
    return [graph.GatherOp(x, places, axis).result, count]


def _differs(a: SSAValue, b: SSAValue) -> SSAValue:
    """Return where elements differ; NaN is like NaN."""
    if element_type(a) == mlir_type(np.bool_):
        a, b = cast(a, UI8), cast(b, UI8)
    same = graph.EqualOp(a, b).result
    if isinstance(element_type(a), AnyFloat):
        none = graph.AndOp(graph.IsNaNOp(a).result, graph.IsNaNOp(b).result).result
        same = graph.OrOp(same, none).result
    return graph.NotOp(same).result


def _gathered(x: SSAValue, places: SSAValue, axis: int = 0) -> SSAValue:
    return graph.GatherOp(x, places, axis).result


def _inverse(order: SSAValue) -> SSAValue:
    """Return at which place each number of a permutation is."""
    return graph.ArgSortOp(cast(order, I32)).result


def _sorted_rows(rows: SSAValue) -> SSAValue:
    """Return the places of rows in order: a stable sort by the last column, ... by the first."""
    count, columns = shape_of(rows)
    if columns == 1:
        return graph.ArgSortOp(reshaped(rows, [count])).result

    def step(
        states: Sequence[SSAValue], slices: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        order = graph.ArgSortOp(_gathered(slices[0], states[0])).result
        return [_gathered(states[0], order)], []

    start = int64s(range(count))
    return scan([start], [transposed(rows, [1, 0])], step, reverse=True)[0]


def _starts(rows: SSAValue, order: SSAValue) -> SSAValue:
    """Return whether each row in order is another one than that before; the first is."""
    count, columns = shape_of(rows)
    ordered = _gathered(rows, order)
    size = [count - 1, columns]
    after, before = (graph.SliceOp(ordered, [at, 0], size, [1, 1]).result for at in (1, 0))
    differs = cast(_differs(after, before), UI8)
    some = graph.ReduceOp(differs, "max", [1], False).result
    return graph.ConcatOp([constant(np.ones(1, np.uint8)), some], 0).result


@converts("Unique", domain=DOMAIN)
def unique(node: Node) -> Results:
    """Sort; equal rows are neighbours then, and the first of them is the first of all."""
    x = node[0] if "axis" in node.attrs else vector(node[0])
    axis = axis_in(node.attrs.int("axis", 0), rank_of(x))
    count = shape_of(x)[axis]
    if not math.prod(shape_of(x)):  # rows of nothing are all alike
        first = constant(np.zeros(count, np.int64))
        counts = constant(np.full(count, count, np.int64))
        return [x, first, first, counts, int64s([min(count, 1)])]
    front = transposed(x, [axis, *(a for a in range(rank_of(x)) if a != axis)])
    rows = reshaped(front, [count, math.prod(shape_of(x)) // count])
    order = _sorted_rows(rows)
    groups = cast(running_count(_starts(rows, order)), I64)
    size = part(groups, count - 1, 1)
    ends = graph.SearchSortedOp(groups, int64s(range(1, count + 1)), right=True).result
    begins = graph.ConcatOp([int64s([0]), part(ends, 0, count - 1)], 0).result
    counts = graph.SubOp(ends, begins).result
    last = scalar_like(count - 1, begins)
    first = _gathered(order, graph.MinimumOp(begins, last).result)
    group = graph.SubOp(groups, scalar_like(1, groups)).result
    group = _gathered(group, _inverse(order))
    if not node.attrs.flag("sorted", True):
        by_place = graph.ArgSortOp(_hidden(first, size, count)).result
        first, counts = _gathered(first, by_place), _gathered(counts, by_place)
        group = _gathered(_inverse(by_place), group)
    return [_gathered(x, first, axis), first, group, counts, size]


def _hidden(first: SSAValue, size: SSAValue, count: int) -> SSAValue:
    """Return places, those that belong to no group after all others."""
    real = graph.LessOp(int64s(range(count)), size).result
    return graph.WhereOp(real, first, scalar_like(count, first)).result


@converts("RemovePadding", domain=DOMAIN)
def remove_padding(node: Node) -> Results:
    """Rows of all sequences, without padding first, where each was, sums of lengths, the longest;
    and how many rows are no padding."""
    x, counts = node[0], cast(node[1], I64)
    batch, length, hidden = shape_of(x)
    column = reshaped(counts, [batch, 1])
    padding = graph.GreaterEqualOp(constant(np.arange(length)), column).result
    order = graph.ArgSortOp(reshaped(cast(padding, I32), [batch * length])).result
    rows = graph.GatherOp(reshaped(x, [batch * length, hidden]), order, 0).result
    sums = graph.CumSumOp(counts, 0).result
    ends = graph.ConcatOp([constant(np.zeros(1, np.int64)), sums], 0).result
    longest = graph.ReduceOp(counts, "max", [0], True).result
    places = cast(reshaped(order, [batch, length]), I32)
    return [rows, places, cast(ends, I32), cast(longest, I32), part(sums, batch - 1, 1)]


def _power_of_two(x: SSAValue) -> SSAValue:
    """Return the least power of two that is not smaller, as a vector of one i64.

    Programs are made for such sizes, so that there are few of them.
    """
    powers = constant(2 ** np.arange(MOST_POWER))
    larger = graph.LessOp(powers, reshaped(x, [1])).result
    total = graph.ReduceOp(
        graph.WhereOp(larger, powers, scalar_like(0, powers)).result, "sum", [0], True
    ).result
    return graph.AddOp(total, scalar_like(1, total)).result


@converts("Samples", domain=DOMAIN)
def samples(node: Node) -> Results:
    """How many samples a bin of the largest region takes along an axis, at most."""
    rois = cast(node[0], mlir_type(np.float64))
    count = shape_of(rois)[0]
    if not count:
        return int64s([1])
    ends, starts = (graph.SliceOp(rois, [0, at], [count, 2], [1, 1]).result for at in (2, 0))
    bins = [node.attrs.int("output_width", 1), node.attrs.int("output_height", 1)]
    factors = constant(node.attrs.float("spatial_scale", 1.0) / np.asarray(bins, np.float64))
    extents = graph.MulOp(graph.SubOp(ends, starts).result, factors).result
    largest = graph.ReduceOp(graph.CeilOp(extents).result, "max", [0, 1], False).result
    top = graph.MinimumOp(largest, scalar_like(2.0**MOST_POWER, largest)).result
    return _power_of_two(cast(graph.MaximumOp(top, scalar_like(1, top)).result, I64))


@converts("Candidates", domain=DOMAIN)
def candidates(node: Node) -> Results:
    """How many boxes of a class are above the threshold, at most."""
    scores, threshold = node[0], single(node[1], "score_threshold")
    above = cast(graph.GreaterOp(scores, cast(threshold, element_type(scores))).result, I64)
    most = graph.ReduceOp(graph.ReduceOp(above, "sum", [2], False).result, "max", [0, 1], False)
    return _power_of_two(most.result)
