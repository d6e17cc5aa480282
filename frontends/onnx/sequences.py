"""Converters of what decoders do along time: linear attention, causal convolution, caches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.heads import cast_like, joined_heads, split_heads
from nn_opt.frontends.onnx.movement import sliced
from nn_opt.frontends.onnx.node import (
    F32,
    I64,
    BadNode,
    Node,
    Results,
    axis_in,
    cast,
    constant,
    dtype_of,
    rank_of,
    reshaped,
    scalar_like,
    transposed,
)
from nn_opt.frontends.onnx.scan import scan
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, numpy_dtype, shape_of

# By update_rule: whether the state decays, and whether values are corrected by what it holds.
RULES = {
    "linear": (False, False),
    "gated": (True, False),
    "delta": (False, True),
    "gated_delta": (True, True),
}


@converts("LinearAttention")
def linear_attention(node: Node) -> Results:
    """Operands: query, key, value, past state, decay, beta; a step of the scan is a token."""
    decays, corrects = node.attrs.choice("update_rule", "gated_delta", RULES)
    if (decays, corrects) != (node.get(4) is not None, node.get(5) is not None):
        rule = node.attrs.text("update_rule", "gated_delta")
        raise BadNode(f"update_rule '{rule}' does not go with the decay and beta that are given")
    heads, groups = node.attrs.int("q_num_heads"), node.attrs.int("kv_num_heads")
    q, k, v = (_wide(split_heads(node[i], n)) for i, n in ((0, heads), (1, groups), (2, groups)))
    if heads % groups:
        raise BadNode(f"{heads} query heads are no multiple of {groups} heads of keys")
    batch, _, length, size = shape_of(q)
    scale = node.attrs.float("scale") or 1 / math.sqrt(size)
    q = graph.MulOp(q, scalar_like(scale, q)).result
    q = reshaped(q, [batch, groups, heads // groups, length, size])
    scanned = [transposed(q, [3, 0, 1, 2, 4]), *(_by_step(value) for value in (k, v))]
    if decays:
        scanned.append(_by_step(_wide(split_heads(node[4], groups))))
    if corrects:
        scanned.append(_by_step(_wide(split_heads(node[5], shape_of(node[5])[-1]))))
    state = _start(node.get(3), [batch, groups, size, shape_of(v)[-1]], q)
    last, outputs = scan([state], scanned, _Step(decays, corrects), reverse=False)
    rows = reshaped(transposed(outputs, [1, 2, 3, 0, 4]), [batch, heads, length, shape_of(v)[-1]])
    kept = node[0] if node.get(3) is None else node[3]
    return [cast_like(joined_heads(rows), node[0]), cast_like(last, kept)]


def _wide(value: SSAValue) -> SSAValue:
    """Return the value in float32, or wider."""
    return value if dtype_of(value).itemsize >= 4 else cast(value, F32)


def _by_step(value: SSAValue) -> SSAValue:
    """Return [batch, groups, length, size] as [length, batch, groups, 1, size]."""
    batch, groups, length, size = shape_of(value)
    return reshaped(transposed(value, [2, 0, 1, 3]), [length, batch, groups, 1, size])


def _start(past: SSAValue | None, shape: Sequence[int], like: SSAValue) -> SSAValue:
    if past is None:
        return constant(np.zeros(shape, numpy_dtype(element_type(like))))
    if shape_of(past) != tuple(shape):
        raise BadNode(f"the past state has shape {list(shape_of(past))}, expected {list(shape)}")
    return cast_like(past, like)


class _Step:
    """One token: state' = e^decay * state + k^T (beta * (v - k state)), y = q state'."""

    def __init__(self, decays: bool, corrects: bool):
        self.decays, self.corrects = decays, corrects

    def __call__(
        self, states: Sequence[SSAValue], slices: Sequence[SSAValue]
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        (state,), (q, k, v, *rest) = states, slices
        if self.decays:
            factor = graph.ExpOp(_column(rest.pop(0))).result
            state = graph.MulOp(state, factor).result
        if self.corrects:
            found = graph.MatmulOp(k, state).result
            v = graph.MulOp(graph.SubOp(v, found).result, rest.pop(0)).result
        state = graph.AddOp(state, graph.MulOp(_column(k), v).result).result
        return [state], [graph.MatmulOp(q, state).result]


def _column(row: SSAValue) -> SSAValue:
    """Return [batch, groups, 1, size] as [batch, groups, size, 1]."""
    batch, groups, _, size = shape_of(row)
    return reshaped(row, [batch, groups, size, 1])


@converts("CausalConvWithState")
def causal_conv_with_state(node: Node) -> Results:
    """Operands: x [batch, channels, length], filters [channels, 1, k], bias, earlier x."""
    x, filters, bias, past = node[0], node[1], node.get(2), node.get(3)
    silu = node.attrs.choice("activation", "none", {"none": False, "silu": True, "swish": True})
    if rank_of(x) != 3 or rank_of(filters) != 3:
        raise BadNode(f"expected an x and filters of 3 axes, not {rank_of(x)}, {rank_of(filters)}")
    _, channels, length = shape_of(x)
    before = shape_of(filters)[2] - 1
    if past is not None:
        x = graph.ConcatOp([past, x], 2).result if before else x
        state = sliced(x, 2, length, before)
    else:
        padded = graph.PadOp(x, [0, 0, before, 0, 0, 0], "constant", None).result if before else x
        state = sliced(padded, 2, length, before)
    pads = [0 if past is not None else before, 0]
    y = graph.ConvOp(x, filters, bias, strides=[1], pads=pads, dilations=[1], group=channels).result
    if silu:
        wide = _wide(y)
        y = cast_like(graph.MulOp(wide, graph.SigmoidOp(wide).result).result, y)
    return [y, state]


@converts("TensorScatter")
def tensor_scatter(node: Node) -> Results:
    """Operands: a cache, what to write, and from which place of `axis` on, for each batch."""
    cache, update = node[0], node[1]
    axis = axis_in(node.attrs.int("axis", -2), rank_of(cache))
    circular = node.attrs.choice("mode", "linear", {"linear": False, "circular": True})
    sizes, new = list(shape_of(cache)), list(shape_of(update))
    fitting = [*sizes[:axis], min(new[axis], sizes[axis]), *sizes[axis + 1 :]] if axis else []
    if new != fitting:
        raise BadNode(f"an update of shape {new} does not fit a cache of {sizes} along axis {axis}")
    starts = node.get(2) or constant(np.zeros(sizes[0], np.int64))
    return written(cache, update, starts, axis, circular=circular)


def written(
    cache: SSAValue, update: SSAValue, starts: SSAValue, axis: int, *, circular: bool = False
) -> SSAValue:
    """Return a cache with new rows along an axis, from a place for each batch on.

    Each row looks for the new one that belongs there: what would lie outside is left out.
    """
    shape, length, new = shape_of(cache), shape_of(cache)[axis], shape_of(update)[axis]
    batch, outer, inner = shape[0], math.prod(shape[:axis]), list(shape[axis + 1 :])
    first = cast(reshaped(starts, [batch, 1]), I64)
    first = graph.ExpandOp(first, [batch, outer // max(batch, 1)]).result
    place = graph.SubOp(constant(np.arange(length)), reshaped(first, [outer, 1])).result
    if circular:
        place = graph.ModOp(place, scalar_like(length, place)).result
    top = scalar_like(new - 1, place)
    zero = scalar_like(0, place)
    known = graph.ClipOp(place, zero, top).result
    rows = reshaped(update, [outer, new, *inner])
    found = graph.GatherNDOp(rows, reshaped(known, [outer, length, 1]), 1).result
    inside = graph.EqualOp(place, known).result
    inside = reshaped(inside, [outer, length, *[1] * len(inner)])
    kept = reshaped(cache, [outer, length, *inner])
    return reshaped(graph.WhereOp(inside, found, kept).result, shape)
