"""Converters of orders: TopK."""

from __future__ import annotations

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import BadNode, Node, Results, axis_in, rank_of
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import shape_of


@converts("TopK")
def top_k(node: Node) -> Results:
    """Opset 1 has k as an attribute; results are in order, whether that is asked for or not."""
    x = node[0]
    if not rank_of(x):
        raise BadNode("the operand is a scalar, expected an axis to sort along")
    axis = axis_in(node.attrs.int("axis", -1), rank_of(x))
    count = [node.attrs.int("k")] if node.version < 10 else node.known_ints(1)
    if not count or len(count) != 1 or not 0 <= count[0] <= shape_of(x)[axis]:
        raise BadNode(f"k is {count}, expected one from 0 to {shape_of(x)[axis]}")
    largest = node.attrs.flag("largest", True)
    order = graph.ArgSortOp(x, axis, count[0], descending=largest).result
    return [graph.GatherElementsOp(x, order, axis).result, order]
