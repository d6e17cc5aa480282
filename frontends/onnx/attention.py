"""Converters of attention: Attention and FlexAttention."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import TensorProto
from xdsl.ir import Attribute, SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.heads import (
    Form,
    Mask,
    Reach,
    appended,
    attend,
    broadcasts,
    cast_like,
    check_heads,
    first_keys,
    is_half,
    joined_heads,
    repeated_heads,
    split_heads,
    weights_of,
)
from nn_opt.frontends.onnx.node import (
    BadNode,
    Node,
    Results,
    cast,
    dtype_of,
    int64s,
    rank_of,
    scalar_like,
    transposed,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, mlir_type, shape_of


@converts("Attention")
def attention(node: Node) -> Results:
    """Operands: q, k, v, mask, past key, past value, number of keys that are no padding."""
    q, k, v = (_four_axes(node, index) for index in range(3))
    past = [node.get(4), node.get(5)]
    if past.count(None) == 1 or (past != [None, None] and node.get(6) is not None):
        raise BadNode("expected past_key and past_value together, without nonpad_kv_seqlen")
    k, v = (appended(old, new) for old, new in zip(past, (k, v), strict=True))
    if not all(rank_of(value) == 4 for value in (q, k, v)):
        raise BadNode("expected query, key and value of 3 or of 4 axes")
    check_heads(q, k, v)
    stage = node.attrs.int("qk_matmul_output_mode") if len(node.outputs) > 3 else None
    if stage not in (None, 0, 1, 2, 3):
        raise BadNode(f"qk_matmul_output_mode is {stage}, expected 0, 1, 2 or 3")
    form = Form(_scale(node, q), node.attrs.float("softcap"), _precision(node, q), stage)
    seen = 0 if past[0] is None else shape_of(past[0])[2]
    attended = attend(q, k, v, form, _mask(node, q, k, seen))
    y = attended.y if rank_of(node[0]) == 4 else joined_heads(attended.y)
    return [y, k, v, attended.matrix]


def _four_axes(node: Node, index: int) -> SSAValue:
    """Return query, key or value as [batch, heads, length, size]."""
    if rank_of(node[index]) != 3:
        return node[index]
    return split_heads(node[index], node.attrs.int("kv_num_heads" if index else "q_num_heads"))


def _scale(node: Node, q: SSAValue) -> float:
    size = max(shape_of(q)[-1], 1)
    return node.attrs.float("scale") if "scale" in node.attrs else 1 / math.sqrt(size)


def _precision(node: Node, q: SSAValue) -> Attribute | None:
    """Return the type of the softmax where it is not that of scores: f32 for half floats."""
    if "softmax_precision" not in node.attrs:
        return None
    dtype = node.attrs.dtype("softmax_precision", TensorProto.FLOAT)
    narrow = is_half(q) and dtype.itemsize < 8
    same = mlir_type(dtype) == element_type(q)
    return None if narrow or same else mlir_type(dtype)


def _mask(node: Node, q: SSAValue, k: SSAValue, past: int) -> Mask:
    """Return what attn_mask, nonpad_kv_seqlen, is_causal and windows leave of the keys."""
    queries, keys = shape_of(q)[2], shape_of(k)[2]
    mask = _given_mask(node.get(3), [*shape_of(q)[:3], keys])
    left, right = (node.attrs.int(f"{side}_window_size", -1) for side in ("left", "right"))
    if min(left, right) < -1:
        raise BadNode(f"windows of {left} and {right} keys, expected -1 or more")
    ahead = 0 if node.attrs.flag("is_causal") else None if right < 0 else right
    reach = Reach(None if left < 0 else left, ahead)
    lengths = node.get(6)
    if lengths is None:
        return reach.mask(queries, keys, past, mask)
    offset = graph.SubOp(lengths, int64s([queries])).result
    return reach.mask(queries, keys, offset, mask.and_allowed(first_keys(lengths, keys)))


def _given_mask(given: SSAValue | None, wanted: Sequence[int]) -> Mask:
    """Return a mask of truth values or numbers; keys that it leaves out are not seen."""
    if given is None:
        return Mask()
    shape = shape_of(given)
    missing = wanted[-1] - shape[-1] if shape else 0
    if missing > 0:
        lowest = False if dtype_of(given) == np.bool_ else -np.inf
        pads = [0] * (2 * len(shape) - 1) + [missing]
        given = graph.PadOp(given, pads, "constant", scalar_like(lowest, given)).result
    if not broadcasts(shape_of(given), wanted):
        raise BadNode(f"the mask has shape {list(shape)}, which does not fit {list(wanted)}")
    if dtype_of(given) == np.bool_:
        return Mask(guarded=True).and_allowed(given)
    return Mask(bias=given, guarded=True)


@converts("FlexAttention", domain="ai.onnx.preview")
def flex_attention(node: Node) -> Results:
    """Scores and weights may go through graphs of the node, in the type of the softmax."""
    q, k, v = node[0], node[1], node[2]
    if not all(rank_of(value) == 4 for value in (q, k, v)):
        raise BadNode("expected query, key and value of 4 axes")
    precision = mlir_type(node.attrs.dtype("softmax_precision", _default_precision(q)))
    if "score_mod" not in node.attrs and "prob_mod" not in node.attrs:
        return attend(q, k, v, Form(_scale(node, q), softmax=_precision(node, q)), Mask()).y
    check_heads(q, k, v)
    heads = shape_of(q)[1]
    keys = transposed(repeated_heads(k, heads), [0, 1, 3, 2])
    product = graph.MatmulOp(q, keys, wide=is_half(q)).result
    scores = graph.MulOp(product, scalar_like(_scale(node, q), product)).result
    scores = _modified(node, "score_mod", cast(scores, precision))
    weights = _modified(node, "prob_mod", weights_of(scores, None))
    values = cast_like(repeated_heads(v, heads), weights)
    return cast_like(graph.MatmulOp(weights, values).result, v)


def _default_precision(q: SSAValue) -> int:
    return TensorProto.DOUBLE if dtype_of(q) == np.float64 else TensorProto.FLOAT


def _modified(node: Node, name: str, value: SSAValue) -> SSAValue:
    """Return what a graph of the node makes of a matrix."""
    if name not in node.attrs:
        return value
    (result,) = node.inline(node.attrs.graph(name), [value])
    if shape_of(result) != shape_of(value):
        found = list(shape_of(result))
        raise BadNode(f"{name} makes shape {found} of {list(shape_of(value))}, expected the same")
    return cast_like(result, value)
