"""Converters of com.microsoft's attentions: merged, packed and grouped projections, caches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.contrib import contrib
from nn_opt.frontends.onnx.heads import (
    Attended,
    Form,
    Mask,
    Reach,
    appended,
    attend,
    first_keys,
    joined_heads,
    split_heads,
)
from nn_opt.frontends.onnx.movement import sliced
from nn_opt.frontends.onnx.node import (
    F32,
    BadNode,
    Node,
    Results,
    Unsupported,
    rank_of,
    reshaped,
    scalar,
    scalar_like,
)
from nn_opt.ir.types import shape_of

LOWEST = -10000.0  # what is added to scores of keys that are masked, by default


@contrib(
    "Attention",
    needs=2,
    most=6,
    attrs="num_heads! unidirectional qkv_hidden_sizes scale mask_filter_value",
    only={"do_rotary": 0, "past_present_share_buffer": 0, "rotary_embedding_dim": 0},
)
def attention(node: Node) -> Results:
    """Operands: x, weights of q, k and v side by side, bias, mask, past, bias of scores."""
    product = graph.MatmulOp(node[0], node[1]).result
    return merged_attention(node, product, node.get(2), (node.get(3), node.get(4), node.get(5)))


def merged_attention(
    node: Node,
    product: SSAValue,
    bias: SSAValue | None,
    rest: tuple[SSAValue | None, SSAValue | None, SSAValue | None],
) -> Results:
    """Return attention of projections side by side; the rest: mask, past, bias of scores."""
    given, past, added = rest
    if rank_of(product) != 3:
        raise BadNode(f"operand 0 has {rank_of(product)} axes, expected [batch, length, hidden]")
    product = product if bias is None else graph.AddOp(product, bias).result
    width = shape_of(product)[-1]
    sizes = node.attrs.ints("qkv_hidden_sizes") or [width // 3] * 3
    if sum(sizes) != width or len(sizes) != 3:
        raise BadNode(f"weights make rows of {width} elements, expected q, k and v of {sizes}")
    starts = (0, sizes[0], sizes[0] + sizes[1])
    heads = node.attrs.int("num_heads")
    q, k, v = (
        split_heads(sliced(product, 2, start, size), heads)
        for start, size in zip(starts, sizes, strict=True)
    )
    if past is not None:
        k, v = (appended(_part(past, index), new) for index, new in enumerate((k, v)))
    attended = _attended(node, (q, k, v), given, added)
    pair = [reshaped(value, [1, *shape_of(value)]) for value in (k, v)]
    wanted = len(node.outputs) > 1
    present = graph.ConcatOp(pair, 0).result if wanted else None
    return [joined_heads(attended.y), present]


def _part(past: SSAValue, index: int) -> SSAValue:
    """Return the keys, or the values, of [2, batch, heads, length, size]."""
    return reshaped(sliced(past, 0, index, 1), shape_of(past)[1:])


def _attended(
    node: Node,
    heads: tuple[SSAValue, SSAValue, SSAValue],
    given: SSAValue | None,
    added: SSAValue | None,
) -> Attended:
    """Return the attention with a mask in one of onnxruntime's forms, and a bias of scores."""
    q, k, v = heads
    queries, keys = shape_of(q)[2], shape_of(k)[2]
    mask = Mask()
    if given is not None:
        lowest = node.attrs.float("mask_filter_value", LOWEST)
        mask = mask.with_bias(_penalty(_visible(given, q, k), lowest))
    if added is not None:
        mask = mask.with_bias(added)
    if node.attrs.flag("unidirectional"):
        mask = Reach(None, 0).mask(queries, keys, keys - queries, mask)
    return attend(q, k, v, Form(scale_of(node, q)), mask)


def scale_of(node: Node, q: SSAValue) -> float:
    """Return the factor of scores: an attribute other than 0, or the root of the head's size."""
    return node.attrs.float("scale") or 1 / math.sqrt(max(shape_of(q)[-1], 1))


def _penalty(visible: SSAValue, lowest: float) -> SSAValue:
    return graph.WhereOp(visible, scalar(0.0, F32), scalar(lowest, F32)).result


def _visible(mask: SSAValue, q: SSAValue, k: SSAValue) -> SSAValue:
    """Return which keys count, [batch, 1, queries or 1, keys].

    A mask is 0 or 1 for each key, or each query and key, or as [batch, 1, longest, longest]; or it
    has the length of each sequence, or the ends, then the starts, of all.
    """
    (batch, _, queries, _), keys, shape = shape_of(q), shape_of(k)[2], shape_of(mask)
    forms: dict[tuple[int, ...], list[int]] = {
        (batch, keys): [batch, 1, 1, keys],
        (batch, queries, keys): [batch, 1, queries, keys],
    }
    if shape in ((batch,), (2 * batch,)):
        return _between(mask, batch, keys)
    if len(shape) == 4 and shape[:2] == (batch, 1) and shape[2] >= keys == min(shape[3], keys):
        mask = sliced(sliced(mask, 2, keys - queries, queries), 3, 0, keys)
    elif shape in forms:
        mask = reshaped(mask, forms[shape])
    else:
        raise BadNode(
            f"the mask has shape {list(shape)}, expected one for {batch} sequences,"
            f" {queries} queries and {keys} keys"
        )
    return graph.GreaterOp(mask, scalar_like(0, mask)).result


def _between(limits: SSAValue, batch: int, keys: int) -> SSAValue:
    """Return the keys before the first `batch` limits and, if there are more, not before those."""
    before = first_keys(sliced(limits, 0, 0, batch), keys)
    if shape_of(limits) == (batch,):
        return before
    starts = first_keys(sliced(limits, 0, batch, batch), keys)
    return graph.AndOp(before, graph.NotOp(starts).result).result


@contrib(
    "MultiHeadAttention",
    needs=1,
    most=8,
    attrs="num_heads! scale mask_filter_value unidirectional",
)
def multi_head_attention(node: Node) -> Results:
    """Operands: query, key, value, bias, mask of keys, bias of scores, past key, past value."""
    heads = node.attrs.int("num_heads")
    q, k, v = _three(node, heads)
    old = (node.get(6), node.get(7))
    k, v = (appended(past, new) for past, new in zip(old, (k, v), strict=True))
    y = joined_heads(_attended(node, (q, k, v), node.get(4), node.get(5)).y)
    return [y, k, v]


def _three(node: Node, heads: int) -> Sequence[SSAValue]:
    """Return query, key and value as [batch, heads, length, size], the bias added."""
    parts = [node[0], node.get(1), node.get(2)]
    if rank_of(node[0]) == 5:
        parts = _unpacked(node[0], 3)
    elif parts[1] is not None and rank_of(parts[1]) == 5:
        parts[1:] = _unpacked(parts[1], 2)
    values = [value for value in parts if value is not None]
    if len(values) < 3:
        raise BadNode("expected a key and a value, or a query or key that holds them")
    start, found = 0, list[SSAValue]()
    for value in values:
        if rank_of(value) == 4:  # from a cache, without a bias
            found.append(value)
            continue
        size, bias = shape_of(value)[-1], node.get(3)
        if bias is not None:
            value = graph.AddOp(value, sliced(bias, 0, start, size)).result
        start += size
        found.append(split_heads(value, heads))
    return found


def _unpacked(value: SSAValue, count: int) -> list[SSAValue | None]:
    """Return the parts of [batch, length, heads, count, size] as [batch, length, hidden]."""
    batch, length, heads, parts, size = shape_of(value)
    if parts != count:
        raise BadNode(f"packed heads have shape {list(shape_of(value))}, expected {count} parts")
    shape = [batch, length, heads * size]
    return [reshaped(sliced(value, 3, index, 1), shape) for index in range(count)]


@contrib(
    "DecoderMaskedMultiHeadAttention",
    needs=1,
    most=11,
    attrs="num_heads! scale mask_filter_value output_qk",
    only={"past_present_share_buffer": 0},
)
def decoder_attention(node: Node) -> Results:
    """Operands: query, key, value, mask of keys, bias of scores, past key, past value, three of
    caches that beams share, bias."""
    if node.get(8) is not None or node.get(9) is not None:
        raise Unsupported("caches that beams share")
    if node.attrs.flag("output_qk"):
        raise Unsupported("output_qk = 1")
    order = (0, 1, 2, 10, 3, 4, 5, 6)
    return multi_head_attention(replace(node, operands=[node.get(index) for index in order]))
