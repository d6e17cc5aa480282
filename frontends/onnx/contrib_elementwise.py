"""Converters of com.microsoft's activations, and of its forms of operators that ONNX has, too."""

from __future__ import annotations

from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.contrib import at_version, contrib
from nn_opt.frontends.onnx.movement import gather_nd, pad, sliced, trilu, unsqueeze
from nn_opt.frontends.onnx.node import (
    BadNode,
    Node,
    Results,
    rank_of,
    reshaped,
    scalar_like,
)
from nn_opt.frontends.onnx.sampling import grid_sample
from nn_opt.ir.types import shape_of


def _biased(node: Node) -> SSAValue:
    return node[0] if node.get(1) is None else graph.AddOp(node[0], node[1]).result


@contrib("Gelu", needs=1)
@contrib("BiasGelu", needs=2)
def gelu(node: Node) -> Results:
    return graph.GeluOp(_biased(node), approximate="none").result


@contrib("FastGelu", needs=1, most=2)
def fast_gelu(node: Node) -> Results:
    return graph.GeluOp(_biased(node), approximate="tanh").result


@contrib("QuickGelu", needs=1, attrs="alpha")
def quick_gelu(node: Node) -> Results:
    """x * sigmoid(alpha * x)"""
    factor = scalar_like(node.attrs.float("alpha", 1.702), node[0])
    gate = graph.SigmoidOp(graph.MulOp(node[0], factor).result).result
    return graph.MulOp(node[0], gate).result


@contrib(
    "SwiGLU",
    needs=1,
    most=2,
    attrs="activation_alpha activation_beta limit",
    only={"round_activation": 0},
)
def clamped_swiglu(node: Node) -> Results:
    """gate * sigmoid(alpha * gate) * (up + beta); one operand holds the gate, then the rest."""
    gate, up, axis = node[0], node.get(1), rank_of(node[0]) - 1
    if up is None:
        half = shape_of(gate)[axis] // 2
        gate, up = sliced(gate, axis, 0, half), sliced(gate, axis, half, half)
    limit = node.attrs.float("limit")
    if limit > 0:
        high, low = scalar_like(limit, gate), scalar_like(-limit, gate)
        gate, up = graph.ClipOp(gate, None, high).result, graph.ClipOp(up, low, high).result
    factor = scalar_like(node.attrs.float("activation_alpha", 1.0), gate)
    bent = graph.SigmoidOp(graph.MulOp(gate, factor).result).result
    more = scalar_like(node.attrs.float("activation_beta"), gate)
    up = graph.AddOp(up, more).result
    return graph.MulOp(graph.MulOp(gate, bent).result, up).result


@contrib("GridSample", needs=2, attrs="align_corners padding_mode mode")
def sampled(node: Node) -> Results:
    return grid_sample(at_version(node, 16))


@contrib("BiasAdd", needs=3)
def bias_add(node: Node) -> Results:
    return graph.AddOp(graph.AddOp(node[0], node[1]).result, node[2]).result


@contrib("BiasSplitGelu", needs=2)
def bias_split_gelu(node: Node) -> Results:
    """The first half of each row times the gelu of the second."""
    rows, axis = _biased(node), rank_of(node[0]) - 1
    half = shape_of(rows)[axis] // 2
    gate = graph.GeluOp(sliced(rows, axis, half, half), approximate="none").result
    return graph.MulOp(sliced(rows, axis, 0, half), gate).result


@contrib("ExpandDims", needs=2)
def expand_dims(node: Node) -> Results:
    return unsqueeze(at_version(node, 13))


@contrib("Trilu", needs=1, most=2, attrs="upper")
def lower_or_upper(node: Node) -> Results:
    return trilu(at_version(node, 14))


@contrib("GatherND", needs=2)
def gathered(node: Node) -> Results:
    return gather_nd(at_version(node, 13))


@contrib("Pad", needs=2, most=3, attrs="mode")
def padded(node: Node) -> Results:
    return pad(at_version(node, 13))


@contrib("TorchEmbedding", needs=2, most=4)
def embedding(node: Node) -> Results:
    return graph.GatherOp(node[0], node[1], 0).result


@contrib("CDist", needs=2, attrs="metric")
def distances(node: Node) -> Results:
    """Distances of each row of a to each of b, or their squares."""
    metrics = {"sqeuclidean": False, "euclidean": True}
    root = node.attrs.choice("metric", "sqeuclidean", metrics)
    (rows, size), (columns, other) = shape_of(node[0]), shape_of(node[1])
    if size != other:
        raise BadNode(f"rows have {size} and {other} elements, expected as many")
    a, b = reshaped(node[0], [rows, 1, size]), reshaped(node[1], [1, columns, size])
    difference = graph.SubOp(a, b).result
    square = graph.MulOp(difference, difference).result
    total = graph.ReduceOp(square, "sum", [2], False).result
    return graph.SqrtOp(total).result if root else total
