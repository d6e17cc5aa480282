"""Converters of quantised operators, spelled exactly: integers are widened, then rescaled once."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.nn import window_of, window_refusal
from nn_opt.frontends.onnx.node import (
    F32,
    Node,
    Results,
    axis_in,
    cast,
    dtype_of,
    rank_of,
    reshaped,
    scalar_like,
)
from nn_opt.frontends.onnx.table import Request, converts
from nn_opt.frontends.onnx.weights import ELEMENT_DTYPES, type_name
from nn_opt.ir.types import element_type, mlir_type, shape_of

I32 = mlir_type(np.int32)
UI8 = np.dtype(np.uint8)


def _along_axis(parameter: SSAValue, node: Node) -> SSAValue:
    """Return a scale or zero point so that it broadcasts: a scalar, a vector or blocks."""
    shape = shape_of(node[0])
    block = node.attrs.int("block_size", 0)
    if block:
        return _blocks(parameter, shape, axis_in(node.attrs.int("axis", 1), len(shape)), block)
    if len(shape_of(parameter)) == 0 or shape_of(parameter) == (1,):
        return reshaped(parameter, [])
    places = [1] * len(shape)
    places[axis_in(node.attrs.int("axis", 1), len(shape))] = shape_of(parameter)[0]
    return reshaped(parameter, places)


def _blocks(parameter: SSAValue, shape: tuple[int, ...], axis: int, block: int) -> SSAValue:
    """Return each entry along the axis repeated `block` times, cut to the data's size."""
    sizes = list(shape_of(parameter))
    apart = reshaped(parameter, [*sizes[: axis + 1], 1, *sizes[axis + 1 :]])
    spread = [*sizes[: axis + 1], block, *sizes[axis + 1 :]]
    repeated = graph.ExpandOp(apart, spread).result
    sizes[axis] *= block
    whole = reshaped(repeated, sizes)
    if sizes[axis] == shape[axis]:
        return whole
    return graph.SliceOp(whole, [0] * len(shape), list(shape), [1] * len(shape)).result


def _quantized(x: SSAValue, scale: SSAValue, zero: SSAValue | None, dtype: np.dtype[Any]):
    """Return saturate(round_half_even(x / scale) + zero), with x and scale in float32."""
    value = graph.RoundOp(graph.DivOp(x, scale).result).result
    if zero is not None:
        value = graph.AddOp(value, cast(zero, F32)).result
    return _saturated(value, dtype)


def _saturated(value: SSAValue, dtype: np.dtype[Any]) -> SSAValue:
    limits = np.iinfo(dtype)
    bounds = scalar_like(limits.min, value), scalar_like(limits.max, value)
    return cast(graph.ClipOp(value, *bounds).result, mlir_type(dtype))


def widened(value: SSAValue, zero: SSAValue | None) -> SSAValue:
    """Return the integers minus their zero point, in int32."""
    wide = cast(value, I32)
    return wide if zero is None else graph.SubOp(wide, cast(zero, I32)).result


def _quantize_refusal(request: Request) -> str:
    kind = request.attrs.int("output_dtype", 0)
    return "" if kind in (0, *ELEMENT_DTYPES) else f"quantise to {type_name(kind)}"


@converts("QuantizeLinear", refusal=_quantize_refusal)
def quantize_linear(node: Node) -> Results:
    zero = node.get(2)
    dtype = UI8 if zero is None else dtype_of(zero)
    if node.attrs.int("output_dtype", 0):
        dtype = node.attrs.dtype("output_dtype", 0)
    scale = cast(_along_axis(node[1], node), F32)
    zero = None if zero is None else _along_axis(zero, node)
    return _quantized(cast(node[0], F32), scale, zero, dtype)


@converts("DequantizeLinear", refusal=_quantize_refusal)
def dequantize_linear(node: Node) -> Results:
    zero = node.get(2)
    zero = None if zero is None else _along_axis(zero, node)
    whole = cast(widened(node[0], zero), F32)
    real = graph.MulOp(whole, cast(_along_axis(node[1], node), F32)).result
    if node.attrs.int("output_dtype", 0):
        return cast(real, mlir_type(node.attrs.dtype("output_dtype", 0)))
    return cast(real, element_type(node[1]))


@converts("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node) -> Results:
    return dynamically_quantized(node[0])


def dynamically_quantized(x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Return bytes, scale and zero point: the range of x, stretched to hold 0, becomes 0..255."""
    axes, nought = range(rank_of(x)), scalar_like(0, x)
    high = graph.MaximumOp(graph.ReduceOp(x, "max", axes, False).result, nought).result
    low = graph.MinimumOp(graph.ReduceOp(x, "min", axes, False).result, nought).result
    scale = graph.DivOp(graph.SubOp(high, low).result, scalar_like(255, x)).result
    start = graph.RoundOp(graph.DivOp(graph.NegOp(low).result, scale).result).result
    zero = _saturated(start, UI8)
    return _quantized(x, scale, zero, UI8), scale, zero


@converts("MatMulInteger")
def matmul_integer(node: Node) -> Results:
    left = widened(node[0], _per_row(node.get(2)))
    return graph.MatmulOp(left, widened(node[1], node.get(3))).result


def _per_row(zero: SSAValue | None) -> SSAValue | None:
    """Return a zero point of A: a vector counts rows, so it stands as a column."""
    if zero is None or rank_of(zero) != 1 or shape_of(zero) == (1,):
        return zero
    return reshaped(zero, [*shape_of(zero), 1])


@converts("QLinearMatMul")
def qlinear_matmul(node: Node) -> Results:
    """Operands: a, scale, zero, b, scale, zero, result's scale, zero."""
    left = widened(node[0], _per_row(node[2]))
    total = graph.MatmulOp(left, widened(node[3], node[5])).result
    left_scale = _per_row(node[1])
    assert left_scale is not None
    scale = _product_scale(left_scale, node[4])
    return _requantized(total, scale, node[6], node[7])


def _product_scale(left: SSAValue, right: SSAValue) -> SSAValue:
    return graph.MulOp(cast(left, F32), cast(right, F32)).result


def _requantized(total: SSAValue, scale: SSAValue, out: SSAValue, zero: SSAValue) -> SSAValue:
    real = graph.MulOp(cast(total, F32), scale).result
    return _quantized(real, cast(out, F32), zero, dtype_of(zero))


def _integer_conv(node: Node, x: SSAValue, w: SSAValue, bias: SSAValue | None) -> SSAValue:
    window = window_of(node.attrs, shape_of(x)[2:], shape_of(w)[2:])
    return graph.ConvOp(
        x,
        w,
        bias,
        strides=window.strides,
        pads=window.pads,
        dilations=window.dilations,
        group=node.attrs.int("group", 1),
    ).result


def _per_filter(value: SSAValue | None, w: SSAValue) -> SSAValue | None:
    """Return a parameter of the filters: a vector counts output channels."""
    if value is None or shape_of(value) in ((), (1,)):
        return value if value is None else reshaped(value, [])
    return reshaped(value, [shape_of(value)[0], *([1] * (rank_of(w) - 1))])


@converts("ConvInteger", refusal=window_refusal)
def conv_integer(node: Node) -> Results:
    zero = node.get(2)
    x = widened(node[0], None if zero is None else reshaped(zero, []))
    return _integer_conv(node, x, widened(node[1], _per_filter(node.get(3), node[1])), None)


@converts("QLinearConv", refusal=window_refusal)
def qlinear_conv(node: Node) -> Results:
    """Operands: x, scale, zero, w, scale, zero, result's scale, zero, int32 bias."""
    x = widened(node[0], reshaped(node[2], []))
    w = widened(node[3], _per_filter(node[5], node[3]))
    total = _integer_conv(node, x, w, node.get(8))
    filters = node[4]
    if shape_of(filters) not in ((), (1,)):
        filters = reshaped(filters, [shape_of(filters)[0], *([1] * (rank_of(x) - 2))])
    else:
        filters = reshaped(filters, [])
    scale = _product_scale(reshaped(node[1], []), filters)
    return _requantized(total, scale, reshaped(node[6], []), reshaped(node[7], []))
