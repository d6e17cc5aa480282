"""Converters of com.microsoft's operators that count, cut windows, crop and compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.contrib import contrib
from nn_opt.frontends.onnx.contrib_linear import channels_first, channels_last
from nn_opt.frontends.onnx.movement import sliced
from nn_opt.frontends.onnx.node import (
    I64,
    BadNode,
    Node,
    Results,
    axes_in,
    axis_in,
    cast,
    constant,
    dtype_of,
    rank_of,
    reshaped,
    scalar_like,
    transposed,
)
from nn_opt.frontends.onnx.quantize import widened
from nn_opt.frontends.onnx.shape import range_
from nn_opt.ir.types import mlir_type, shape_of

I32 = mlir_type(np.int32)


@contrib("Range", needs=2, most=3)
def counted(node: Node) -> Results:
    """As in the main operator set, by ones if no step is given."""
    step = node.get(2)
    step = constant(np.ones((), dtype_of(node[0]))) if step is None else step
    return range_(replace(node, operands=[node[0], node[1], step]))


@contrib("UnfoldTensor", needs=1, attrs="dim size! step")
def unfold(node: Node) -> Results:
    """All slices of a size along an axis, one every few places, on a new last axis."""
    x, rank = node[0], rank_of(node[0])
    axis = axis_in(node.attrs.int("dim", -1), rank)
    size, step = node.attrs.int("size"), node.attrs.int("step", 1)
    length = shape_of(x)[axis]
    if not 1 <= size <= length or step < 1:
        raise BadNode(f"slices of {size}, {step} apart, do not fit {length} elements")
    starts = np.arange(0, length - size + 1, step)
    slices = graph.GatherOp(x, constant(starts[:, None] + np.arange(size)), axis).result
    order = [k for k in range(rank + 1) if k != axis + 1]
    return transposed(slices, [*order, axis + 1])


@contrib("MulInteger", needs=(0, 2), most=4)
def product_of_integers(node: Node) -> Results:
    """Operands: a, its zero point, b, its zero point; the product in int32."""
    a, b = (widened(node[index], node.get(index + 1)) for index in (0, 2))
    return graph.MulOp(a, b).result


@contrib("ReduceSumInteger", needs=1, attrs="axes! keepdims!")
def sum_of_integers(node: Node) -> Results:
    axes = axes_in(node.attrs.ints("axes") or [], rank_of(node[0]))
    return graph.ReduceOp(cast(node[0], I32), "sum", axes, node.attrs.flag("keepdims")).result


@contrib("IsAllFinite", needs=1, most=1 << 16, attrs="isinf_only isnan_only")
def is_all_finite(node: Node) -> Results:
    """Whether no element of any operand is infinite or NaN, or only one of the two."""
    kinds = [name for name in ("isinf_only", "isnan_only") if node.attrs.flag(name)]
    if len(kinds) > 1:
        raise BadNode("isinf_only and isnan_only exclude each other")
    found: list[SSAValue] = []
    for x in node.present():
        odd = [] if kinds == ["isinf_only"] else [graph.IsNaNOp(x).result]
        odd += [] if kinds == ["isnan_only"] else [graph.IsInfOp(x).result]
        found += [_any(value) for value in odd]
    total = graph.ConcatOp(found, 0).result
    return graph.NotOp(reshaped(_any(total), [])).result


def _any(mask: SSAValue) -> SSAValue:
    """Return whether an element holds, as a vector of one."""
    ones = cast(mask, mlir_type(np.uint8))
    most = graph.ReduceOp(ones, "max", range(rank_of(ones)), False).result
    return reshaped(cast(most, mlir_type(np.bool_)), [1])


@contrib("ComplexMul", "ComplexMulConj", needs=2)
def complex_product(node: Node) -> Results:
    """Numbers whose two parts are along the last axis; the second one may be conjugated."""
    (a, b), (c, d) = (_parts(node[index]) for index in (0, 1))
    first, second = graph.MulOp(a, c).result, graph.MulOp(b, d).result
    third, fourth = graph.MulOp(a, d).result, graph.MulOp(b, c).result
    if node.proto.op_type == "ComplexMul":
        parts = [graph.SubOp(first, second).result, graph.AddOp(third, fourth).result]
    else:
        parts = [graph.AddOp(first, second).result, graph.SubOp(fourth, third).result]
    return graph.ConcatOp(parts, -1).result


def _parts(x: SSAValue) -> tuple[SSAValue, SSAValue]:
    if shape_of(x)[-1:] != (2,):
        raise BadNode(f"operand has shape {list(shape_of(x))}, expected 2 parts on the last axis")
    real, imaginary = (sliced(x, rank_of(x) - 1, at, 1) for at in (0, 1))
    return real, imaginary


@contrib("NGramRepeatBlock", needs=2, attrs="ngram_size!")
def no_repeated_ngrams(node: Node) -> Results:
    """Scores of words after which the last words would occur a second time become -infinity."""
    words, scores, size = node[0], node[1], node.attrs.int("ngram_size")
    length = shape_of(words)[1]
    if size < 1:
        raise BadNode(f"ngram_size is {size}, expected at least 1")
    count = length - size + 1  # n-grams that are there
    if count < 1:
        return scores
    repeats = _repeats(words, size) if size > 1 else constant(np.asarray(True))
    lowest, highest = scalar_like(-np.inf, scores), scalar_like(np.inf, scores)
    limits = graph.WhereOp(repeats, lowest, highest).result
    banned = sliced(words, 1, size - 1, count)
    limits = graph.ExpandOp(limits, shape_of(banned)).result if size == 1 else limits
    return graph.ScatterElementsOp(scores, banned, limits, 1, "min").result


def _repeats(words: SSAValue, size: int) -> SSAValue:
    """Return which n-grams begin as the last one that is to come does."""
    batch, length = shape_of(words)
    places = np.arange(length - size + 1)[:, None] + np.arange(size - 1)
    before = graph.GatherOp(words, constant(places), 1).result
    last = reshaped(sliced(words, 1, length - size + 1, size - 1), [batch, 1, size - 1])
    differs = graph.NotOp(graph.EqualOp(before, last).result).result
    worst = graph.ReduceOp(cast(differs, mlir_type(np.uint8)), "max", [2], False).result
    return graph.EqualOp(worst, scalar_like(0, worst)).result


@contrib("CropAndResize", needs=4, attrs="mode extrapolation_value")
def crop_and_resize(node: Node) -> Results:
    """Operands: images, regions [y1, x1, y2, x2] from 0 to 1, the image of each, the size."""
    x, regions = node[0], node[1]
    size = node.known_ints(3) or []
    if rank_of(x) != 4 or len(size) != 2 or min(size) < 1:
        raise BadNode(f"crops of size {size} from {list(shape_of(x))}, expected [N, C, H, W]")
    nearest = node.attrs.choice("mode", "bilinear", {"bilinear": False, "nearest": True})
    images = reshaped(cast(node[2], I64), [shape_of(regions)[0], 1, 1])
    places = [_places(regions, axis, size[axis], shape_of(x)[2 + axis]) for axis in (0, 1)]
    rows, columns = (_spread(place, axis) for axis, place in enumerate(places))
    crops = _Crops(channels_last(x), images)
    if nearest:
        y = crops.at(*(_half_away(place) for place in (rows, columns)))
    else:
        y = crops.between(rows, columns)
    inside = graph.AndOp(
        *(_within(p, n) for p, n in zip((rows, columns), shape_of(x)[2:], strict=True))
    ).result
    outer = scalar_like(node.attrs.float("extrapolation_value"), y)
    inside = reshaped(inside, [*shape_of(inside), 1])
    return channels_first(graph.WhereOp(inside, y, outer).result)


def _places(regions: SSAValue, axis: int, count: int, length: int) -> SSAValue:
    """Return where along an axis of the image the elements of each crop are, [crops, count]."""
    first, last = (sliced(regions, 1, axis + at, 1) for at in (0, 2))
    end = scalar_like(length - 1, regions)
    if count == 1:
        total = graph.MulOp(graph.AddOp(first, last).result, end).result
        return graph.MulOp(total, scalar_like(0.5, total)).result
    extent = graph.MulOp(graph.SubOp(last, first).result, end).result
    step = graph.DivOp(extent, scalar_like(count - 1, extent)).result
    numbers = constant(np.arange(count).astype(dtype_of(regions)))
    return graph.AddOp(graph.MulOp(first, end).result, graph.MulOp(step, numbers).result).result


def _spread(places: SSAValue, axis: int) -> SSAValue:
    crops, count = shape_of(places)
    return reshaped(places, [crops, count, 1] if axis == 0 else [crops, 1, count])


def _within(place: SSAValue, length: int) -> SSAValue:
    low = graph.GreaterEqualOp(place, scalar_like(0, place)).result
    return graph.AndOp(low, graph.LessEqualOp(place, scalar_like(length - 1, place)).result).result


def _half_away(place: SSAValue) -> SSAValue:
    """Return the nearest integer, halves upwards; places that count are not negative."""
    return graph.FloorOp(graph.AddOp(place, scalar_like(0.5, place)).result).result


class _Crops:
    """Elements of images [N, H, W, C], at places [crops, rows, columns]."""

    def __init__(self, images: SSAValue, which: SSAValue) -> None:
        self._images = images
        self._which = which

    def at(self, rows: SSAValue, columns: SSAValue) -> SSAValue:
        """Return elements at whole places; those outside are at the border."""
        _, height, width, _ = shape_of(self._images)
        parts = [self._which, _clamped(rows, height), _clamped(columns, width)]
        shape = np.broadcast_shapes(*(shape_of(part) for part in parts))
        indices = [_expanded(part, [*shape, 1]) for part in parts]
        return graph.GatherNDOp(self._images, graph.ConcatOp(indices, 3).result).result

    def between(self, rows: SSAValue, columns: SSAValue) -> SSAValue:
        """Return what is interpolated of four elements."""
        top, left = (graph.FloorOp(place).result for place in (rows, columns))
        bottom, right = (graph.CeilOp(place).result for place in (rows, columns))
        down, across = graph.SubOp(rows, top).result, graph.SubOp(columns, left).result
        above = _mixed(self.at(top, left), self.at(top, right), across)
        below = _mixed(self.at(bottom, left), self.at(bottom, right), across)
        return _mixed(above, below, down)


def _mixed(a: SSAValue, b: SSAValue, share: SSAValue) -> SSAValue:
    share = reshaped(share, [*shape_of(share), 1])
    return graph.AddOp(a, graph.MulOp(graph.SubOp(b, a).result, share).result).result


def _clamped(place: SSAValue, length: int) -> SSAValue:
    low, high = scalar_like(0, place), scalar_like(length - 1, place)
    return cast(graph.ClipOp(place, low, high).result, I64)


def _expanded(place: SSAValue, shape: Sequence[int]) -> SSAValue:
    return graph.ExpandOp(reshaped(place, [*shape_of(place), 1]), list(shape)).result
