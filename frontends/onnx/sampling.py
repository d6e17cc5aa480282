"""Converters of samples at places that are data: grids, regions, deformed windows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.bounded import DOMAIN
from nn_opt.frontends.onnx.nn import Window, window_of
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
    scalar_like,
    transposed,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import shape_of

SAMPLING = {
    "linear": "linear",
    "bilinear": "linear",
    "nearest": "nearest",
    "cubic": "cubic",
    "bicubic": "cubic",
}
PADDINGS = {name: name for name in ("zeros", "border", "reflection")}


@converts("GridSample")
def grid_sample(node: Node) -> Results:
    """Opset 20 renamed the modes."""
    default = "bilinear" if node.version < 20 else "linear"
    return graph.GridSampleOp(
        node[0],
        node[1],
        node.attrs.choice("mode", default, SAMPLING),
        node.attrs.choice("padding_mode", "zeros", PADDINGS),
        align_corners=node.attrs.flag("align_corners"),
    ).result


@converts("AffineGrid")
def affine_grid(node: Node) -> Results:
    """Each place of a regular grid, with a one at its end, times the image's matrix."""
    theta, sizes = node[0], node.known_ints(1) or []
    spatial = sizes[2:]
    if not 4 <= len(sizes) <= 5 or shape_of(theta)[1:] != (len(spatial), len(spatial) + 1):
        raise BadNode(f"theta has shape {list(shape_of(theta))} for an image of sizes {sizes}")
    check_count(math.prod(spatial) * (len(spatial) + 1))
    base = _regular_grid(spatial, on_element=node.attrs.flag("align_corners"))
    places = constant(base.astype(dtype_of(theta)))
    grid = graph.MatmulOp(places, transposed(theta, [0, 2, 1])).result
    return reshaped(grid, [shape_of(theta)[0], *spatial, len(spatial)])


def _regular_grid(spatial: Sequence[int], *, on_element: bool) -> Array:
    """Return places from -1 to 1 [elements, axes + 1], the last axis first."""
    lines = [
        np.linspace(-1, 1, n) if on_element else (2 * np.arange(n) + 1) / n - 1 for n in spatial
    ]
    grids = np.meshgrid(*lines, indexing="ij")
    columns = [*(grid.reshape(-1) for grid in reversed(grids)), np.ones(math.prod(spatial))]
    return np.stack(columns, axis=-1)


@converts("RoiAlign")
@converts("RoiAlign", domain=DOMAIN)
def roi_align(node: Node) -> Results:
    """Opset 16 shifts regions by half an element; without a sampling ratio, operand 3, which
    `bounded` adds, is how many samples a bin takes at most.
    """
    attrs, ratio = node.attrs, node.attrs.int("sampling_ratio")
    half = attrs.choice(
        "coordinate_transformation_mode",
        "half_pixel" if node.version >= 16 else "output_half_pixel",
        {"half_pixel": True, "output_half_pixel": False},
    )
    most = [ratio] if ratio > 0 else node.known_ints(3)
    if most is None:
        raise BadNode(f"sampling_ratio is {ratio}, expected at least 0")
    return graph.RoiAlignOp(
        node[0],
        node[1],
        node[2],
        [attrs.int("output_height", 1), attrs.int("output_width", 1)],
        samples=most[0],
        mode=attrs.choice("mode", "avg", {"avg": "avg", "max": "max"}),
        scale=attrs.float("spatial_scale", 1.0),
        half_pixel=half,
        adaptive=not ratio,
    ).result


@converts("MaxRoiPool")
def max_roi_pool(node: Node) -> Results:
    """The maximum of a bin's rows at each column, then of its columns; nothing of none is 0."""
    x, rois = node[0], node[1]
    sizes = node.attrs.ints("pooled_shape")
    assert sizes is not None, "the checker asks for a pooled_shape"
    images = graph.GatherOp(x, cast(_column(rois, 0), I64), 0).result
    count, channels, height, width = shape_of(images)
    scale = node.attrs.float("spatial_scale", 1.0)
    rows = _members(rois, (2, 4), scale, sizes[0], height)
    columns = _members(rois, (1, 3), scale, sizes[1], width)
    bands = _masked_max(
        reshaped(images, [count, channels, 1, height, width]),
        reshaped(rows, [count, 1, sizes[0], height, 1]),
        3,
    )
    tops = _masked_max(
        reshaped(bands, [count, channels, sizes[0], 1, width]),
        reshaped(columns, [count, 1, 1, sizes[1], width]),
        4,
    )
    empty = graph.EqualOp(tops, scalar_like(-math.inf, tops)).result
    return graph.WhereOp(empty, scalar_like(0, tops), tops).result


def _column(rois: SSAValue, at: int) -> SSAValue:
    count = shape_of(rois)[0]
    return reshaped(graph.SliceOp(rois, [0, at], [count, 1], [1, 1]).result, [count])


def _masked_max(x: SSAValue, mask: SSAValue, axis: int) -> SSAValue:
    hidden = graph.WhereOp(mask, x, scalar_like(-math.inf, x)).result
    return graph.ReduceOp(hidden, "max", [axis], False).result


def _members(
    rois: SSAValue, sides: tuple[int, int], scale: float, bins: int, size: int
) -> SSAValue:
    """Return which elements along an axis are in which bin: i1 [regions, bins, size].

    Source: Fast R-CNN, whose corners are rounded, halves away from zero.
    """
    start, end = (_rounded(_column(rois, side), scale) for side in sides)
    one = scalar_like(1, start)
    extent = graph.MaximumOp(graph.AddOp(graph.SubOp(end, start).result, one).result, one).result
    step = graph.DivOp(extent, scalar_like(bins, extent)).result
    count, dtype = shape_of(rois)[0], dtype_of(rois)
    step, start = (reshaped(value, [count, 1, 1]) for value in (step, start))
    number = np.arange(bins, dtype=dtype).reshape(bins, 1)
    low = graph.FloorOp(graph.MulOp(step, constant(number)).result).result
    high = graph.CeilOp(graph.MulOp(step, constant(number + 1)).result).result
    place = graph.SubOp(constant(np.arange(size, dtype=dtype)), start).result
    after = graph.GreaterEqualOp(place, low).result
    return graph.AndOp(after, graph.LessOp(place, high).result).result


def _rounded(x: SSAValue, scale: float) -> SSAValue:
    scaled = graph.MulOp(x, scalar_like(scale, x)).result
    size = graph.AddOp(graph.AbsOp(scaled).result, scalar_like(0.5, x)).result
    return graph.MulOp(graph.SignOp(scaled).result, graph.FloorOp(size).result).result


@converts("DeformConv")
def deform_conv(node: Node) -> Results:
    """Samples of x for each place of each window, then their product with the filters."""
    x, w, offset = node[0], node[1], node[2]
    window = window_of(node.attrs, shape_of(x)[2:], shape_of(w)[2:])
    samples = _deformed(node, x, offset, window)
    images, channels = shape_of(x)[:2]
    group, spatial = node.attrs.int("group", 1), shape_of(offset)[2:]
    inner, places = channels // group * math.prod(window.kernel), math.prod(spatial)
    columns = reshaped(samples, [images, group, inner, places])
    filters = shape_of(w)[0]
    if filters % group or shape_of(w)[1] * group != channels:
        raise BadNode(f"{filters} filters of {shape_of(w)[1]} channels for {group} group(s)")
    matrix = reshaped(w, [1, group, filters // group, inner])
    result = reshaped(graph.MatmulOp(matrix, columns).result, [images, filters, *spatial])
    bias = node.get(3)
    if bias is None:
        return result
    return graph.AddOp(result, reshaped(bias, [filters, *(1 for _ in spatial)])).result


def _deformed(node: Node, x: SSAValue, offset: SSAValue, window: Window) -> SSAValue:
    """Return samples [images, channels, window's places, *result's places]."""
    images, channels, *size = shape_of(x)
    groups, taps = node.attrs.int("offset_group", 1), math.prod(window.kernel)
    rank, spatial = len(size), shape_of(offset)[2:]
    if shape_of(offset)[1] != groups * taps * rank or channels % groups:
        wanted = groups * taps * rank
        raise BadNode(f"offset has {shape_of(offset)[1]} channels, expected {wanted}")
    apart = reshaped(offset, [images * groups, taps, rank, *spatial])
    base = constant(_window_places(window, spatial).astype(dtype_of(offset)))
    places = graph.AddOp(apart, base).result
    backwards = [0, 0, rank - 1, *(0 for _ in spatial)]
    steps = [1, 1, -1, *(1 for _ in spatial)]
    places = graph.SliceOp(places, backwards, list(shape_of(places)), steps).result
    last = transposed(places, [0, 1, *range(3, 3 + rank), 2])
    grid = reshaped(last, [images * groups, taps * spatial[0], *spatial[1:], rank])
    own = reshaped(x, [images * groups, channels // groups, *size])
    samples = graph.GridSampleOp(own, grid, "linear", "zeros", pixels=True).result
    shape = [images, groups, channels // groups, taps, *spatial]
    samples, mask = reshaped(samples, shape), node.get(4)
    if mask is not None:
        factors = reshaped(mask, [images, groups, 1, taps, *spatial])
        samples = graph.MulOp(samples, factors).result
    return samples


def _window_places(window: Window, spatial: Sequence[int]) -> Array:
    """Return where each place of each window lies without an offset: [taps, axes, *places]."""
    rank = len(spatial)
    taps = np.indices(window.kernel).reshape(rank, -1).T
    places = np.indices(tuple(spatial)).reshape(rank, -1)
    strides, dilations = np.array(window.strides)[:, None], np.array(window.dilations)
    starts = places * strides - np.array(window.pads[:rank])[:, None]
    return (starts[None] + (taps * dilations)[:, :, None]).reshape(len(taps), rank, *spatial)
