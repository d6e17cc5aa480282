"""Converters of casts: numbers as another element type, or the same bits as another one."""

from __future__ import annotations

import numpy as np
from onnx import AttributeProto, TensorProto
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import Attributes, BadNode, Node, Results, dtype_of
from nn_opt.frontends.onnx.table import Request, converts
from nn_opt.frontends.onnx.weights import ELEMENT_DTYPES, type_name
from nn_opt.ir.types import element_type, mlir_type

MODES = {mode: mode for mode in ("up", "down", "nearest")}


def _target(attrs: Attributes) -> int:
    """Return the number of the element type; before opset 6 its name was given."""
    given = next((entry for entry in attrs.proto.attribute if entry.name == "to"), None)
    if given is None or given.type != AttributeProto.STRING:
        return attrs.int("to", TensorProto.FLOAT)
    name = given.s.decode("utf-8", "replace")
    return TensorProto.DataType.Value(name) if name in TensorProto.DataType.keys() else 0


def _refusal(request: Request) -> str:
    target = _target(request.attrs)
    return "" if target in ELEMENT_DTYPES else f"cast to {type_name(target)}"


def _casted(node: Node, dtype: np.dtype) -> SSAValue:
    target = mlir_type(dtype)
    if element_type(node[0]) == target:
        return node[0]
    mode = node.attrs.choice("round_mode", "up", MODES)
    return graph.CastOp(node[0], target, node.attrs.flag("saturate", True), mode).result


@converts("Cast", refusal=_refusal)
def cast_to(node: Node) -> Results:
    return _casted(node, ELEMENT_DTYPES[_target(node.attrs)])


@converts("CastLike")
def cast_like(node: Node) -> Results:
    return _casted(node, dtype_of(node[1]))


@converts("BitCast", refusal=_refusal)
def bit_cast(node: Node) -> Results:
    target = mlir_type(node.attrs.dtype("to", 0))
    if element_type(node[0]) == target:
        return node[0]
    try:
        return graph.BitcastOp(node[0], target).result
    except ValueError as error:
        raise BadNode(str(error)) from None
