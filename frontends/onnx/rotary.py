"""Converter of RotaryEmbedding, and the rotation that other operators share with it."""

from __future__ import annotations

from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.heads import joined_heads, split_heads
from nn_opt.frontends.onnx.movement import sliced
from nn_opt.frontends.onnx.node import (
    BadNode,
    Node,
    Results,
    cast,
    rank_of,
    reshaped,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, shape_of


@converts("RotaryEmbedding")
def rotary_embedding(node: Node) -> Results:
    """Operands: x, cos, sin of each place, and which place each row stands at."""
    x = node[0]
    if rank_of(x) not in (3, 4):
        raise BadNode(f"operand 0 has shape {list(shape_of(x))}, expected 3 or 4 axes")
    rows = x if rank_of(x) == 4 else split_heads(x, node.attrs.int("num_heads"))
    cos, sin = (angles(node[index], node.get(3)) for index in (1, 2))
    dim = node.attrs.int("rotary_embedding_dim")
    y = rotated(rows, cos, sin, dim, interleaved=node.attrs.flag("interleaved"))
    return y if rank_of(x) == 4 else joined_heads(y)


def angles(cache: SSAValue, places: SSAValue | None) -> SSAValue:
    """Return the cosines or sines of each row, [batch, 1, length, size]."""
    found = cache if places is None else graph.GatherOp(cache, places, 0).result
    if rank_of(found) != 3:
        raise BadNode(f"angles have shape {list(shape_of(found))}, expected [batch, length, size]")
    batch, length, size = shape_of(found)
    return reshaped(found, [batch, 1, length, size])


def rotated(x: SSAValue, cos: SSAValue, sin: SSAValue, dim: int, *, interleaved: bool) -> SSAValue:
    """Return [batch, heads, length, size] with pairs of its first `dim` elements rotated.

    A pair is an element and its neighbour, if interleaved, or that of the other half. 0 is all.
    Raises: BadNode if there is no angle for each pair.
    """
    size = shape_of(x)[-1]
    dim = dim or size
    half = dim // 2
    if dim > size or dim % 2 or {shape_of(cos)[-1], shape_of(sin)[-1]} != {half}:
        have = f"{shape_of(cos)[-1]} cosines and {shape_of(sin)[-1]} sines a row"
        raise BadNode(f"{have}, expected one for each pair of the {dim} elements to rotate")
    cos, sin = (cast(value, element_type(x)) for value in (cos, sin))
    turned = sliced(x, 3, 0, dim) if dim < size else x
    y = _interleaved(turned, cos, sin) if interleaved else _halves(turned, cos, sin)
    return y if dim == size else graph.ConcatOp([y, sliced(x, 3, dim, size - dim)], 3).result


def _halves(x: SSAValue, cos: SSAValue, sin: SSAValue) -> SSAValue:
    half = shape_of(x)[-1] // 2
    first, second = sliced(x, 3, 0, half), sliced(x, 3, half, half)
    return graph.ConcatOp(_turned(first, second, cos, sin), 3).result


def _interleaved(x: SSAValue, cos: SSAValue, sin: SSAValue) -> SSAValue:
    *outer, size = shape_of(x)
    pairs = reshaped(x, [*outer, size // 2, 2])
    cos, sin = (reshaped(value, [*shape_of(value), 1]) for value in (cos, sin))
    first, second = sliced(pairs, 4, 0, 1), sliced(pairs, 4, 1, 1)
    return reshaped(graph.ConcatOp(_turned(first, second, cos, sin), 4).result, [*outer, size])


def _turned(first: SSAValue, second: SSAValue, cos: SSAValue, sin: SSAValue) -> list[SSAValue]:
    real = graph.SubOp(_product(cos, first), _product(sin, second)).result
    imaginary = graph.AddOp(_product(sin, first), _product(cos, second)).result
    return [real, imaginary]


def _product(a: SSAValue, b: SSAValue) -> SSAValue:
    return graph.MulOp(a, b).result
