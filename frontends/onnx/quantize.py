"""Converters of quantised operators, spelled exactly: integers are widened, then rescaled once."""

from __future__ import annotations

import numpy as np
from ml_dtypes import iinfo
from xdsl.ir import Attribute, SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.nn import window_of, window_refusal
from nn_opt.frontends.onnx.node import (
    F32,
    BadNode,
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
from nn_opt.ir.small_types import E8M0, is_small, is_small_float
from nn_opt.ir.types import element_type, mlir_type, numpy_dtype, shape_of

I32 = mlir_type(np.int32)
F64 = mlir_type(np.float64)
UI8 = mlir_type(np.uint8)


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


def quantized(
    x: SSAValue, scale: SSAValue, zero: SSAValue | None, target: Attribute, saturate: bool = True
) -> SSAValue:
    """Return saturate(round_half_even(x / scale) + zero), divided in the type of both."""
    value = cast(graph.DivOp(x, scale).result, F32)
    if is_small_float(target):
        value = value if zero is None else graph.AddOp(value, cast(zero, F32)).result
        return graph.CastOp(value, target, saturate).result
    value = graph.RoundOp(value).result
    if zero is not None:
        value = graph.AddOp(value, cast(zero, F32)).result
    return _saturated(value, target)


def rounded_once(value: SSAValue, zero: SSAValue | None, target: Attribute) -> SSAValue:
    """Return saturate(round_half_even(value + zero)): at ties, an odd zero counts."""
    if zero is not None:
        value = graph.AddOp(value, cast(zero, element_type(value))).result
    return _saturated(graph.RoundOp(value).result, target)


def _saturated(value: SSAValue, target: Attribute) -> SSAValue:
    limits = iinfo(numpy_dtype(target))
    bounds = scalar_like(limits.min, value), scalar_like(limits.max, value)
    return cast(graph.ClipOp(value, *bounds).result, target)


def widened(value: SSAValue, zero: SSAValue | None) -> SSAValue:
    """Return the numbers minus their zero point: integers in int32, floats in float32."""
    element = F32 if is_small_float(element_type(value)) else I32
    wide = cast(value, element)
    return wide if zero is None else graph.SubOp(wide, cast(zero, element)).result


def _quantize_refusal(request: Request) -> str:
    kind = request.attrs.int("output_dtype", 0)
    return "" if kind in (0, *ELEMENT_DTYPES) else f"quantise to {type_name(kind)}"


@converts("QuantizeLinear", refusal=_quantize_refusal)
def quantize_linear(node: Node) -> Results:
    """The division is done in the type of the scale, unless `precision` says which."""
    zero, kind = node.get(2), node.attrs.int("output_dtype", 0)
    target = UI8 if zero is None else element_type(zero)
    if kind:
        target = mlir_type(node.attrs.dtype("output_dtype", 0))
    if zero is not None and element_type(zero) != target:
        problem = f"output_dtype is {type_name(kind)}, but the zero point is {dtype_of(zero)}"
        raise BadNode(problem)
    if zero is not None and is_small_float(target) and not _counts(node, zero):
        zero = None
    precision = _precision(node)
    scale = cast(_along_axis(node[1], node), precision)
    zero = None if zero is None else _along_axis(zero, node)
    saturate = node.attrs.flag("saturate", True)
    return quantized(cast(node[0], precision), scale, zero, target, saturate)


def _counts(node: Node, zero: SSAValue) -> bool:
    """Return whether adding a zero point of small floats could change more than the sign of 0."""
    array = node.evaluate(zero)
    return array is None or bool(array.astype(np.float32).any())


def _precision(node: Node) -> Attribute:
    """Return the type of the division; that of two integers is exact where rounding asks."""
    if node.attrs.int("precision", 0):
        return mlir_type(node.attrs.dtype("precision", 0))
    element = element_type(node[1])
    if element == E8M0:
        element = element_type(node[0])
    if element == I32:
        return F64
    return element


@converts("DequantizeLinear", refusal=_quantize_refusal)
def dequantize_linear(node: Node) -> Results:
    """(x - zero) * scale in float32, rounded once to the type of the scale or `output_dtype`."""
    if rank_of(node[0]) and (is_small(element_type(node[0])) or node.attrs.int("block_size", 0)):
        return _dequantized(node)
    zero = node.get(2)
    zero = None if zero is None else _along_axis(zero, node)
    whole = cast(widened(node[0], zero), F32)
    real = graph.MulOp(whole, cast(_along_axis(node[1], node), F32)).result
    if node.attrs.int("output_dtype", 0):
        return cast(real, mlir_type(node.attrs.dtype("output_dtype", 0)))
    return cast(real, element_type(node[1]))


def _dequantized(node: Node) -> SSAValue:
    """Return the numbers by the op that can stay beside a product: of few bits, or in blocks."""
    shape, block = shape_of(node[0]), node.attrs.int("block_size", 0)
    axis = axis_in(node.attrs.int("axis", 1), len(shape)) if block or rank_of(node[1]) else 0
    scale, zero = _spelled(node[1], shape, axis, block), node.get(2)
    zero = None if zero is None else _spelled(zero, shape, axis, block)
    element = element_type(node[1])
    if node.attrs.int("output_dtype", 0):
        element = mlir_type(node.attrs.dtype("output_dtype", 0))
    return graph.DequantizeOp(node[0], scale, zero, element, axis=axis, block=block or 1).result


def _spelled(parameter: SSAValue, shape: tuple[int, ...], axis: int, block: int) -> SSAValue:
    """Return a parameter with as many axes as the numbers that it is for."""
    if block:
        return parameter
    sizes = [1] * len(shape)
    if shape_of(parameter) not in ((), (1,)):
        sizes[axis] = shape_of(parameter)[0]
    return reshaped(parameter, sizes)


@converts("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node) -> Results:
    return dynamically_quantized(node[0])


def dynamically_quantized(x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Return bytes, scale and zero point: the range of x, stretched to hold 0, becomes 0..255."""
    axes, nought = range(rank_of(x)), scalar_like(0, x)
    high = graph.MaximumOp(graph.ReduceOp(x, "max", axes, False).result, nought).result
    low = graph.MinimumOp(graph.ReduceOp(x, "min", axes, False).result, nought).result
    span = graph.SubOp(high, low).result
    empty = graph.EqualOp(span, nought).result  # a scale of 0 would make no numbers
    scale = graph.DivOp(span, scalar_like(255, x)).result
    scale = graph.WhereOp(empty, scalar_like(1, x), scale).result
    start = graph.RoundOp(graph.DivOp(graph.NegOp(low).result, scale).result).result
    zero = _saturated(start, UI8)
    return quantized(x, scale, zero, UI8), scale, zero


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
    return requantized(total, (left_scale, node[4], node[6]), node[7])


def requantized(
    total: SSAValue, scales: tuple[SSAValue, SSAValue, SSAValue], zero: SSAValue
) -> SSAValue:
    """Return saturate(round_half_even(total * (left * right / out)) + zero).

    The factor is computed in the scales' type, its product with the sum in float32.
    """
    left, right, out = scales
    product = graph.MulOp(left, right).result
    factor = cast(graph.DivOp(product, out).result, F32)
    real = graph.MulOp(cast(total, F32), factor).result
    target = element_type(zero)
    if is_small_float(target):
        return cast(graph.AddOp(real, cast(zero, F32)).result, target)
    value = graph.AddOp(graph.RoundOp(real).result, cast(zero, F32)).result
    return _saturated(value, target)


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
    scales = reshaped(node[1], []), filters, reshaped(node[6], [])
    return requantized(total, scales, reshaped(node[7], []))
