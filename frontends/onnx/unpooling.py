"""Converters of what undoes windows, and of where a maximum comes from: Col2Im, MaxUnpool."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.dialects.graph.shapes import window_shape
from nn_opt.frontends.onnx.nn import Window
from nn_opt.frontends.onnx.node import (
    I64,
    Array,
    BadNode,
    Node,
    Results,
    cast,
    check_count,
    constant,
    dtype_of,
    reshaped,
    scalar,
    scalar_like,
    transposed,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, shape_of

FEW_TAPS = 32  # of a window, each of which is moved by itself
FEW = 1 << 16  # updates times elements that are looked through one by one


def window_elements(
    window: Window, image: Sequence[int], counts: Sequence[int]
) -> tuple[Array, Array]:
    """Return, for each window and place in it, the index in the image, and whether it is there.

    Shapes: [windows, places] both, in row-major order.
    """
    rank = len(image)
    starts = np.indices(tuple(counts)).reshape(rank, -1, 1)
    taps = np.indices(tuple(window.kernel)).reshape(rank, 1, -1)
    index = np.zeros((1, 1), np.int64)
    inside = np.ones((1, 1), np.bool_)
    for axis, size in enumerate(image):
        at = starts[axis] * window.strides[axis] + taps[axis] * window.dilations[axis]
        at = at - window.pads[axis]
        index = index * size + at
        inside = inside & (at >= 0) & (at < size)
    return index, inside


@converts("Col2Im")
def col2im(node: Node) -> Results:
    """Each element of the image adds up the places of windows that it is in."""
    image, block = node.known_ints(1) or [], node.known_ints(2) or []
    rank, attrs = len(image), node.attrs
    strides = attrs.ints("strides") or [1] * rank
    dilations = attrs.ints("dilations") or [1] * rank
    window = Window(block, strides, dilations, attrs.ints("pads") or [0] * (2 * rank))
    counts = window_shape(image, block, strides, window.pads, dilations)
    images, columns, length = shape_of(node[0])
    if columns % math.prod(block) or length != math.prod(counts):
        shape = list(shape_of(node[0]))
        raise BadNode(f"operand has shape {shape}, expected {math.prod(counts)} blocks of {block}")
    channels = columns // math.prod(block)
    if math.prod(block) <= FEW_TAPS and math.prod([*image, *shape_of(node[0])]):
        places = reshaped(node[0], [images, channels, math.prod(block), *counts])
        return _folded(places, window, image)
    table = _sources(window, image, counts)
    check_count(table.size)
    flat = reshaped(node[0], [images, channels, columns // channels * length])
    if (table == shape_of(flat)[-1]).any():
        flat = graph.PadOp(flat, [0, 0, 0, 0, 0, 1]).result
    parts = graph.GatherOp(flat, constant(table), 2).result
    kind = "max" if dtype_of(flat) == np.bool_ else "sum"
    total = graph.ReduceOp(parts, kind, [2], False).result
    return reshaped(total, [images, channels, *image])


def _folded(places: SSAValue, window: Window, image: Sequence[int]) -> SSAValue:
    """Return [images, channels, *image] as sums of places [images, channels, taps, *windows].

    With strides, a tap reaches every few elements from a first one on. Those with the same first
    one are shifted, cropped or padded, and summed; then the sums go side by side.
    """
    strides = window.strides
    sizes = [-(-size // stride) for size, stride in zip(image, strides, strict=True)]
    add = graph.OrOp if dtype_of(places) == np.bool_ else graph.AddOp
    sums: dict[tuple[int, ...], SSAValue] = {}
    for number, tap in enumerate(np.ndindex(tuple(window.kernel))):
        steps = zip(tap, window.dilations, window.pads, strict=False)
        starts = [at * dilation - pad for at, dilation, pad in steps]
        first = tuple(start % stride for start, stride in zip(starts, strides, strict=True))
        before = [start // stride for start, stride in zip(starts, strides, strict=True)]
        moved = _moved(places, number, before, sizes)
        sums[first] = add(sums[first], moved).result if first in sums else moved
    shape = [*shape_of(places)[:2], 1, *sizes]
    missing = graph.ExpandOp(scalar_like(0, places), shape).result
    firsts = [sums.get(at, missing) for at in np.ndindex(tuple(strides))]
    return _side_by_side(firsts, strides, image)


def _moved(places: SSAValue, tap: int, before: Sequence[int], sizes: Sequence[int]) -> SSAValue:
    """Return [images, channels, 1, *sizes]: what one tap adds, zeros where it adds nothing."""
    _, _, taps, *counts = shape_of(places)
    extents = zip(sizes, counts, before, strict=True)
    after = [size - count - begin for size, count, begin in extents]
    pads = [0, 0, -tap, *before, 0, 0, tap + 1 - taps, *after]
    return graph.PadOp(places, pads).result


def _side_by_side(
    firsts: Sequence[SSAValue], strides: Sequence[int], image: Sequence[int]
) -> SSAValue:
    """Return [images, channels, *image] from each first element with those that follow it."""
    images, channels, _, *sizes = shape_of(firsts[0])
    rank = len(sizes)
    if len(firsts) == 1:
        return reshaped(firsts[0], [images, channels, *image])
    together = graph.ConcatOp(firsts, 2).result
    apart = reshaped(together, [images, channels, *strides, *sizes])
    turns = [axis for pair in zip(range(rank), range(rank), strict=True) for axis in pair]
    order = [2 + axis + rank * (1 - k % 2) for k, axis in enumerate(turns)]
    full = [size * stride for size, stride in zip(sizes, strides, strict=True)]
    whole = reshaped(transposed(apart, [0, 1, *order]), [images, channels, *full])
    ones = [1] * (2 + rank)
    return graph.SliceOp(whole, [0] * (2 + rank), [images, channels, *image], ones).result


def _sources(window: Window, image: Sequence[int], counts: Sequence[int]) -> Array:
    """Return which columns each element of the image adds up: [most, elements].

    A column is place * windows + window; where there are fewer, the one after the last.
    """
    index, inside = window_elements(window, image, counts)
    windows, places = math.prod(counts), math.prod(window.kernel)
    columns: Array = np.add.outer(np.arange(windows), np.arange(places) * windows)
    targets, sources = index[inside], columns[inside]
    order = np.lexsort((sources, targets))
    targets, sources = targets[order], sources[order]
    number = np.bincount(targets, minlength=math.prod(image))
    most = max(int(number.max(initial=0)), 1)
    table = np.full((most, math.prod(image)), windows * places, np.int64)
    rank = np.arange(len(targets)) - np.repeat(np.cumsum(number) - number, number)
    table[rank, targets] = sources
    return table


@converts("MaxUnpool")
def max_unpool(node: Node) -> Results:
    """Zeros with the elements at their indices; of several, the last; at the begin of the shape."""
    x, indices = node[0], node[1]
    attrs, spatial = node.attrs, shape_of(node[0])[2:]
    kernel = attrs.ints("kernel_shape") or []
    strides = attrs.ints("strides") or [1] * len(kernel)
    pads = attrs.ints("pads") or [0] * (2 * len(kernel))
    sizes = [
        (size - 1) * stride - begin - end + extent
        for size, stride, extent, begin, end in zip(
            spatial, strides, kernel, pads[: len(kernel)], pads[len(kernel) :], strict=True
        )
    ]
    shape = [*shape_of(x)[:2], *sizes]
    result = reshaped(scattered(x, indices, math.prod(shape)), shape)
    wanted = node.known_ints(2)
    if wanted is None or wanted == shape:
        return result
    more = [want - size for want, size in zip(wanted, shape, strict=True)]
    return graph.PadOp(result, [0] * len(shape) + more).result


def scattered(x: SSAValue, indices: SSAValue, size: int) -> SSAValue:
    """Return a vector of zeros with all elements of x at their indices; of several, the last.

    Many indices are sorted, so that each element of the result finds its own.
    """
    count = math.prod(shape_of(x))
    x, indices = reshaped(x, [count]), reshaped(indices, [count])
    if not count or count * size <= FEW:
        zeros = constant(np.zeros(size, dtype_of(x)))
        return graph.ScatterElementsOp(zeros, indices, x).result
    order = graph.ArgSortOp(indices).result
    ordered = graph.GatherOp(indices, order, 0).result
    places = constant(np.arange(size, dtype=np.int64))
    after = graph.SearchSortedOp(ordered, places, right=True).result
    last = graph.MaximumOp(
        graph.SubOp(after, scalar_like(1, after)).result, scalar_like(0, after)
    ).result
    hit = graph.EqualOp(graph.GatherOp(ordered, last, 0).result, places).result
    found = graph.GatherOp(x, graph.GatherOp(order, last, 0).result, 0).result
    return graph.WhereOp(hit, found, scalar_like(0, x)).result


def pool_indices(x: SSAValue, largest: SSAValue, window: Window, *, by_columns: bool) -> SSAValue:
    """Return which element of the whole tensor is each window's maximum, the first of several.

    by_columns: elements of an image are counted along its first axis first.
    """
    images, channels, *image = shape_of(x)
    counts = shape_of(largest)[2:]
    plane, (index, inside) = math.prod(image), window_elements(window, image, counts)
    flat = reshaped(x, [images, channels, plane])
    if not inside.all():
        lowest = scalar(_lowest(dtype_of(x)), element_type(x))
        flat = graph.PadOp(flat, [0, 0, 0, 0, 0, 1], value=lowest).result
    sources = np.ascontiguousarray(np.where(inside, index, plane).T)  # [places, windows]
    windows = graph.GatherOp(flat, constant(sources), 2).result
    best = reshaped(largest, [images, channels, 1, math.prod(counts)])
    names = constant(np.minimum(sources, plane - 1).astype(np.int32))  # padding is never the first
    chosen = graph.WhereOp(_is_one(windows, best), names, scalar_like(plane - 1, names)).result
    found = cast(graph.ReduceOp(chosen, "min", [2], False).result, I64)
    if by_columns:
        found = _by_columns(found, image)
    offsets = (np.arange(images * channels) * plane).reshape(images, channels, 1)
    total = graph.AddOp(found, constant(offsets.astype(np.int64))).result
    return reshaped(total, [images, channels, *counts])


def _is_one(x: SSAValue, largest: SSAValue) -> SSAValue:
    """Return whether elements are the largest, which is NaN where one of them is."""
    same = graph.EqualOp(x, largest).result
    if not isinstance(element_type(x), AnyFloat):
        return same
    return graph.OrOp(same, graph.IsNaNOp(x).result).result


def _by_columns(places: SSAValue, image: Sequence[int]) -> SSAValue:
    """Return places in row-major order as those in column-major order."""
    total, step = scalar_like(0, places), math.prod(image)
    for size in reversed(image):
        step //= size
        at = graph.ModOp(places, scalar_like(size, places)).result
        places = graph.DivOp(places, scalar_like(size, places)).result
        total = graph.AddOp(total, graph.MulOp(at, scalar_like(step, places)).result).result
    return total


def _lowest(dtype: np.dtype[Any]) -> float | int:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -math.inf
