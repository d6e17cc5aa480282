"""Converters of com.microsoft's mixtures of experts, of real and of quantised weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.contrib import contrib
from nn_opt.frontends.onnx.contrib_bits import BITS, unpacked
from nn_opt.frontends.onnx.heads import cast_like
from nn_opt.frontends.onnx.movement import sliced
from nn_opt.frontends.onnx.node import (
    F32,
    BadNode,
    Node,
    Results,
    Unsupported,
    cast,
    constant,
    dtype_of,
    rank_of,
    reshaped,
    scalar_like,
    transposed,
)
from nn_opt.ir.types import element_type, shape_of

SHARED = (
    "k activation_type normalize_routing_weights swiglu_fusion activation_alpha activation_beta"
    " swiglu_limit"
)
ONLY = {"use_sparse_mixer": 0, "swiglu_limit_after_activation": 0}
PAIRED = ("swiglu", "geglu")  # activations of two halves


def _gelu(x: SSAValue) -> SSAValue:
    return graph.GeluOp(x, approximate="tanh").result


def _silu(x: SSAValue) -> SSAValue:
    return graph.MulOp(x, graph.SigmoidOp(x).result).result


def _squared(x: SSAValue) -> SSAValue:
    positive = graph.ReluOp(x).result
    return graph.MulOp(positive, positive).result


ACTIVATIONS: Mapping[str, Callable[[SSAValue], SSAValue]] = {
    "relu": lambda x: graph.ReluOp(x).result,
    "gelu": _gelu,
    "silu": _silu,
    "identity": lambda x: x,
    "relu2": _squared,
    "geglu": _gelu,
    "swiglu": _silu,
}


@dataclass(frozen=True)
class Layer:
    """Weights [experts, columns, rows] of one layer of all experts, and biases."""

    weights: SSAValue
    bias: SSAValue | None
    scale: SSAValue | None = None
    zero: SSAValue | None = None
    bits: int = 8

    def of(self, places: SSAValue) -> Layer:
        """Return the layer of some experts, any number of times each."""
        parts = (self.weights, self.bias, self.scale, self.zero)
        found = [part and graph.GatherOp(part, places, 0).result for part in parts]
        weights, bias, scale, zero = found
        assert weights is not None, "a layer has weights"
        return Layer(weights, bias, scale, zero, self.bits)

    def __call__(self, x: SSAValue) -> SSAValue:
        """Return x [experts or 1, tokens, rows] times the weights."""
        product = graph.MatmulOp(x, transposed(self._real(x), [0, 2, 1])).result
        if self.bias is None:
            return product
        experts, columns = shape_of(self.bias)
        return graph.AddOp(product, cast_like(reshaped(self.bias, [experts, 1, columns]), x)).result

    def _real(self, x: SSAValue) -> SSAValue:
        if self.scale is None:
            return self.weights
        whole = unpacked(self.weights, self.bits)
        experts, columns, rows = shape_of(whole)
        scale = self.scale
        blocks = 1 if rank_of(scale) == 2 else shape_of(scale)[2]
        if rows % blocks:
            raise BadNode(f"rows of {rows} elements do not divide into {blocks} blocks")
        scale = reshaped(cast_like(scale, x), [experts, columns, blocks])
        zero = constant(np.full([1, 1, 1], 1 << (self.bits - 1), np.uint8))
        if self.zero is not None:
            packed = reshaped(self.zero, [experts, columns, -(-blocks * self.bits // 8)])
            zero = sliced(unpacked(packed, self.bits), 2, 0, blocks)
        block = rows // blocks
        return graph.DequantizeOp(whole, scale, zero, element_type(x), axis=2, block=block).result


@contrib("MoE", needs=(0, 1, 2, 4), most=8, attrs=SHARED, only=ONLY)
def mixture(node: Node) -> Results:
    """Operands: rows, scores of experts, then weights and bias of layers 1, 2 and 3."""
    layers = [Layer(node[k], node.get(k + 1)) for k in (2, 4)]
    third = node.get(6)
    gate = None if third is None else Layer(third, node.get(7))
    weighed = _weighed(node, normal=node.attrs.flag("normalize_routing_weights"))
    return _mixed(node, node[0], layers, gate, weighed)


@contrib(
    "QMoE",
    needs=(0, 1, 2, 3, 5, 6),
    most=15,
    attrs=f"{SHARED} expert_weight_bits block_size accuracy_level quant_type weights_prepacked"
    " fc1_expert_weight_bits fc2_expert_weight_bits fc3_expert_weight_bits",
    only=ONLY,
)
def quantised_mixture(node: Node) -> Results:
    """Operands: rows, scores, then weights, scales and biases of layers 1, 2 and 3, zero points of
    each, weights of experts."""
    if node.attrs.text("quant_type", "int") != "int":
        raise Unsupported(f"quant_type = {node.attrs.text('quant_type')}")
    if node.attrs.int("weights_prepacked") == 1:
        raise Unsupported("weights_prepacked = 1")
    layers: list[Layer | None] = []
    for number, at in enumerate((2, 5, 8)):
        bits = node.attrs.int("expert_weight_bits", 4)
        bits = node.attrs.int(f"fc{number + 1}_expert_weight_bits", bits)
        if bits not in BITS:
            raise BadNode(f"weights of {bits} bits, expected 2, 4 or 8")
        weights, scale, zero = node.get(at), node.get(at + 1), node.get(11 + number)
        layer = None
        if weights is not None and scale is not None:
            layer = Layer(weights, node.get(at + 2), scale, zero, bits)
        layers.append(layer)
    first, second, gate = layers
    assert first is not None, "operands 2 and 3 are there"
    assert second is not None, "operands 5 and 6 are there"
    y = _mixed(node, cast(node[0], F32), [first, second], gate, _weighed(node, normal=True))
    return cast_like(y, node[0])


def _weighed(node: Node, *, normal: bool) -> tuple[SSAValue, SSAValue]:
    """Return the best experts of each row, [rows, k], and how much each weighs."""
    scores, count = node[1], node.attrs.int("k", 1)
    if rank_of(scores) != 2 or not 1 <= count <= shape_of(scores)[1]:
        raise BadNode(f"k is {count}, of scores {list(shape_of(scores))}, expected [rows, experts]")
    best = graph.ArgSortOp(scores, 1, count, descending=True).result
    wide, given = cast(scores, F32), node.get(14) if node.proto.op_type == "QMoE" else None
    if given is not None:
        chosen = graph.GatherElementsOp(cast(given, F32), best, 1).result
        if not node.attrs.flag("normalize_routing_weights"):
            return best, chosen
        total = graph.ReduceOp(chosen, "sum", [1], True).result
        return best, graph.DivOp(chosen, total).result
    wide = wide if normal else graph.SoftmaxOp(wide, 1).result
    chosen = graph.GatherElementsOp(wide, best, 1).result
    return best, graph.SoftmaxOp(chosen, 1).result if normal else chosen


def _mixed(
    node: Node,
    x: SSAValue,
    layers: list[Layer],
    gate: Layer | None,
    weighed: tuple[SSAValue, SSAValue],
) -> SSAValue:
    """Return the sum of experts, each times what it weighs.

    Of a few rows, the weights of their experts are gathered; of many, all experts compute all.
    """
    best, shares = weighed
    (count, chosen), experts = shape_of(best), shape_of(layers[0].weights)[0]
    width = shape_of(x)[-1]
    rows = reshaped(x, [count, width])
    shares = cast_like(shares, x)
    if count * chosen <= experts:
        flat = reshaped(best, [count * chosen])
        pairs = graph.ExpandOp(reshaped(rows, [count, 1, width]), [count, chosen, width]).result
        picked = [layer.of(flat) for layer in layers]
        third = None if gate is None else gate.of(flat)
        made = _experts(node, reshaped(pairs, [count * chosen, 1, width]), picked, third)
        made = reshaped(made, [count, chosen, shape_of(made)[2]])
        factor, axis = reshaped(shares, [count, chosen, 1]), 1
    else:
        made = _experts(node, reshaped(rows, [1, count, width]), layers, gate)
        none = constant(np.zeros((count, experts), dtype_of(x)))
        spread = graph.ScatterElementsOp(none, best, shares, 1).result
        factor, axis = reshaped(transposed(spread, [1, 0]), [experts, count, 1]), 0
    total = graph.ReduceOp(graph.MulOp(made, factor).result, "sum", [axis], False).result
    return reshaped(total, [*shape_of(x)[:-1], shape_of(total)[1]])


def _experts(node: Node, x: SSAValue, layers: list[Layer], gate: Layer | None) -> SSAValue:
    first, second = layers
    hidden, third = first(x), None if gate is None else gate(x)
    if node.attrs.text("activation_type", "relu") in PAIRED and third is None:
        hidden, third = _halves(node, hidden)
    return second(_activated(node, hidden, third))


def _halves(node: Node, both: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return what is activated, and what it is multiplied with: by turns, or side by side."""
    *outer, width = shape_of(both)
    fusion = node.attrs.int("swiglu_fusion")
    if fusion not in (1, 2) or width % 2:
        raise BadNode(f"swiglu_fusion is {fusion}, with no third layer, expected 1 or 2")
    inner, axis = ([width // 2, 2], 3) if fusion == 1 else ([2, width // 2], 2)
    pairs = reshaped(both, [*outer, *inner])
    first, second = (reshaped(sliced(pairs, axis, at, 1), [*outer, width // 2]) for at in (0, 1))
    return first, second


def _activated(node: Node, x: SSAValue, more: SSAValue | None) -> SSAValue:
    name, limit = node.attrs.text("activation_type", "relu"), node.attrs.float("swiglu_limit")
    function = node.attrs.choice("activation_type", "relu", ACTIVATIONS)
    if more is None:
        return function(x)
    if name != "swiglu":
        return graph.MulOp(function(x), more).result
    if limit > 0:
        high, low = scalar_like(limit, x), scalar_like(-limit, x)
        x, more = graph.ClipOp(x, None, high).result, graph.ClipOp(more, low, high).result
    factor = scalar_like(node.attrs.float("activation_alpha", 1.0), x)
    bent = graph.SigmoidOp(graph.MulOp(x, factor).result).result
    more = graph.AddOp(more, scalar_like(node.attrs.float("activation_beta"), more)).result
    return graph.MulOp(graph.MulOp(x, bent).result, more).result
