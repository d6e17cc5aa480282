"""Converters of reductions, arg-reductions, softmax and running sums."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.movement import axes_of
from nn_opt.frontends.onnx.node import (
    Node,
    Results,
    axes_in,
    axis_in,
    cast,
    constant,
    rank_of,
    reshaped,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, shape_of

# ONNX operator -> reduction kind, opset in which `axes` became an operand
REDUCTIONS = {
    "ReduceL1": ("l1", 18),
    "ReduceL2": ("l2", 18),
    "ReduceLogSum": ("log_sum", 18),
    "ReduceLogSumExp": ("log_sum_exp", 18),
    "ReduceMax": ("max", 18),
    "ReduceMean": ("mean", 18),
    "ReduceMin": ("min", 18),
    "ReduceProd": ("prod", 18),
    "ReduceSum": ("sum", 13),
    "ReduceSumSquare": ("sum_square", 18),
}


@converts(*REDUCTIONS)
def reduce(node: Node) -> Results:
    kind, moved_at = REDUCTIONS[node.proto.op_type]
    rank = rank_of(node[0])
    axes = axes_of(node, moved_at)
    if not axes:
        axes = list(range(0 if node.attrs.flag("noop_with_empty_axes") else rank))
    keepdims = node.attrs.flag("keepdims", True)
    return graph.ReduceOp(node[0], kind, axes_in(axes, rank), keepdims).result


@converts("ArgMax", "ArgMin")
def arg_reduce(node: Node) -> Results:
    axis = axis_in(node.attrs.int("axis", 0), rank_of(node[0]))
    kind = {"ArgMax": "max", "ArgMin": "min"}[node.proto.op_type]
    keepdims = node.attrs.flag("keepdims", True)
    last = node.attrs.flag("select_last_index")
    return graph.ArgReduceOp(node[0], kind, axis, keepdims, last).result


def _over_axis(node: Node, op: Callable[[SSAValue, int], SSAValue]) -> SSAValue:
    """Before opset 13 softmax and its kin see a matrix: axes from `axis` on, default 1, are one."""
    x = node[0]
    shape = shape_of(x)
    if node.version >= 13:
        return op(x, axis_in(node.attrs.int("axis", -1), len(shape)))
    axis = node.attrs.int("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    if axis == len(shape) - 1:
        return op(x, axis)
    matrix = reshaped(x, [math.prod(shape[:axis]), math.prod(shape[axis:])])
    return reshaped(op(matrix, 1), shape)


@converts("Softmax")
def softmax(node: Node) -> Results:
    return _over_axis(node, lambda x, axis: graph.SoftmaxOp(x, axis).result)


@converts("LogSoftmax")
def log_softmax(node: Node) -> Results:
    return _over_axis(node, lambda x, axis: graph.LogSoftmaxOp(x, axis).result)


@converts("Hardmax")
def hardmax(node: Node) -> Results:
    """1 at the first maximum, else 0."""
    return _over_axis(node, _hardmax)


def _hardmax(x: SSAValue, axis: int) -> SSAValue:
    if 0 in shape_of(x):
        return x
    first = graph.ArgReduceOp(x, "max", axis, True, False).result
    places = [1] * rank_of(x)
    places[axis] = shape_of(x)[axis]
    steps = constant(np.arange(places[axis]).reshape(places))
    return cast(graph.EqualOp(first, steps).result, element_type(x))


RUNNING = {"CumProd": graph.CumProdOp, "CumSum": graph.CumSumOp}


@converts(*RUNNING)
def running(node: Node) -> Results:
    axis = axis_in((node.known_ints(1) or [0])[0], rank_of(node[0]))
    exclusive, reverse = node.attrs.flag("exclusive"), node.attrs.flag("reverse")
    return RUNNING[node.proto.op_type](node[0], axis, exclusive, reverse).result
