"""What the graph ops that move elements mean, in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from nn_opt.dialects import graph
from nn_opt.dialects.graph.layouts import Layout, parse_layout
from nn_opt.dialects.graph.resampling import Axis, Taps, axis_taps, resample
from nn_opt.ir.types import shape_of
from nn_opt.reference.graph_elementwise import Meaning, as_type, is_float

Array = NDArray[Any]


def resized(x: Array, begins: Sequence[int], ends: Sequence[int], fill: Any) -> Array:
    """Return x with elements added at both ends of each axis, or cut where negative."""
    cut = cropped(x, begins, ends)
    pads = positive_pads(begins, ends)
    return np.pad(cut, pads, constant_values=fill) if any(map(any, pads)) else cut


def cropped(x: Array, begins: Sequence[int], ends: Sequence[int]) -> Array:
    """Return x without what negative begins and ends cut off."""
    pairs = zip(begins, ends, x.shape, strict=True)
    return x[tuple(slice(max(-b, 0), size + min(e, 0)) for b, e, size in pairs)]


def positive_pads(begins: Sequence[int], ends: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs that numpy.pad takes, 0 for negative ones."""
    return [(max(b, 0), max(e, 0)) for b, e in zip(begins, ends, strict=True)]


def pad(op: graph.PadOp, x: Array, value: Array | None = None) -> Array:
    pads = op.pads.get_values()
    begins, ends = pads[: x.ndim], pads[x.ndim :]
    if op.mode.data == "constant":
        fill = np.zeros((), x.dtype) if value is None else value.reshape(())
        return resized(x, begins, ends, fill)
    mode: Any = op.mode.data
    return np.pad(cropped(x, begins, ends), positive_pads(begins, ends), mode=mode)


def slice_(op: graph.SliceOp, x: Array) -> Array:
    fields = (op.starts.get_values(), op.sizes.get_values(), op.steps.get_values())
    for axis, (start, size, step) in enumerate(zip(*fields, strict=True)):
        x = np.take(x, start + step * np.arange(size), axis)
    return x


def gather_nd(op: graph.GatherNDOp, x: Array, indices: Array) -> Array:
    outer = np.indices(indices.shape[:-1], sparse=True)[: op.batch_dims.value.data]
    return x[(*outer, *np.moveaxis(indices, -1, 0))]


# What an update does to the element that is there, at indices that may repeat.
SCATTER: dict[str, Callable[[Array, Any, Array], None]] = {
    "none": lambda x, at, updates: x.__setitem__(at, updates),
    "add": np.add.at,
    "mul": np.multiply.at,
    "max": np.maximum.at,
    "min": np.minimum.at,
}


def scatter_nd(op: graph.ScatterNDOp, x: Array, indices: Array, updates: Array) -> Array:
    result = x.copy()
    SCATTER[op.reduction.data](result, tuple(np.moveaxis(indices, -1, 0)), updates)
    return result


def scatter_elements(
    op: graph.ScatterElementsOp, x: Array, indices: Array, updates: Array
) -> Array:
    result = x.copy()
    at: list[Array] = list(np.indices(indices.shape, sparse=True))
    axis = op.axis.value.data
    at[axis] = np.where(indices < 0, indices + x.shape[axis], indices)
    SCATTER[op.reduction.data](result, tuple(at), updates)
    return result


def gather_elements(op: graph.GatherElementsOp, x: Array, indices: Array) -> Array:
    at: list[Array] = list(np.indices(indices.shape, sparse=True))
    at[op.axis.value.data] = indices
    return x[tuple(at)]


def resize(op: graph.ResizeOp, x: Array) -> Array:
    outside = np.zeros((1,) * x.ndim, np.bool_)
    result = x.astype(np.float64)
    for index, taps in enumerate(resize_taps(op)):
        if taps is None:
            continue
        result = resample(result, index, taps)
        outside = outside | taps.outside.reshape([-1 if i == index else 1 for i in range(x.ndim)])
    result = np.where(outside, op.extrapolation.value.data, result)
    if not is_float(x):
        result = result.astype(np.float32)  # 116.99999999999999 is 117 before it is truncated
    return as_type(result, x.dtype)


def resize_taps(op: graph.ResizeOp) -> list[Taps | None]:
    """Return the taps of every axis, None for one that stays as it is."""
    sizes, rank = shape_of(op.x), len(shape_of(op.x))
    roi = (0.0,) * rank + (1.0,) * rank if op.roi is None else op.roi.get_values()
    scales = op.scales.get_values()
    axes = [
        Axis(sizes[i], shape_of(op.result)[i], scales[i], (roi[i], roi[i + rank]))
        for i in range(rank)
    ]
    return [
        None
        if axis.scale == 1 and axis.roi == (0, 1)
        else axis_taps(
            axis,
            mode=op.mode.data,
            coordinate=op.coordinate.data,
            nearest_mode=op.nearest_mode.data,
            cubic_coeff=op.cubic_coeff.value.data,
            exclude_outside=op.exclude_outside is not None,
            antialias=op.antialias is not None,
        )
        for axis in axes
    ]


def running(op: graph.CumSumOp | graph.CumProdOp, x: Array) -> Array:
    axis = op.axis.value.data
    ordered = np.flip(x, axis) if op.reverse is not None else x
    wide = ordered.astype(np.float64) if is_float(x) else ordered
    function, neutral = RUNNING[type(op)]
    totals = function.accumulate(wide, axis, dtype=wide.dtype)
    if op.exclusive is not None:
        totals = np.roll(totals, 1, axis)
        np.moveaxis(totals, axis, 0)[:1] = neutral
    return np.flip(totals, axis) if op.reverse is not None else totals


RUNNING: dict[type[Operation], tuple[np.ufunc, int]] = {
    graph.CumSumOp: (np.add, 0),
    graph.CumProdOp: (np.multiply, 1),
}


def _grouped(layout: Layout) -> list[int]:
    """Return the physical axes in logical order: each outer axis, then its blocks."""
    letters = [letter for letter, _ in layout.split()]
    return [i for axis in layout.axes for i, letter in enumerate(letters) if letter == axis]


def to_plain(x: Array, layout: Layout) -> Array:
    """Return x, which lies in `layout`, with one axis a letter; blocked axes are whole blocks."""
    sizes = [x.shape[i] * layout.block_of(axis) for i, axis in enumerate(layout.axes)]
    return x.transpose(_grouped(layout)).reshape(sizes)


def from_plain(x: Array, layout: Layout) -> Array:
    """Return x, which has one axis a letter, in `layout`; blocked axes are padded with zeros."""
    blocks = [layout.block_of(axis) for axis in layout.axes]
    ends = [-size % block for size, block in zip(x.shape, blocks, strict=True)]
    padded = resized(x, [0] * x.ndim, ends, np.zeros((), x.dtype))
    split: list[int] = []
    for size, block, axis in zip(padded.shape, blocks, layout.axes, strict=True):
        split += [size // block, *(b for b, letter in layout.blocks if letter == axis)]
    return padded.reshape(split).transpose(np.argsort(_grouped(layout)))


def layout_transform(op: graph.LayoutTransformOp, x: Array) -> Array:
    source, target = parse_layout(op.source.data), parse_layout(op.target.data)
    sizes = op.sizes.get_values()
    plain = to_plain(x, source)[tuple(slice(size) for size in sizes)]
    return from_plain(plain.transpose([source.axes.index(a) for a in target.axes]), target)


def constant(op: graph.ConstantOp) -> Array:
    return op.array()


def reshape(op: graph.ReshapeOp, x: Array) -> Array:
    return x.reshape(shape_of(op.result))


def transpose(op: graph.TransposeOp, x: Array) -> Array:
    return x.transpose(op.perm.get_values())


def expand(op: graph.ExpandOp, x: Array) -> Array:
    return np.broadcast_to(x, shape_of(op.result))


def concat(op: graph.ConcatOp, *inputs: Array) -> Array:
    return np.concatenate(inputs, op.axis.value.data)


def gather(op: graph.GatherOp, x: Array, indices: Array) -> Array:
    return np.take(x, indices, op.axis.value.data)


def tile(op: graph.TileOp, x: Array) -> Array:
    return np.tile(x, op.repeats.get_values())


MEANING: dict[type[Operation], Meaning] = {
    graph.ConstantOp: constant,
    graph.ReshapeOp: reshape,
    graph.TransposeOp: transpose,
    graph.ExpandOp: expand,
    graph.ConcatOp: concat,
    graph.SliceOp: slice_,
    graph.PadOp: pad,
    graph.GatherOp: gather,
    graph.GatherElementsOp: gather_elements,
    graph.GatherNDOp: gather_nd,
    graph.ScatterNDOp: scatter_nd,
    graph.ScatterElementsOp: scatter_elements,
    graph.TileOp: tile,
    graph.ResizeOp: resize,
    graph.CumProdOp: running,
    graph.CumSumOp: running,
    graph.LayoutTransformOp: layout_transform,
}
