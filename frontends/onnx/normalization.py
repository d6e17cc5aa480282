"""Converters of normalisations, spelled with reductions except batch normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from onnx import TensorProto
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import (
    F32,
    BadNode,
    Node,
    Results,
    axes_in,
    axis_in,
    cast,
    dtype_of,
    rank_of,
    reshaped,
    scalar_like,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, mlir_type, shape_of


def moments(x: SSAValue, axes: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """Return x minus its mean, and the variance, both over the axes."""
    centred = graph.SubOp(x, graph.ReduceOp(x, "mean", axes, True).result).result
    square = graph.MulOp(centred, centred).result
    return centred, graph.ReduceOp(square, "mean", axes, True).result


def inverse_deviation(variance: SSAValue, epsilon: float) -> SSAValue:
    shifted = graph.AddOp(variance, scalar_like(epsilon, variance)).result
    return graph.ReciprocalOp(graph.SqrtOp(shifted).result).result


def scaled(x: SSAValue, scale: SSAValue | None, bias: SSAValue | None) -> SSAValue:
    x = x if scale is None else graph.MulOp(x, scale).result
    return x if bias is None else graph.AddOp(x, bias).result


def _per_channel(value: SSAValue, rank: int) -> SSAValue:
    """Return a vector [C] as [C, 1, ...], which broadcasts along [N, C, ...]."""
    return reshaped(value, [*shape_of(value), *([1] * (rank - 2))])


@converts("InstanceNormalization")
def instance_norm(node: Node) -> Results:
    rank = rank_of(node[0])
    centred, variance = moments(wide_floats(node[0]), range(2, rank))
    inverse = inverse_deviation(variance, node.attrs.float("epsilon", 1e-5))
    normal = graph.MulOp(centred, inverse).result
    scale, bias = (_per_channel(cast(node[i], element_type(normal)), rank) for i in (1, 2))
    return cast(scaled(normal, scale, bias), element_type(node[0]))


def wide_floats(x: SSAValue) -> SSAValue:
    """Return half floats in float32, anything else as it is."""
    return cast(x, F32) if dtype_of(x).itemsize < 4 else x


def _stash_type(node: Node, x: SSAValue):
    """Return the type to compute in: `stash_type` for a narrower operand."""
    stash = node.attrs.dtype("stash_type", TensorProto.FLOAT)
    return mlir_type(stash) if dtype_of(x).itemsize < stash.itemsize else element_type(x)


@converts("LayerNormalization")
def layer_norm(node: Node) -> Results:
    x = node[0]
    rank = rank_of(x)
    axes = range(axis_in(node.attrs.int("axis", -1), rank), rank)
    wide = cast(x, _stash_type(node, x))
    mean = graph.ReduceOp(wide, "mean", axes, True).result
    centred, variance = moments(wide, axes)
    inverse = inverse_deviation(variance, node.attrs.float("epsilon", 1e-5))
    normal = cast(graph.MulOp(centred, inverse).result, element_type(x))
    stash = mlir_type(node.attrs.dtype("stash_type", TensorProto.FLOAT))
    return [scaled(normal, node[1], node.get(2)), cast(mean, stash), cast(inverse, stash)]


@converts("RMSNormalization")
def rms_norm(node: Node) -> Results:
    x = node[0]
    rank = rank_of(x)
    axes = range(axis_in(node.attrs.int("axis", -1), rank), rank)
    wide = cast(x, _stash_type(node, x))
    square = graph.ReduceOp(graph.MulOp(wide, wide).result, "mean", axes, True).result
    inverse = inverse_deviation(square, node.attrs.float("epsilon", 1e-5))
    scale = node[1]  # its type is the result's
    return scaled(cast(graph.MulOp(wide, inverse).result, element_type(scale)), scale, None)


@converts("GroupNormalization")
def group_norm(node: Node) -> Results:
    """Scale and bias are per group before opset 21, per channel since."""
    x = node[0]
    n, channels, *spatial = shape_of(x)
    groups = node.attrs.int("num_groups", 1)
    if channels % groups:
        raise BadNode(f"{channels} channels do not divide into {groups} groups")
    members = channels // groups * math.prod(spatial)
    grouped = reshaped(cast(x, _stash_type(node, x)), [n, groups, members])
    centred, variance = moments(grouped, [2])
    inverse = inverse_deviation(variance, node.attrs.float("epsilon", 1e-5))
    normal = cast(graph.MulOp(centred, inverse).result, element_type(x))
    if shape_of(node[1]) == (groups,) and node.version < 21:
        result = scaled(normal, *(_per_channel(node[index], 3) for index in (1, 2)))
        return reshaped(result, shape_of(x))
    normal = reshaped(normal, shape_of(x))
    return scaled(normal, *(_per_channel(node[index], rank_of(x)) for index in (1, 2)))


@converts("MeanVarianceNormalization")
def mean_variance_norm(node: Node) -> Results:
    """Before opset 9 two flags say whether channels share a mean, and whether to divide."""
    across = node.version < 9 and node.attrs.flag("across_channels")
    axes = node.attrs.ints("axes") or [0, *([1] if across else []), 2, 3]
    centred, variance = moments(wide_floats(node[0]), axes_in(axes, rank_of(node[0])))
    if node.version < 9 and not node.attrs.flag("normalize_variance", True):
        return cast(centred, element_type(node[0]))
    deviation = graph.SqrtOp(variance).result
    shifted = graph.AddOp(deviation, scalar_like(1e-9, deviation)).result
    return cast(graph.DivOp(centred, shifted).result, element_type(node[0]))


@converts("LpNormalization")
def lp_norm(node: Node) -> Results:
    """x / norm, and 0 where the norm is 0."""
    x = wide_floats(node[0])
    axis = axis_in(node.attrs.int("axis", -1), rank_of(x))
    p = node.attrs.int("p", 2)
    if p not in (1, 2):
        raise BadNode(f"p is {p}, expected 1 or 2")
    norm = graph.ReduceOp(x, f"l{p}", [axis], True).result
    zero = scalar_like(0, x)
    empty = graph.EqualOp(norm, zero).result
    safe = graph.WhereOp(empty, scalar_like(1, x), norm).result
    normal = graph.WhereOp(empty, zero, graph.DivOp(x, safe).result).result
    return cast(normal, element_type(node[0]))


@converts("LRN")
def lrn(node: Node) -> Results:
    """x / (bias + alpha / size * sum of squares over `size` channels around)^beta"""
    x, size = node[0], node.attrs.int("size", 1)
    shape = shape_of(x)
    if 0 in shape:
        return x
    before = (size - 1) // 2
    pads = [0] * (2 * len(shape))
    pads[1], pads[1 + len(shape)] = before, size - 1 - before
    squares = graph.PadOp(graph.MulOp(x, x).result, pads, "constant", None).result
    total = _window_sum(squares, size, shape)
    scale = scalar_like(node.attrs.float("alpha", 1e-4) / size, x)
    base = graph.MulOp(total, scale).result
    base = graph.AddOp(base, scalar_like(node.attrs.float("bias", 1.0), x)).result
    power = graph.PowOp(base, scalar_like(node.attrs.float("beta", 0.75), x)).result
    return graph.DivOp(x, power).result


def _window_sum(squares: SSAValue, size: int, shape: Sequence[int]) -> SSAValue:
    """Return the average pool over channels times `size`, the image seen as [N, 1, C, H*W]."""
    n, channels = shape[0], shape[1]
    flat = reshaped(squares, [n, 1, channels + size - 1, math.prod(shape[2:])])
    pooled = graph.PoolOp(
        flat, "average", kernel=[size, 1], strides=[1, 1], pads=[0] * 4, dilations=[1, 1]
    ).result
    return graph.MulOp(reshaped(pooled, shape), scalar_like(size, squares)).result
