"""What matmul, convolutions and pooling mean, in NumPy; sums of floats are taken in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from nn_opt.dialects import graph
from nn_opt.dialects.graph.layouts import conv_layouts, parse_layout
from nn_opt.dialects.graph.shapes import window_shape
from nn_opt.reference.graph_elementwise import Meaning, is_float
from nn_opt.reference.graph_movement import from_plain, resized, to_plain
from nn_opt.reference.graph_reduction import lowest, widened
from nn_opt.reference.graph_winograd import winograd_conv

Array = NDArray[Any]


def windows(
    x: Array,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    *,
    fill: Any,
    ceil: bool = False,
) -> Array:
    """Return all windows of the spatial axes of x as a view.

    Shapes: x [N, C, H, W, ...]; result [N, C, P, Q, ..., R, S, ...].
    """
    counts = window_shape(x.shape[2:], kernel, strides, pads, dilations, ceil)
    begins, none = pads[: len(kernel)], [0] * x.ndim
    padded = resized(x, [0, 0, *begins], none, fill)
    return windows_at(padded, counts, kernel, strides, dilations, fill)


def windows_at(
    x: Array,
    counts: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    fill: Any,
) -> Array:
    """Return the first `counts` windows of x, which goes on with `fill` behind its end."""
    rank = len(kernel)
    if 0 in counts:
        return np.empty((*x.shape[:2], *counts, *kernel), x.dtype)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    ends = [(counts[i] - 1) * strides[i] + reach[i] - x.shape[i + 2] for i in range(rank)]
    padded = resized(x, [0] * x.ndim, [0, 0, *ends], fill)
    axes = tuple(range(2, 2 + rank))
    view = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=axes)  # pyright: ignore[reportCallIssue,reportArgumentType]
    steps = [slice(None, None, step) for step in (*strides, *dilations)]
    return view[(slice(None), slice(None), *steps)]


def matmul(op: graph.MatmulOp, a: Array, b: Array) -> Array:
    if op.weight_layout is not None:
        layout = parse_layout(op.weight_layout.data)
        batch = [axis for axis in layout.axes if axis not in "KN"]
        b = to_plain(b, layout).transpose([layout.axes.index(axis) for axis in (*batch, *"KN")])
        b = b[..., : op.columns.value.data] if op.columns is not None else b
    return np.matmul(factor(op, a), factor(op, b))


def factor(op: graph.MatmulOp | graph.ConvOp, x: Array) -> Array:
    """Return what is multiplied, in the type that holds the sums."""
    return widened(x) if op.wide is None or is_float(x) else x.astype(np.int32)


def in_groups(run: Callable[[Array, Array], Array], x: Array, w: Array, group: int) -> Array:
    """Return run(x part, w part) of every group of channels, joined along the channels."""
    parts = zip(np.split(x, group, 1), np.split(w, group, 0), strict=True)
    return np.concatenate([run(*part) for part in parts], 1)


def plain_conv(op: graph.ConvOp, x: Array, w: Array, group: int) -> Array:
    """Return the convolution of [N, C, H, W, ...] with [F, C / group, R, S, ...]."""
    kernel = w.shape[2:]
    fields = (op.strides.get_values(), op.pads.get_values(), op.dilations.get_values())

    def dense(x: Array, w: Array) -> Array:
        view = windows(x, kernel, *fields, fill=op.padding)
        last = range(view.ndim - len(kernel), view.ndim)
        product = np.tensordot(view, w, axes=((1, *last), tuple(range(1, w.ndim))))
        return np.moveaxis(product, -1, 1)

    return in_groups(dense, factor(op, x), factor(op, w), group)


def conv(op: graph.ConvOp, x: Array, w: Array, b: Array | None = None) -> Array:
    if op.algorithm is not None:
        return winograd_conv(op, x, w)
    if op.layout is not None and op.weight_layout is not None:
        return blocked_conv(op, x, w, op.layout.data, op.weight_layout.data)
    result = plain_conv(op, x, w, op.group.value.data)
    return result if b is None else add_bias(result, b)


def add_bias(x: Array, b: Array) -> Array:
    return x + widened(b).reshape(-1, *(1 for _ in range(x.ndim - 2)))


def blocked_conv(op: graph.ConvOp, x: Array, w: Array, layout: str, weight_layout: str) -> Array:
    source, target = map(parse_layout, conv_layouts(layout))
    plain_x, plain_w = to_plain(x, source), to_plain(w, parse_layout(weight_layout))
    depthwise = op.group.value.data > 1 and plain_w.shape[1] == 1
    group = plain_x.shape[1] if depthwise else op.group.value.data
    return from_plain(plain_conv(op, plain_x, plain_w, group), target)


def conv_transpose(op: graph.ConvTransposeOp, x: Array, w: Array, b: Array | None = None) -> Array:
    kernel, strides = w.shape[2:], op.strides.get_values()
    dilations, pads = op.dilations.get_values(), op.pads.get_values()
    extra, rank = op.output_padding.get_values(), len(kernel)

    def dense(x: Array, w: Array) -> Array:
        sizes = [
            strides[i] * (x.shape[i + 2] - 1) + (kernel[i] - 1) * dilations[i] + 1 + extra[i]
            for i in range(rank)
        ]
        full = np.zeros((x.shape[0], w.shape[1], *sizes), x.dtype)
        for at in np.ndindex(*kernel):
            places = tuple(
                slice(a * d, a * d + s * (n - 1) + 1, s)
                for a, d, s, n in zip(at, dilations, strides, x.shape[2:], strict=True)
            )
            part = np.tensordot(x, w[(..., *at)], axes=((1,), (0,)))
            full[(slice(None), slice(None), *places)] += np.moveaxis(part, -1, 1)
        return full

    full = in_groups(dense, widened(x), widened(w), op.group.value.data)
    begins, ends = [-p for p in pads[:rank]], [-p for p in pads[rank:]]
    result = resized(full, [0, 0, *begins], [0, 0, *ends], 0)
    return result if b is None else add_bias(result, b)


def plain_pool(op: graph.PoolOp, x: Array) -> Array:
    """Return the pooled [N, C, H, W, ...]."""
    kernel = op.kernel.get_values()
    fields = (op.strides.get_values(), op.pads.get_values(), op.dilations.get_values())
    ceil = op.ceil_mode is not None
    last = tuple(range(-len(kernel), 0))
    wide = widened(x)
    fill = lowest(wide.dtype) if op.kind.data == "max" else 0
    view = windows(wide, kernel, *fields, fill=fill, ceil=ceil)
    if op.kind.data == "max":
        return view.max(axis=last)
    if op.kind.data == "lp":
        assert op.p is not None
        p = op.p.value.data
        return (np.abs(view) ** p).sum(axis=last) ** (1 / p)
    counts = counted_cells(op, x.shape[2:], view.shape[2 : 2 + len(kernel)])
    return view.sum(axis=last) / counts.astype(wide.dtype)


def counted_cells(op: graph.PoolOp, spatial: Sequence[int], positions: Sequence[int]) -> Array:
    """Return how many elements each window averages over: [1, 1, P, Q, ...]."""
    pads, rank = op.pads.get_values(), len(spatial)
    inside = np.ones((1, 1, *spatial), np.int64)
    padding = 1 if op.count_include_pad is not None else 0
    padded = resized(inside, [0, 0, *pads[:rank]], [0, 0, *pads[rank:]], padding)
    fields = (op.kernel.get_values(), op.strides.get_values(), op.dilations.get_values())
    counted = windows_at(padded, positions, *fields, fill=0)
    return counted.sum(axis=tuple(range(-rank, 0)))


def pool(op: graph.PoolOp, x: Array) -> Array:
    if op.layout is None:
        return plain_pool(op, x)
    layout = parse_layout(op.layout.data)
    return from_plain(plain_pool(op, to_plain(x, layout)), layout)


MEANING: dict[type[Operation], Meaning] = {
    graph.MatmulOp: matmul,
    graph.ConvOp: conv,
    graph.ConvTransposeOp: conv_transpose,
    graph.PoolOp: pool,
}
