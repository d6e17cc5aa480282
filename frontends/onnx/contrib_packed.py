"""Converters of com.microsoft's attention over rows of sequences without their padding."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.contrib import contrib
from nn_opt.frontends.onnx.contrib_attention import scale_of
from nn_opt.frontends.onnx.heads import Form, Mask, attend, first_keys, joined_heads, split_heads
from nn_opt.frontends.onnx.movement import sliced
from nn_opt.frontends.onnx.node import (
    I64,
    BadNode,
    Node,
    Results,
    cast,
    constant,
    rank_of,
    reshaped,
)
from nn_opt.ir.types import element_type, numpy_dtype, shape_of


@contrib("RestorePadding", needs=2)
def restore_padding(node: Node) -> Results:
    return restored(node[0], node[1])


def restored(rows: SSAValue, places: SSAValue) -> SSAValue:
    """Return rows at their places in [batch, length], zeros elsewhere."""
    if rank_of(rows) != 2 or rank_of(places) != 2:
        have = f"{list(shape_of(rows))} and {list(shape_of(places))}"
        raise BadNode(f"operands of shapes {have}, expected [rows, hidden] and [batch, length]")
    (count, hidden), (batch, length) = shape_of(rows), shape_of(places)
    zeros = constant(np.zeros((batch * length, hidden), numpy_dtype(element_type(rows))))
    whole = graph.ScatterNDOp(zeros, reshaped(_first(places, count), [count, 1]), rows).result
    return reshaped(whole, [batch, length, hidden])


def _first(places: SSAValue, count: int) -> SSAValue:
    """Return where the rows that are no padding were."""
    flat = reshaped(places, [shape_of(places)[0] * shape_of(places)[1]])
    return cast(sliced(flat, 0, 0, count), I64)


@contrib(
    "PackedAttention",
    needs=5,
    most=6,
    attrs="num_heads! qkv_hidden_sizes scale",
)
def packed_attention(node: Node) -> Results:
    """Operands: rows, weights of q, k and v side by side, bias, places, sums of lengths, bias of
    scores."""
    product = graph.AddOp(graph.MatmulOp(node[0], node[1]).result, node[2]).result
    width = shape_of(product)[-1]
    sizes = node.attrs.ints("qkv_hidden_sizes") or [width // 3] * 3
    if sum(sizes) != width or len(sizes) != 3:
        raise BadNode(f"weights make rows of {width} elements, expected q, k and v of {sizes}")
    starts = (0, sizes[0], sizes[0] + sizes[1])
    parts = [sliced(product, 1, start, size) for start, size in zip(starts, sizes, strict=True)]
    return _attended(node, parts, node[3], node[4], node.get(5))


@contrib(
    "PackedMultiHeadAttention",
    needs=(0, 4, 5),
    most=7,
    attrs="num_heads! scale mask_filter_value",
)
def packed_multi_head_attention(node: Node) -> Results:
    """Operands: query, key, value, bias, places, sums of lengths, bias of scores; a query may hold
    all three, [rows, heads, 3, size]."""
    parts = [node[0], node.get(1), node.get(2)]
    if rank_of(node[0]) == 4:
        count, heads, three, size = shape_of(node[0])
        each = [sliced(node[0], 2, at, 1) for at in range(three)]
        parts = [reshaped(part, [count, heads * size]) for part in each]
    found = [part for part in parts if part is not None]
    if len(found) != 3:
        raise BadNode("expected a key and a value, or a query that holds all three")
    bias, start, rows = node.get(3), 0, list[SSAValue]()
    for part in found:
        size = shape_of(part)[1]
        more = None if bias is None else sliced(bias, 0, start, size)
        rows.append(part if more is None else graph.AddOp(part, more).result)
        start += size
    return _attended(node, rows, node[4], node[5], node.get(6))


def _attended(
    node: Node,
    rows: list[SSAValue],
    places: SSAValue,
    ends: SSAValue,
    bias: SSAValue | None,
) -> SSAValue:
    """Return attention within each sequence, by rows without padding."""
    heads, count = node.attrs.int("num_heads"), shape_of(rows[0])[0]
    q, k, v = (split_heads(restored(part, places), heads) for part in rows)
    batch, length = shape_of(places)
    after, before = (cast(sliced(ends, 0, at, batch), I64) for at in (1, 0))
    lengths = graph.SubOp(after, before).result
    mask = Mask(bias=bias).and_allowed(first_keys(lengths, length), guarded=False)
    y = joined_heads(attend(q, k, v, Form(scale_of(node, q)), mask).y)
    flat = reshaped(y, [batch * length, shape_of(y)[2]])
    return graph.GatherOp(flat, _first(places, count), 0).result
