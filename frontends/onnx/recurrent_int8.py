"""Converter of DynamicQuantizeLSTM: inputs and states are quantised, products are of integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.activations import Activation, refuse_unknown
from nn_opt.frontends.onnx.node import F32, BadNode, Node, Results, cast, constant, reshaped
from nn_opt.frontends.onnx.quantize import dynamically_quantized, widened
from nn_opt.frontends.onnx.recurrent import (
    KINDS,
    Direction,
    Kind,
    all_directions,
    pick,
    with_bias,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import shape_of


@dataclass(frozen=True)
class Codes:
    """Weights [K, N] as 8-bit integers, with a scale and a zero point for all or for a column."""

    integers: SSAValue
    scale: SSAValue
    zero: SSAValue

    def times(self, x: SSAValue) -> SSAValue:
        """Return the product of x [M, K], quantised by its own range, with the weights."""
        codes, scale, zero = dynamically_quantized(x)
        sums = graph.MatmulOp(widened(codes, zero), widened(self.integers, self.zero)).result
        factor = graph.MulOp(scale, self.scale).result
        return graph.MulOp(cast(sums, F32), factor).result


@dataclass(frozen=True)
class QuantizedDirection(Direction):
    """A direction whose states are quantised before they are multiplied."""

    codes: Codes

    def recur(self, h: SSAValue) -> SSAValue:
        return self.codes.times(h)


@converts("DynamicQuantizeLSTM", domain="com.microsoft", refusal=refuse_unknown)
def dynamic_quantize_lstm(node: Node) -> Results:
    """W [D, I, 4*H], R [D, H, 4*H]; behind LSTM's operands the scales and zero points of both."""
    return all_directions(node, KINDS["LSTM"], _direction)


def _direction(
    node: Node, kind: Kind, x: SSAValue, index: int, functions: Sequence[Activation]
) -> tuple[Direction, SSAValue]:
    """Return one direction's cell, and its input products [T, N, 4*H] with the biases added."""
    time, batch, features = shape_of(x)
    weights, recurrence = _codes(node, 1, 8, index), _codes(node, 2, 10, index)
    hidden, columns = shape_of(recurrence.integers)
    if columns != kind.gates * hidden:
        raise BadNode(f"R has {columns} columns a direction, expected {kind.gates} * {hidden}")
    flat = weights.times(reshaped(x, [time * batch, features]))
    flat, bias = with_bias(node, flat, index)
    peepholes = node.get(7)
    peepholes = None if peepholes is None else pick(peepholes, index)
    cell = QuantizedDirection(
        hidden, recurrence.integers, bias, peepholes, functions, node.attrs, recurrence
    )
    return cell, reshaped(flat, [time, batch, columns])


def _codes(node: Node, weights: int, scale: int, index: int) -> Codes:
    """Return one direction's weights; a zero point follows its scale."""
    parts = (_known(node, node[place], index) for place in (weights, scale, scale + 1))
    return Codes(*parts)


def _known(node: Node, value: SSAValue, index: int) -> SSAValue:
    """Return value[index] along the first axis, as a constant if it is one."""
    array = node.evaluate(value)
    return pick(value, index) if array is None else constant(np.ascontiguousarray(array[index]))
