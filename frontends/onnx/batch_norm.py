"""Converter of BatchNormalization, with given statistics and with those of the batch."""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import (
    F32,
    Node,
    Results,
    cast,
    dtype_of,
    rank_of,
    reshaped,
    scalar_like,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, shape_of


@converts("BatchNormalization")
def batch_norm(node: Node) -> Results:
    """Statistics and scale may have another float type than the data (opset 14 and 15)."""
    x = node[0]
    wide = max((node[i] for i in (0, 3)), key=lambda value: dtype_of(value).itemsize)
    element = element_type(wide)
    if _is_training(node):
        return _in_training(node, element if dtype_of(wide).itemsize > 2 else F32)
    parameters = [cast(node[index], element) for index in range(1, 5)]
    result = _normal(node, cast(x, element), parameters)
    return cast(result, element_type(x))


def _is_training(node: Node) -> bool:
    """Before opset 14, asking for statistics meant training."""
    if node.version >= 14:
        return node.attrs.flag("training_mode")
    return any(node.outputs[1:])


def _normal(node: Node, x: SSAValue, parameters: list[SSAValue]) -> SSAValue:
    """Return (x - mean) / sqrt(variance + epsilon) * scale + bias."""
    epsilon = node.attrs.float("epsilon", 1e-5)
    if not _is_spatial(node):
        scale, bias, mean, variance = parameters
        spread = graph.AddOp(variance, scalar_like(epsilon, variance)).result
        centred = graph.SubOp(x, mean).result
        normal = graph.DivOp(centred, graph.SqrtOp(spread).result).result
        return graph.AddOp(graph.MulOp(normal, scale).result, bias).result
    shape = shape_of(x)
    image = reshaped(x, [*shape, 1]) if len(shape) < 2 else x  # a vector has one channel
    return reshaped(graph.BatchNormOp(image, *parameters, epsilon=epsilon).result, shape)


def _is_spatial(node: Node) -> bool:
    """Return whether a channel's places share statistics; opset 9 has no others."""
    return node.version >= 9 or node.attrs.flag("spatial", True)


def _in_training(node: Node, element: Attribute) -> Results:
    """Normalise by the batch's own mean and variance; running ones follow them by momentum."""
    x = cast(node[0], element)
    scale, bias, mean, variance = (cast(node[index], element) for index in range(1, 5))
    axes = [axis for axis in range(rank_of(x)) if axis != 1] if _is_spatial(node) else [0]
    centred = graph.SubOp(x, graph.ReduceOp(x, "mean", axes, True).result).result
    square = graph.MulOp(centred, centred).result
    own = [graph.ReduceOp(value, "mean", axes, False).result for value in (x, square)]
    own = [reshaped(value, shape_of(mean)) for value in own]
    running = [_followed(node, *pair) for pair in zip((mean, variance), own, strict=True)]
    kind = element_type(node[3])
    result = cast(_normal(node, x, [scale, bias, *own]), element_type(node[0]))
    statistics = [cast(value, kind) for value in (*running, *own)]
    return [result, *statistics[: len(node.outputs) - 1]]


def _followed(node: Node, before: SSAValue, now: SSAValue) -> SSAValue:
    momentum = node.attrs.float("momentum", 0.9)
    kept = graph.MulOp(before, scalar_like(momentum, before)).result
    return graph.AddOp(kept, graph.MulOp(now, scalar_like(1 - momentum, now)).result).result
