"""Converter of Dropout, in inference and in training."""

from __future__ import annotations

import math
import zlib

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import (
    Node,
    Results,
    cast,
    check_count,
    constant,
    reshaped,
    scalar_like,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, mlir_type, shape_of

F64 = mlir_type(np.float64)


@converts("Dropout")
def dropout(node: Node) -> Results:
    """Training is an attribute before opset 7, an operand since 12; between, there is none."""
    mode = node.known(2) if node.version >= 12 else None
    if mode is not None and mode.any():
        return _in_training(node)
    dropped = graph.DropoutOp(node[0]).result
    return [dropped, _mask(node, constant(np.asarray(True)))]


def _mask(node: Node, kept: SSAValue) -> SSAValue | None:
    """Return which elements are kept; before opset 10 in the data's element type."""
    if len(node.outputs) < 2 or not node.outputs[1]:
        return None
    shape = list(shape_of(node[0]))
    whole = kept if list(shape_of(kept)) == shape else graph.ExpandOp(kept, shape).result
    return whole if node.version >= 10 else cast(whole, element_type(node[0]))


def _in_training(node: Node) -> Results:
    """x / (1 - ratio) where a random number is at least the ratio, else 0."""
    x = node[0]
    ratio = node.get(1)
    ratio = scalar_like(0.5, x) if ratio is None else reshaped(ratio, [])
    kept = graph.GreaterEqualOp(_uniform(node), cast(ratio, F64)).result
    left = graph.SubOp(scalar_like(1, ratio), ratio).result
    scaled = graph.DivOp(x, cast(left, element_type(x))).result
    dropped = graph.WhereOp(kept, scaled, scalar_like(0, x)).result
    return [dropped, _mask(node, kept)]


def _uniform(node: Node) -> SSAValue:
    """Return numbers from 0 up to 1: with a seed, those that NumPy gives for it, as ONNX's own."""
    shape = list(shape_of(node[0]))
    if "seed" in node.attrs:
        check_count(math.prod(shape))
        generator = np.random.RandomState(node.attrs.int("seed") % 2**32)
        return constant(generator.uniform(0, 1, shape))
    bits = graph.RandomBitsOp(shape, zlib.crc32(node.label.encode())).result
    return graph.MulOp(cast(bits, F64), constant(np.asarray(2.0**-32))).result
