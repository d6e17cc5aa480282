"""Converter of RotaryEmbedding, and the rotation that other operators share with it."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.heads import joined_heads, split_heads
from nn_opt.frontends.onnx.movement import sliced
from nn_opt.frontends.onnx.node import (
    BadNode,
    Node,
    Results,
    cast,
    constant,
    rank_of,
    reshaped,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, numpy_dtype, shape_of


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
    y = _turned(turned, cos, sin, 4 if interleaved else 3)
    return y if dim == size else graph.ConcatOp([y, sliced(x, 3, dim, size - dim)], 3).result


def _turned(x: SSAValue, cos: SSAValue, sin: SSAValue, axis: int) -> SSAValue:
    """Return x * cos + (x, the two of each pair exchanged) * (-sin, sin).

    The two are along an axis of their own, so that all is one formula of x.
    """
    *outer, size = shape_of(x)
    inner = [2, size // 2] if axis == 3 else [size // 2, 2]
    pairs = reshaped(x, [*outer, *inner])
    last = [0, 0, 0, 0, 0]
    last[axis] = 1
    steps = [-1 if place == axis else 1 for place in range(5)]
    other = graph.SliceOp(pairs, last, shape_of(pairs), steps).result
    cos, sin = (_beside_pairs(value, axis) for value in (cos, sin))
    signs = np.asarray([-1, 1], numpy_dtype(element_type(x)))
    sin = graph.MulOp(sin, constant(signs.reshape(-1, 1) if axis == 3 else signs)).result
    turned = graph.MulOp(other, sin).result
    return reshaped(graph.AddOp(graph.MulOp(pairs, cos).result, turned).result, [*outer, size])


def _beside_pairs(angle: SSAValue, axis: int) -> SSAValue:
    shape = list(shape_of(angle))
    shape.insert(axis, 1)
    return reshaped(angle, shape)
