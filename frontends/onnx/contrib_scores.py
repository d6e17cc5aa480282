"""Converters of com.microsoft's biases of scores, and what it fuses around softmax and gates."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.contrib import contrib
from nn_opt.frontends.onnx.contrib_packed import restored
from nn_opt.frontends.onnx.dropout import dropout
from nn_opt.frontends.onnx.heads import cast_like, split_heads
from nn_opt.frontends.onnx.movement import sliced
from nn_opt.frontends.onnx.node import (
    BadNode,
    Node,
    Results,
    axis_in,
    constant,
    rank_of,
    reshaped,
    scalar_like,
)
from nn_opt.ir.types import shape_of


@contrib("BiasSoftmax", needs=2, attrs="axis is_inner_broadcast!")
def bias_softmax(node: Node) -> Results:
    """softmax(x + bias) over all axes from one on, together."""
    total = graph.AddOp(node[0], node[1]).result
    shape = shape_of(total)
    axis = axis_in(node.attrs.int("axis", 1), len(shape))
    rows = reshaped(total, [math.prod(shape[:axis]), math.prod(shape[axis:])])
    return reshaped(graph.SoftmaxOp(rows, 1).result, shape)


@contrib("BiasDropout", needs=2, most=5, attrs="seed")
def bias_dropout(node: Node) -> Results:
    """dropout(x + bias) + residual; operands: x, bias, residual, ratio, whether to train."""
    total = graph.AddOp(node[0], node[1]).result
    inner = replace(node, operands=[total, node.get(3), node.get(4)], version=13)
    y, mask = _pair(dropout(inner))
    return [y if node.get(2) is None else graph.AddOp(y, node[2]).result, mask]


def _pair(results: Results) -> tuple[SSAValue, SSAValue | None]:
    assert not isinstance(results, SSAValue), "two results"
    y, mask = results
    assert y is not None, "the first is always there"
    return y, mask


@contrib("ScaledSiLU", needs=1, most=2, attrs="alpha")
def scaled_silu(node: Node) -> Results:
    """z * sigmoid(z), z = x times a factor, an operand or an attribute."""
    x = node[0]
    factor = scalar_like(node.attrs.float("alpha", 1.0), x)
    if node.get(1) is not None:
        factor = cast_like(reshaped(node[1], []), x)
    z = graph.MulOp(x, factor).result
    return graph.MulOp(z, graph.SigmoidOp(z).result).result


@contrib("GatedAdd", needs=3)
def gated_add(node: Node) -> Results:
    """x + y * gate, one gate a row."""
    return graph.AddOp(node[0], graph.MulOp(node[1], node[2]).result).result


@contrib("GemmaRotaryEmbedding", needs=5)
def gemma_rotary(node: Node) -> Results:
    """Operands: angles, then q and k, each with its halves exchanged behind it."""
    batch, length, size = shape_of(node[0])
    angle = reshaped(node[0], [batch, 1, length, size])
    cos, sin = (cast_like(op(angle).result, node[1]) for op in (graph.CosOp, graph.SinOp))
    return [
        graph.AddOp(graph.MulOp(node[k], cos).result, graph.MulOp(node[k + 1], sin).result).result
        for k in (1, 3)
    ]


@contrib("RelativePositionBias", needs=3, attrs="is_bidirectional max_distance!")
def relative_position_bias(node: Node) -> Results:
    """T5's biases by distance, in buckets; the table's heads are its rows, whatever its shape."""
    buckets, heads = shape_of(node[0])
    (queries, *_), (keys, *_) = node.known_ints(1) or [0], node.known_ints(2) or [0]
    distances = np.arange(keys) - np.arange(queries)[:, None]
    both = node.attrs.flag("is_bidirectional")
    places = _buckets(distances, buckets, both, node.attrs.int("max_distance"))
    table = reshaped(node[0], [heads, buckets])
    found = graph.GatherOp(table, constant(places), 1).result
    return reshaped(found, [1, heads, queries, keys])


def _buckets(distance: np.ndarray, buckets: int, both: bool, longest: int) -> np.ndarray:
    """Return the bucket of each distance: exact ones first, then by its logarithm."""
    ahead = np.zeros_like(distance)
    if both:
        buckets //= 2
        ahead = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    if not 0 < exact < longest:
        raise BadNode(f"{buckets} buckets for distances up to {longest}, expected fewer, not 0")
    ratio = (np.maximum(distance, 1) / np.float32(exact)).astype(np.float32)
    share = np.log(ratio) / np.log(np.float32(longest / exact))
    far = exact + (share * (buckets - exact)).astype(np.int64)
    return ahead + np.where(distance < exact, distance, np.minimum(far, buckets - 1))


@contrib("GatedRelativePositionBias", needs=6, most=7, attrs="num_heads!")
def gated_relative_position_bias(node: Node) -> Results:
    """Operands: query, its bias, biases by distance, weights and bias of gates, a factor, offsets.

    A gate of each query and head, of sums of two halves of the products, scales the biases.
    """
    query = graph.AddOp(node[0], node[1]).result
    if node.get(6) is not None:
        query = graph.AddOp(restored(node[0], node[6]), node[1]).result
    rows = split_heads(query, node.attrs.int("num_heads"))
    product = graph.AddOp(graph.MatmulOp(rows, node[3]).result, node[4]).result
    *outer, width = shape_of(product)
    halves = reshaped(product, [*outer, 2, width // 2])
    sums = graph.ReduceOp(halves, "sum", [rank_of(halves) - 1], False).result
    gates = graph.SigmoidOp(sums).result
    u, r = (sliced(gates, 3, at, 1) for at in (0, 1))
    reset = graph.SubOp(graph.MulOp(r, node[5]).result, scalar_like(1, r)).result
    factor = graph.AddOp(graph.MulOp(u, reset).result, scalar_like(2, u)).result
    return graph.MulOp(factor, node[2]).result


@contrib(
    "MRotaryEmbedding",
    needs=4,
    attrs="mrope_section! num_heads rotary_embedding_dim interleaved mrope_layout scale",
    only={"is_packed_batching": 0},
)
def rotary_embedding_of_three(node: Node) -> Results:
    """As RotaryEmbedding, each angle by one of three places: of time, height and width."""
    from nn_opt.frontends.onnx.contrib_grouped import rotary_embedding

    places, sections = node[1], node.attrs.ints("mrope_section") or []
    half = shape_of(node[2])[-1]
    if shape_of(places)[:1] != (3,) or rank_of(places) != 3 or sum(sections) != half:
        have = f"places {list(shape_of(places))} and sections {sections}"
        raise BadNode(f"{have}, expected [3, batch, length] and {half} angles")
    chosen = _streams(sections, half, node.attrs.int("mrope_layout"))
    angle: list[SSAValue] = []
    for index in (2, 3):
        each = graph.GatherOp(node[index], places, 0).result  # [3, batch, length, half]
        parts = [sliced(sliced(each, 3, k, 1), 0, which, 1) for k, which in enumerate(chosen)]
        whole = graph.ConcatOp(parts, 3).result
        angle.append(reshaped(whole, [math.prod(shape_of(whole)[1:3]), half]))
    _, batch, length, _ = shape_of(each)
    own = constant(np.arange(batch * length).reshape(batch, length))
    return rotary_embedding(replace(node, operands=[node[0], own, *angle]))


def _streams(sections: list[int], half: int, layout: int) -> list[int]:
    """Return by which of the three places each angle goes."""
    if layout == 0:
        return [which for which, count in enumerate(sections) for _ in range(count)]
    chosen = [0] * half
    for which in (1, 2):
        for k in range(which, min(3 * sections[which], half), 3):
            chosen[k] = which
    return chosen
