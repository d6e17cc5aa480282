"""Converters of what ONNX had on trial until opset 9, which old exporters of CoreML still write."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import BadNode, Node, Results, constant, dtype_of, scalar_like
from nn_opt.frontends.onnx.table import Request, converts
from nn_opt.ir.types import shape_of

ON_TRIAL = "Affine Crop ImageScaler ParametricSoftplus Scale ScaledTanh".split()
LAST = 9  # opset whose files may still hold these


def _gone(request: Request) -> str:
    return "" if request.version <= LAST else "no such operator in ONNX"


def _line(x: SSAValue, factor: float, offset: float) -> SSAValue:
    """Return factor * x + offset."""
    product = graph.MulOp(x, scalar_like(factor, x)).result
    return graph.AddOp(product, scalar_like(offset, x)).result


@converts("Affine", refusal=_gone)
def affine(node: Node) -> Results:
    return _line(node[0], node.attrs.float("alpha", 1.0), node.attrs.float("beta", 0.0))


@converts("Scale", refusal=_gone)
def scale(node: Node) -> Results:
    return graph.MulOp(node[0], scalar_like(node.attrs.float("scale", 1.0), node[0])).result


@converts("ImageScaler", refusal=_gone)
def image_scaler(node: Node) -> Results:
    """scale * x, and each channel's own bias."""
    x, bias = node[0], node.attrs.floats("bias") or []
    shape = shape_of(x)
    if len(shape) != 4 or len(bias) != shape[1]:
        raise BadNode(f"a bias of {len(bias)} channels does not fit {list(shape)}")
    scaled = graph.MulOp(x, scalar_like(node.attrs.float("scale", 1.0), x)).result
    each = constant(np.asarray(bias, dtype_of(x)).reshape(1, -1, 1, 1))
    return graph.AddOp(scaled, each).result


@converts("ScaledTanh", refusal=_gone)
def scaled_tanh(node: Node) -> Results:
    """alpha * tanh(beta * x)"""
    return _around(node, graph.TanhOp)


@converts("ParametricSoftplus", refusal=_gone)
def parametric_softplus(node: Node) -> Results:
    """alpha * log(exp(beta * x) + 1)"""
    return _around(node, graph.SoftplusOp)


def _around(node: Node, function: type[graph.UnaryOp]) -> SSAValue:
    x = node[0]
    inner = graph.MulOp(x, scalar_like(node.attrs.float("beta", 1.0), x)).result
    outer = scalar_like(node.attrs.float("alpha", 1.0), x)
    return graph.MulOp(function(inner).result, outer).result


@converts("Crop", refusal=_gone)
def crop(node: Node) -> Results:
    """Borders are left, top, right, bottom; `scale`, a height and a width, stands for the last."""
    x, border, size = node[0], node.attrs.ints("border") or [], node.attrs.ints("scale")
    shape = list(shape_of(x))
    if len(shape) != 4 or len(border) != 4 or (size is not None and len(size) != 2):
        raise BadNode(f"border {border}, scale {size} do not fit {shape}")
    left, top, right, bottom = border
    height, width = size or (shape[2] - top - bottom, shape[3] - left - right)
    fits = 0 <= top <= top + height <= shape[2] and 0 <= left <= left + width <= shape[3]
    if not fits:
        raise BadNode(f"border {border}, scale {size} do not fit {shape}")
    return graph.SliceOp(x, [0, 0, top, left], [*shape[:2], height, width], [1] * 4).result
