"""Converters of com.microsoft's normalisations of groups of channels and of branches."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.contrib import contrib
from nn_opt.frontends.onnx.contrib_linear import channels_first, channels_last
from nn_opt.frontends.onnx.heads import cast_like
from nn_opt.frontends.onnx.node import F32, BadNode, Node, Results, cast, rank_of, reshaped
from nn_opt.frontends.onnx.normalization import inverse_deviation, moments, scaled
from nn_opt.ir.types import shape_of

ATTRS = "activation! groups! epsilon channels_last"


@contrib("GroupNorm", needs=3, attrs=ATTRS)
def group_norm(node: Node) -> Results:
    """Images with their channels last, unless channels_last is 0; operands: x, scale, bias."""
    return _normalised(node, node[0])


@contrib("SkipGroupNorm", needs=4, most=5, attrs=ATTRS)
def skip_group_norm(node: Node) -> Results:
    """The same of x + skip + bias, which is a result, too."""
    x, skip, more = node[0], node[3], node.get(4)
    last = node.attrs.flag("channels_last", True)
    if rank_of(skip) == 2:
        ones = [1] * (rank_of(x) - 2)
        batch, channels = shape_of(skip)
        skip = reshaped(skip, [batch, *ones, channels] if last else [batch, channels, *ones])
    total = graph.AddOp(x, skip).result
    if more is not None:
        total = graph.AddOp(total, _by_channel(more, rank_of(x), last)).result
    return [_normalised(node, total), total]


def _by_channel(vector: SSAValue, rank: int, last: bool) -> SSAValue:
    return vector if last else reshaped(vector, [*shape_of(vector), *([1] * (rank - 2))])


def _normalised(node: Node, x: SSAValue) -> SSAValue:
    last, groups = node.attrs.flag("channels_last", True), node.attrs.int("groups")
    first = cast(channels_first(x) if last else x, F32)
    batch, channels, *spatial = shape_of(first)
    if groups < 1 or channels % groups:
        raise BadNode(f"{channels} channels do not divide into {groups} groups")
    if node.attrs.int("activation") not in (0, 1):
        raise BadNode(f"activation is {node.attrs.int('activation')}, expected 0 or 1")
    grouped = reshaped(first, [batch, groups, channels // groups * math.prod(spatial)])
    centred, variance = moments(grouped, [2])
    inverse = inverse_deviation(variance, node.attrs.float("epsilon", 1e-5))
    normal = reshaped(graph.MulOp(centred, inverse).result, shape_of(first))
    parameters = (_by_channel(cast(node[k], F32), rank_of(x), False) for k in (1, 2))
    y = scaled(normal, *parameters)
    if node.attrs.int("activation"):
        y = graph.MulOp(y, graph.SigmoidOp(y).result).result
    return cast_like(channels_last(y) if last else y, x)


@contrib("BranchwiseRMSNorm", needs=1, most=2, attrs="num_branches epsilon")
def branchwise_rms_norm(node: Node) -> Results:
    """Each branch by itself: [.., C, H], or [.., C * H] with their number given."""
    x, shape = node[0], shape_of(node[0])
    branches = node.attrs.int("num_branches")
    if branches and shape[-1] % branches:
        raise BadNode(f"rows of {shape[-1]} elements do not divide into {branches} branches")
    apart = [*shape[:-1], branches, shape[-1] // branches] if branches else [*shape]
    normal = _rms(cast(reshaped(x, apart), F32), node.attrs.float("epsilon", 1e-5))
    scale = node.get(1)
    if scale is not None:
        whole = math.prod(shape_of(scale)) == math.prod(apart[-2:])
        scale = cast(reshaped(scale, apart[-2:] if whole else apart[-1:]), F32)
    return cast_like(reshaped(scaled(normal, scale, None), shape), x)


def _rms(x: SSAValue, epsilon: float) -> SSAValue:
    square = graph.MulOp(x, x).result
    mean = graph.ReduceOp(square, "mean", [rank_of(x) - 1], True).result
    return graph.MulOp(x, inverse_deviation(mean, epsilon)).result


@contrib("GatedRMSNorm", needs=3, attrs="activation epsilon")
def gated_rms_norm(node: Node) -> Results:
    """rms_norm(x) * scale * activation(gate), by rows as long as the scale."""
    x, scale, gate = node[0], cast(node[1], F32), cast(node[2], F32)
    (size,) = shape_of(scale)
    if shape_of(x)[-1] % size:
        raise BadNode(f"rows of {shape_of(x)[-1]} elements do not divide into {size}")
    choices = {"silu": True, "swish": True, "sigmoid": False}
    linear = node.attrs.choice("activation", "silu", choices)
    rows = reshaped(cast(x, F32), [*shape_of(x)[:-1], shape_of(x)[-1] // size, size])
    normal = scaled(_rms(rows, node.attrs.float("epsilon", 1e-5)), scale, None)
    factor = graph.SigmoidOp(gate).result
    factor = graph.MulOp(gate, factor).result if linear else factor
    return cast_like(graph.MulOp(reshaped(normal, shape_of(x)), factor).result, x)
