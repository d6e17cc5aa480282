"""Converters of com.microsoft's operators of decoders: grouped attention, rotations, states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.contrib import contrib
from nn_opt.frontends.onnx.contrib_attention import scale_of
from nn_opt.frontends.onnx.heads import (
    Form,
    Mask,
    Reach,
    attend,
    first_keys,
    joined_heads,
    split_heads,
)
from nn_opt.frontends.onnx.movement import sliced
from nn_opt.frontends.onnx.node import (
    I64,
    BadNode,
    Node,
    Results,
    Unsupported,
    cast,
    constant,
    int64s,
    rank_of,
    reshaped,
    scalar_like,
    transposed,
)
from nn_opt.frontends.onnx.rotary import angles, rotated
from nn_opt.frontends.onnx.sequences import causal_conv_with_state, linear_attention, written
from nn_opt.ir.types import element_type, numpy_dtype, shape_of


@contrib(
    "RotaryEmbedding",
    needs=4,
    attrs="interleaved num_heads rotary_embedding_dim scale",
    only={"is_packed_batching": 0},
)
def rotary_embedding(node: Node) -> Results:
    """Operands: x, places of rows, or that of all first ones, cosines, sines."""
    x, places, cos = node[0], node[1], node[2]
    dim, heads = node.attrs.int("rotary_embedding_dim"), node.attrs.int("num_heads")
    if rank_of(x) not in (3, 4):
        raise BadNode(f"operand 0 has shape {list(shape_of(x))}, expected 3 or 4 axes")
    if node.attrs.float("scale", 1.0) != 1.0:
        raise BadNode(f"scale is {node.attrs.float('scale')}, expected 1")
    rows = x
    if rank_of(x) == 3:
        size = 2 * shape_of(cos)[-1]
        rows = split_heads(x, heads if dim and heads else shape_of(x)[-1] // max(size, 1))
    batch, _, length, _ = shape_of(rows)
    if rank_of(places) == 1:
        places = graph.ExpandOp(_rows(places, length), [batch, length]).result
    angle = [angles(node[index], places) for index in (2, 3)]
    interleaved = node.attrs.flag("interleaved")
    y = rotated(rows, angle[0], angle[1], dim, interleaved=interleaved)
    return y if rank_of(x) == 4 else joined_heads(y)


@contrib(
    "LinearAttention",
    needs=3,
    most=6,
    attrs="q_num_heads! kv_num_heads! scale update_rule chunk_size",
    only={"state_window": 0},
)
def linear_attention_of_groups(node: Node) -> Results:
    return linear_attention(node)


@contrib(
    "CausalConvWithState",
    needs=2,
    most=4,
    attrs="activation",
    only={"ndim": 1, "dilation": 1, "channels_last": 0, "state_window": 0},
)
def causal_conv(node: Node) -> Results:
    return causal_conv_with_state(node)


def _rows(starts: SSAValue, length: int) -> SSAValue:
    """Return the places start, start + 1, ... of each batch, [batch, length]."""
    column = reshaped(cast(starts, I64), [*shape_of(starts), 1])
    return graph.AddOp(column, constant(np.arange(length))).result


@contrib(
    "GroupQueryAttention",
    needs=(0, 5, 6),
    most=12,
    attrs="num_heads! kv_num_heads! scale softcap do_rotary rotary_interleaved local_window_size"
    " smooth_softmax causal k_quant_type v_quant_type kv_cache_bit_width qk_norm_epsilon",
    only={"qk_output": 0, "sliding_window_cache": 0},
)
def group_query_attention(node: Node) -> Results:
    """Operands: query, key, value, their past, last place of each sequence, greatest length,
    cosines, sines, places, bias of scores, sinks of heads."""
    for name in ("k_quant_type", "v_quant_type"):
        if node.attrs.text(name, "NONE") != "NONE":
            raise Unsupported(f"{name} = {node.attrs.text(name)}")
    q, k, v = _three(node)
    length = shape_of(q)[2]
    total = (node.known_ints(6) or [0])[0]
    past = [node.get(3), node.get(4)]
    counts = graph.AddOp(cast(reshaped(node[5], [shape_of(q)[0]]), I64), int64s([1])).result
    if length == total:  # a prompt: what is there before counts for nothing
        starts = int64s([0] * shape_of(q)[0])
    else:
        starts = graph.SubOp(counts, int64s([length])).result
    if node.attrs.flag("do_rotary"):
        q, k = (_turned(node, value, starts) for value in (q, k))
    held = [0 if value is None else shape_of(value)[2] for value in past]
    k, v = (
        written(_room(old, new, max(total, size)), new, starts, 2)
        for old, new, size in zip(past, (k, v), held, strict=True)
    )
    keys = sliced(k, 2, 0, total) if shape_of(k)[2] > total else k
    values = sliced(v, 2, 0, total) if shape_of(v)[2] > total else v
    form = Form(scale_of(node, q), node.attrs.float("softcap"), sink=_sink(node, q))
    y = attend(q, keys, values, form, _mask(node, q, total, starts, counts)).y
    return [joined_heads(y), k, v]


@contrib(
    "SparseAttention",
    needs=(0, 3, 4, 5, 6, 7, 8),
    most=11,
    attrs="num_heads! kv_num_heads! sparse_block_size! scale do_rotary rotary_interleaved",
)
def sparse_attention(node: Node) -> Results:
    """Operands: query, key, value, their past, first entries and columns of the blocks that rows of
    blocks see, greatest length, length of each sequence, cosines, sines."""
    q, k, v = _three(node)
    batch, _, length, _ = shape_of(q)
    total = (node.known_ints(7) or [0])[0]
    counts = cast(reshaped(node[8], [batch]), I64)
    is_prompt = length == total
    starts = int64s([0] * batch) if is_prompt else graph.SubOp(counts, int64s([length])).result
    if node.attrs.flag("do_rotary"):
        angles_first = replace(node, operands=[*[None] * 7, node.get(9), node.get(10)])
        q, k = (_turned(angles_first, value, starts) for value in (q, k))
    past = (node[3], node[4])
    k, v = (written(old, new, starts, 2) for old, new in zip(past, (k, v), strict=True))
    keys, values = (sliced(value, 2, 0, total) for value in (k, v))
    seen = _blocks(node, _rows(starts, length), total)
    mask = Reach(None, 0).mask(length, total, 0 if is_prompt else starts, Mask((seen,)))
    y = attend(q, keys, values, Form(scale_of(node, q)), Mask(mask.allowed)).y
    return [joined_heads(y), k, v]


def _blocks(node: Node, places: SSAValue, keys: int) -> SSAValue:
    """Return which keys queries at some places see by blocks, [batch, heads, queries, keys].

    Layouts of blocks are for heads in turn.
    """
    block, heads = node.attrs.int("sparse_block_size"), node.attrs.int("num_heads")
    ends, columns = node.known(5), node.known(6)
    if ends is None or columns is None or ends.ndim != 2 or block < 1 or heads % len(ends):
        raise BadNode("expected layouts [layouts, blocks + 1] whose number divides that of heads")
    count = ends.shape[1] - 1
    seen = np.zeros((len(ends), count, count), np.bool_)
    for layout, row in np.ndindex(seen.shape[:2]):
        seen[layout, row, columns[layout, ends[layout, row] : ends[layout, row + 1]]] = True
    rows = graph.DivOp(places, scalar_like(block, places)).result
    found = graph.GatherOp(constant(seen), rows, 1).result
    found = graph.GatherOp(found, constant(np.arange(keys) // block), 3).result
    layouts, batch, queries, _ = shape_of(found)
    apart = reshaped(transposed(found, [1, 0, 2, 3]), [batch, 1, layouts, queries, keys])
    spread = [batch, heads // layouts, layouts, queries, keys]
    return reshaped(graph.ExpandOp(apart, spread).result, [batch, heads, queries, keys])


def _three(node: Node) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Return query, key and value as [batch, heads, length, size]; a query may hold all."""
    heads, groups = node.attrs.int("num_heads"), node.attrs.int("kv_num_heads")
    q, k, v = node[0], node.get(1), node.get(2)
    if rank_of(q) != 3 or heads < 1 or groups < 1:
        raise BadNode(f"expected a query of 3 axes with heads, not {list(shape_of(q))}")
    if k is None or v is None:
        together, width = heads + 2 * groups, shape_of(q)[2]
        if width % together:
            raise BadNode(f"rows of {width} elements do not divide into {together} heads")
        size = width // together
        k = sliced(q, 2, heads * size, groups * size)
        v = sliced(q, 2, (heads + groups) * size, groups * size)
        q = sliced(q, 2, 0, heads * size)
    return split_heads(q, heads), split_heads(k, groups), split_heads(v, groups)


def _turned(node: Node, value: SSAValue, starts: SSAValue) -> SSAValue:
    if node.get(7) is None or node.get(8) is None:
        raise BadNode("do_rotary = 1 without cosines and sines, expected operands 7 and 8")
    places = node.get(9)
    if places is None:
        places = _rows(starts, shape_of(value)[2])
        places = graph.ClipOp(places, scalar_like(0, places), None).result
    cos, sin = (angles(node[index], places) for index in (7, 8))
    interleaved = node.attrs.flag("rotary_interleaved")
    return rotated(value, cos, sin, 2 * shape_of(cos)[-1], interleaved=interleaved)


def _room(past: SSAValue | None, new: SSAValue, length: int) -> SSAValue:
    """Return a cache of a length that begins as the past does."""
    batch, groups, _, size = shape_of(new)
    if past is None or not shape_of(past)[2]:
        return constant(np.zeros((batch, groups, length, size), numpy_dtype(element_type(new))))
    missing = length - shape_of(past)[2]
    pads = [0] * 6 + [missing, 0]
    return graph.PadOp(past, pads, "constant", None).result if missing else past


def _sink(node: Node, q: SSAValue) -> SSAValue | None:
    """Return what takes part in the softmax of each head beside its keys, [1, heads, 1, 1]."""
    heads = shape_of(q)[1]
    if node.get(11) is not None:
        return reshaped(node[11], [1, heads, 1, 1])
    if node.attrs.int("smooth_softmax", -1) < 1:
        return None
    return constant(np.zeros((1, heads, 1, 1), numpy_dtype(element_type(q))))


def _mask(node: Node, q: SSAValue, keys: int, starts: SSAValue, counts: SSAValue) -> Mask:
    mask = Mask() if node.get(10) is None else Mask(bias=node[10])
    queries, window = shape_of(q)[2], node.attrs.int("local_window_size", -1)
    if not node.attrs.flag("causal", True):
        return mask.and_allowed(first_keys(counts, keys), guarded=False)
    back = None if window < 1 else window - 1
    offset = 0 if queries == keys else starts
    mask = Reach(back, 0).mask(queries, keys, offset, mask)
    return Mask(mask.allowed, mask.bias)  # a query sees at least itself
