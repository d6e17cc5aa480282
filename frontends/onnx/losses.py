"""Converters of losses: the negative logarithms of what is expected, weighted and reduced."""

from __future__ import annotations

import math

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import (
    I64,
    BadNode,
    Node,
    Results,
    cast,
    constant,
    rank_of,
    reshaped,
    scalar_like,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, numpy_dtype, shape_of

REDUCTIONS = {"none": "none", "sum": "sum", "mean": "mean"}


@converts("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(node: Node) -> Results:
    return _loss(node, node[0])


@converts("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(node: Node) -> Results:
    if rank_of(node[0]) < 2:
        raise BadNode(f"scores have shape {list(shape_of(node[0]))}, expected [N, C, ...]")
    logarithms = graph.LogSoftmaxOp(node[0], 1).result
    return [_loss(node, logarithms), logarithms]


def _loss(node: Node, logarithms: SSAValue) -> SSAValue:
    """Return the loss. Operands: scores [N, C, ...], classes [N, ...], weights of classes [C].

    The class `ignore_index`, which need not be a place along C, counts as 0 of weight 0.
    """
    reduction = node.attrs.choice("reduction", "mean", REDUCTIONS)
    shape, expected = shape_of(logarithms), cast(node[1], I64)
    if (shape[0], *shape[2:]) != shape_of(expected):
        have = list(shape_of(expected))
        raise BadNode(f"classes have shape {have}, which does not fit scores of {list(shape)}")
    classes, places = shape[1], [shape[0], 1, math.prod(shape[2:])]
    rows = reshaped(logarithms, [shape[0], classes, places[2]])
    index = graph.ClipOp(
        expected, scalar_like(0, expected), scalar_like(classes - 1, expected)
    ).result
    picked = graph.GatherElementsOp(rows, reshaped(index, places), 1).result
    losses = graph.NegOp(reshaped(picked, shape_of(expected))).result
    weights = None if node.get(2) is None else graph.GatherOp(node[2], index, 0).result
    if "ignore_index" in node.attrs:
        ignored = scalar_like(node.attrs.int("ignore_index"), expected)
        away = graph.EqualOp(expected, ignored).result
        losses, weights = _zeroed(away, losses), _zeroed(away, weights or _ones(losses))
    if weights is not None:
        losses = graph.MulOp(losses, weights).result
    return _reduced(losses, weights, reduction)


def _ones(like: SSAValue) -> SSAValue:
    return constant(np.ones(shape_of(like), numpy_dtype(element_type(like))))


def _zeroed(away: SSAValue, value: SSAValue) -> SSAValue:
    return graph.WhereOp(away, scalar_like(0, value), value).result


def _reduced(losses: SSAValue, weights: SSAValue | None, reduction: str) -> SSAValue:
    axes = range(rank_of(losses))
    if reduction == "none":
        return losses
    if reduction == "sum" or weights is not None:
        total = graph.ReduceOp(losses, "sum", axes, False).result
        if reduction == "sum" or weights is None:
            return total
        return graph.DivOp(total, graph.ReduceOp(weights, "sum", axes, False).result).result
    return graph.ReduceOp(losses, "mean", axes, False).result
