"""Converters of com.microsoft's normalisations, with what is added before them, and embeddings."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.contrib import contrib
from nn_opt.frontends.onnx.heads import cast_like
from nn_opt.frontends.onnx.movement import sliced
from nn_opt.frontends.onnx.node import (
    F32,
    BadNode,
    Node,
    Results,
    axis_in,
    cast,
    constant,
    rank_of,
    reshaped,
    scalar_like,
)
from nn_opt.frontends.onnx.normalization import inverse_deviation, moments, scaled, wide_floats
from nn_opt.frontends.onnx.quantize import widened
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import mlir_type, shape_of


@contrib("SkipLayerNormalization", needs=3, most=5, attrs="epsilon")
def skip_layer_norm(node: Node) -> Results:
    """Operands: x, what is added to it, scale, bias of the result, bias of the sum."""
    total = _sum(node[0], node[1], node.get(4))
    return [*_layer_norm(node, total, node[2], node.get(3), 1e-12), total]


@contrib("SkipSimplifiedLayerNormalization", needs=3, most=4, attrs="epsilon")
def skip_rms_norm(node: Node) -> Results:
    """Operands: x, what is added to it, scale, bias of the sum."""
    total = _sum(node[0], node[1], node.get(3))
    return [*_rms_norm(node, total, node[2], 1e-12), total]


@converts("SimplifiedLayerNormalization")
def rms_norm(node: Node) -> Results:
    """One that onnxruntime adds to the main operator set: layer normalisation without the mean."""
    if axis_in(node.attrs.int("axis", -1), rank_of(node[0])) != rank_of(node[0]) - 1:
        raise BadNode(f"axis is {node.attrs.int('axis')}, expected the last one")
    y, _, inverse = _rms_norm(node, node[0], node[1], 1e-5)
    return [y, inverse]


@contrib("EmbedLayerNormalization", needs=(0, 2, 3, 5, 6), most=9, attrs="epsilon mask_index_type")
def embed_layer_norm(node: Node) -> Results:
    """Operands: words, segments, embeddings of words, places and segments, scale, bias, mask,
    places."""
    words, places = node[0], node.get(8)
    if rank_of(words) != 2:
        raise BadNode(f"words have shape {list(shape_of(words))}, expected [batch, length]")
    batch, length = shape_of(words)
    total = graph.GatherOp(node[2], words, 0).result
    if places is None:
        total = graph.AddOp(total, sliced(node[3], 0, 0, length)).result
    else:
        total = graph.AddOp(total, graph.GatherOp(node[3], places, 0).result).result
    if node.get(1) is not None and node.get(4) is not None:
        total = graph.AddOp(total, graph.GatherOp(node[4], node[1], 0).result).result
    y, *_ = _layer_norm(node, total, node[5], node[6], 1e-12)
    return [y, _lengths(node.get(7), batch), total]


@contrib(
    "QEmbedLayerNormalization",
    needs=(0, 2, 3, 5, 6, 8, 9, 11, 12, 13, 14, 16, 17),
    most=18,
    attrs="epsilon",
)
def quantised_embed_layer_norm(node: Node) -> Results:
    """As EmbedLayerNormalization; its embeddings, scale and bias are operands 2 to 6 in bytes,
    with their scales from operand 8 on, and zero points from 13 on."""
    words = node[0]
    if rank_of(words) != 2:
        raise BadNode(f"words have shape {list(shape_of(words))}, expected [batch, length]")
    batch, length = shape_of(words)
    total = _dequantised(node, 2, graph.GatherOp(node[2], words, 0).result)
    places = _dequantised(node, 3, sliced(node[3], 0, 0, length))
    total = graph.AddOp(total, places).result
    if node.get(1) is not None and node.get(4) is not None:
        segments = graph.GatherOp(node[4], node[1], 0).result
        total = graph.AddOp(total, _dequantised(node, 4, segments)).result
    scale, bias = (_dequantised(node, at, node[at]) for at in (5, 6))
    y, *_ = _layer_norm(node, total, scale, bias, 1e-12)
    return [y, _lengths(node.get(7), batch)]


def _dequantised(node: Node, at: int, chosen: SSAValue) -> SSAValue:
    """Return what some of an operand's bytes stand for; its scale is 6, its zero 11 behind it."""
    whole = widened(chosen, reshaped(node[at + 11], []))
    return graph.MulOp(cast(whole, F32), reshaped(cast(node[at + 6], F32), [])).result


def _lengths(mask: SSAValue | None, batch: int) -> SSAValue:
    """Return how many words each mask has, 0 without one."""
    if mask is None:
        return constant(np.zeros(batch, np.int32))
    kept = graph.EqualOp(mask, scalar_like(1, mask)).result
    counted = cast(kept, mlir_type(np.int32))
    return graph.ReduceOp(counted, "sum", [1], False).result


def _sum(x: SSAValue, skip: SSAValue, bias: SSAValue | None) -> SSAValue:
    if rank_of(x) not in (2, 3) or shape_of(skip)[-1:] != shape_of(x)[-1:]:
        have = f"{list(shape_of(x))} and {list(shape_of(skip))}"
        raise BadNode(f"operands 0 and 1 have shapes {have}, expected rows of one length")
    total = graph.AddOp(x, skip).result
    return total if bias is None else graph.AddOp(total, bias).result


def _layer_norm(
    node: Node, x: SSAValue, scale: SSAValue, bias: SSAValue | None, epsilon: float
) -> list[SSAValue]:
    """Return the normalised rows, their means and inverse deviations."""
    wide, axis = wide_floats(x), rank_of(x) - 1
    mean = graph.ReduceOp(wide, "mean", [axis], True).result
    centred, variance = moments(wide, [axis])
    inverse = inverse_deviation(variance, node.attrs.float("epsilon", epsilon))
    normal = graph.MulOp(centred, inverse).result
    bias = None if bias is None else cast_like(bias, wide)
    y = cast_like(scaled(normal, cast_like(scale, wide), bias), x)
    return [y, cast(mean, F32), cast(inverse, F32)]


def _rms_norm(
    node: Node, x: SSAValue, scale: SSAValue, epsilon: float
) -> tuple[SSAValue, None, SSAValue]:
    """Return the normalised rows, no means, and the inverse roots of mean squares."""
    wide, axis = wide_floats(x), rank_of(x) - 1
    square = graph.ReduceOp(graph.MulOp(wide, wide).result, "mean", [axis], True).result
    inverse = inverse_deviation(square, node.attrs.float("epsilon", epsilon))
    normal = graph.MulOp(wide, inverse).result
    y = cast_like(scaled(normal, cast_like(scale, wide), None), x)
    return y, None, cast(inverse, F32)
