"""Converters of com.microsoft's operators on quantised tensors: real numbers, rounded once.

Some of onnxruntime's add the result's zero point before they round, others after. At ties that
differs, if the zero point is odd, so each is as there: results have the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.dialects.graph.shapes import pool_shape
from nn_opt.frontends.onnx.contrib import at_version, contrib
from nn_opt.frontends.onnx.contrib_attention import merged_attention
from nn_opt.frontends.onnx.contrib_linear import channels_first, channels_last
from nn_opt.frontends.onnx.nn import Window, window_of
from nn_opt.frontends.onnx.node import (
    F32,
    BadNode,
    Node,
    Results,
    axes_in,
    axis_in,
    cast,
    rank_of,
    reshaped,
    scalar_like,
    transposed,
)
from nn_opt.frontends.onnx.quantize import (
    dequantize_linear,
    dynamically_quantized,
    qlinear_conv,
    quantize_linear,
    quantized,
    requantized,
    rounded_once,
    widened,
)
from nn_opt.ir.types import UNSIGNED, element_type, mlir_type, shape_of

I32 = mlir_type(np.int32)


def _real(node: Node, start: int) -> SSAValue:
    """Return what operands start (integers), start + 1 (scale) and start + 2 (zero) stand for."""
    zero = node.get(start + 2)
    whole = widened(node[start], None if zero is None else _broadcast(zero))
    return graph.MulOp(cast(whole, F32), cast(_broadcast(node[start + 1]), F32)).result


def _broadcast(parameter: SSAValue) -> SSAValue:
    """Return a parameter of all elements as a scalar; one for each column stays a vector."""
    return reshaped(parameter, []) if shape_of(parameter) in ((), (1,)) else parameter


def _rounded(node: Node, value: SSAValue, start: int, like: SSAValue) -> SSAValue:
    """Return integers for a real value, by operands start (scale) and start + 1 (zero)."""
    zero = node.get(start + 1)
    zero = None if zero is None else reshaped(zero, [])
    return quantized(value, reshaped(node[start], []), zero, element_type(like))


@contrib("QuantizeLinear", needs=2, most=3, attrs="axis")
def quantize(node: Node) -> Results:
    return quantize_linear(at_version(node, 21))


@contrib("DequantizeLinear", needs=2, most=3, attrs="axis")
def dequantize(node: Node) -> Results:
    return dequantize_linear(at_version(node, 21))


@contrib(
    "QLinearConv",
    needs=8,
    most=9,
    attrs="kernel_shape strides pads dilations auto_pad group channels_last",
)
def conv(node: Node) -> Results:
    """As in the main operator set; images may have their channels last."""
    if not node.attrs.flag("channels_last"):
        return qlinear_conv(node)
    operands = [channels_first(node[0]), *node.operands[1:]]
    y = qlinear_conv(replace(node, operands=operands))
    assert isinstance(y, SSAValue), "a convolution has one result"
    return channels_last(y)


@contrib("QLinearAdd", needs=(0, 1, 3, 4, 6), most=8)
def qlinear_add(node: Node) -> Results:
    """Operands: a, scale, zero, b, scale, zero, result's scale, zero.

    a * ratio + (b * ratio + shift), with all zero points in the shift. onnxruntime may round a
    product and a sum at once, as its processor can: near ties, one result in a thousand differs.
    """
    ratios = [_ratio(_scalar(node, index), _scalar(node, 6)) for index in (1, 4)]
    zeros = [cast(_scalar(node, index, node[0]), F32) for index in (2, 5, 7)]
    shares = [graph.MulOp(*pair).result for pair in zip(ratios, zeros, strict=False)]
    total = graph.SubOp(zeros[2], graph.AddOp(*shares).result).result
    for operand, ratio in ((node[3], ratios[1]), (node[0], ratios[0])):
        product = graph.MulOp(cast(widened(operand, None), F32), ratio).result
        total = graph.AddOp(product, total).result
    return rounded_once(total, None, element_type(node[0]))


@contrib("QLinearMul", needs=(0, 1, 3, 4, 6), most=8)
def qlinear_mul(node: Node) -> Results:
    """Operands: a, scale, zero, b, scale, zero, result's scale, zero."""
    factors = [widened(node[k], _scalar(node, k + 2, node[k])) for k in (0, 3)]
    both = graph.MulOp(_scalar(node, 1), _scalar(node, 4)).result
    product = cast(graph.MulOp(*factors).result, F32)
    value = graph.MulOp(product, _ratio(both, _scalar(node, 6))).result
    return rounded_once(value, _scalar(node, 7, node[0]), element_type(node[0]))


def _scalar(node: Node, index: int, like: SSAValue | None = None) -> SSAValue:
    """Return an operand of one element as a scalar; where it may be missing, 0 of a type."""
    value = node.get(index)
    if value is not None:
        return reshaped(value, [])
    assert like is not None, "scales are there"
    return scalar_like(0, like)


def _ratio(a: SSAValue, b: SSAValue) -> SSAValue:
    return graph.DivOp(a, b).result


@contrib("QLinearSigmoid", needs=(0, 1, 3), most=5)
def qlinear_sigmoid(node: Node) -> Results:
    return _rounded(node, graph.SigmoidOp(_real(node, 0)).result, 3, node[0])


@contrib("QLinearLeakyRelu", needs=(0, 1, 3), most=5, attrs="alpha")
def qlinear_leaky_relu(node: Node) -> Results:
    y = graph.LeakyReluOp(_real(node, 0), alpha=node.attrs.float("alpha", 0.01)).result
    return _rounded(node, y, 3, node[0])


@contrib("QLinearSoftmax", needs=(0, 1, 3, 4), most=5, attrs="opset! axis")
def qlinear_softmax(node: Node) -> Results:
    """Along one axis, or, as before opset 13, along all from an axis on; times a whole number."""
    x, modern = _real(node, 0), node.attrs.int("opset") >= 13
    axis = axis_in(node.attrs.int("axis", -1 if modern else 1), rank_of(x))
    if modern:
        y = graph.SoftmaxOp(x, axis).result
    else:
        rows = math.prod(shape_of(x)[:axis])
        flat = reshaped(x, [rows, math.prod(shape_of(x)[axis:])])
        y = reshaped(graph.SoftmaxOp(flat, 1).result, shape_of(x))
    scale = _scalar(node, 3)
    steps = graph.FloorOp(graph.DivOp(scalar_like(1, scale), scale).result).result
    value = graph.RoundOp(graph.MulOp(y, steps).result).result
    return rounded_once(value, _scalar(node, 4, node[0]), element_type(node[0]))


@contrib(
    "QLinearAveragePool",
    needs=(0, 1, 3),
    most=5,
    attrs="kernel_shape! strides pads auto_pad ceil_mode count_include_pad channels_last",
)
def qlinear_average_pool(node: Node) -> Results:
    last, x = node.attrs.flag("channels_last"), _real(node, 0)
    x = channels_first(x) if last else x
    window = window_of(node.attrs, shape_of(x)[2:], node.attrs.ints("kernel_shape") or [])
    y = graph.PoolOp(
        x,
        "average",
        kernel=window.kernel,
        strides=window.strides,
        pads=_whole_pads(window, shape_of(x)) if node.attrs.flag("ceil_mode") else window.pads,
        dilations=window.dilations,
        count_include_pad=node.attrs.flag("count_include_pad"),
    ).result
    y = _ratio(channels_last(y) if last else y, _scalar(node, 3))
    return rounded_once(y, _scalar(node, 4, node[0]), element_type(node[0]))


def _whole_pads(window: Window, shape: Sequence[int]) -> list[int]:
    """Return pads with which windows that begin inside are whole: all of one counts as padding."""
    rank = len(window.kernel)
    sizes = pool_shape(shape, window.kernel, window.strides, window.pads, window.dilations, True)
    whole = list(window.pads)
    for axis, (count, size) in enumerate(zip(sizes[2:], shape[2:], strict=True)):
        end = (count - 1) * window.strides[axis] - window.pads[axis] + window.kernel[axis]
        whole[rank + axis] = max(end - size, window.pads[rank + axis])
    return whole


@contrib("QLinearGlobalAveragePool", needs=5, attrs="channels_last")
def qlinear_global_average_pool(node: Node) -> Results:
    """The sum of the integers is exact."""
    x, rank = node[0], rank_of(node[0])
    axes = list(range(1, rank - 1) if node.attrs.flag("channels_last") else range(2, rank))
    total = graph.ReduceOp(widened(x, reshaped(node[2], [])), "sum", axes, True).result
    count = math.prod(shape_of(x)[axis] for axis in axes)
    wide = graph.MulOp(_scalar(node, 3), scalar_like(count, node[3])).result
    return requantized(total, (_scalar(node, 1), scalar_like(1, wide), wide), _scalar(node, 4))


@contrib("QLinearReduceMean", needs=(0, 1, 3), most=5, attrs="axes! keepdims!")
def qlinear_reduce_mean(node: Node) -> Results:
    axes = axes_in(node.attrs.ints("axes") or [], rank_of(node[0]))
    mean = graph.ReduceOp(_real(node, 0), "mean", axes, node.attrs.flag("keepdims")).result
    return _rounded(node, mean, 3, node[0])


@contrib("QLinearConcat", needs=5, most=1 << 16, attrs="axis!")
def qlinear_concat(node: Node) -> Results:
    """Operands: scale and zero of the result, then integers, scale and zero of each part."""
    if len(node.operands) % 3 != 2:
        raise BadNode(f"{len(node.operands)} operands, expected 2 and 3 for each part")
    starts = range(2, len(node.operands), 3)
    parts = [_rounded(node, _real(node, start), 0, node[1]) for start in starts]
    axis = axis_in(node.attrs.int("axis"), rank_of(parts[0]))
    return parts[0] if len(parts) == 1 else graph.ConcatOp(parts, axis).result


@contrib("QLinearWhere", needs=9)
def qlinear_where(node: Node) -> Results:
    """Operands: condition, a, scale, zero, b, scale, zero, result's scale, zero."""
    parts = [_rounded(node, _real(node, start), 7, node[start]) for start in (1, 4)]
    return graph.WhereOp(node[0], *parts).result


@contrib("QGemm", needs=6, most=9, attrs="alpha transA transB")
def qgemm(node: Node) -> Results:
    """Operands: a, scale, zero, b, scale, zero, int32 c, result's scale, zero.

    alpha * a @ b + c in integers, but for alpha; real numbers without a scale of the result.
    """
    a = widened(node[0], _broadcast(node[2]))
    b = widened(node[3], None)
    a = transposed(a, [1, 0]) if node.attrs.flag("transA") else a
    b = transposed(b, [1, 0]) if node.attrs.flag("transB") else b
    b = graph.SubOp(b, cast(_broadcast(node[5]), I32)).result
    total = graph.MatmulOp(a, b).result
    if node.get(6) is not None:
        total = graph.AddOp(total, node[6]).result
    scale = graph.MulOp(_broadcast(node[1]), _broadcast(node[4])).result
    scale = graph.MulOp(scale, scalar_like(node.attrs.float("alpha", 1.0), scale)).result
    if node.get(7) is None:
        return graph.MulOp(cast(total, F32), scale).result
    zero = _broadcast(node[8])
    return requantized(total, (scale, scalar_like(1, scale), _broadcast(node[7])), zero)


@contrib("DynamicQuantizeMatMul", needs=3, most=5)
def dynamic_quantize_matmul(node: Node) -> Results:
    """Operands: real a, integers b, scale, zero, real bias; the range of a becomes 0..255."""
    a, scale, zero = dynamically_quantized(node[0])
    product = _integer_product(widened(a, zero), node[1], node.get(3))
    return _scaled(product, scale, node[2], node.get(4))


@contrib("MatMulIntegerToFloat", needs=4, most=7)
def matmul_integer_to_float(node: Node) -> Results:
    """Operands: a, b, scale of a, of b, zero of a, of b, real bias."""
    zero = None if node.get(4) is None else _broadcast(node[4])
    product = _integer_product(widened(node[0], zero), node[1], node.get(5))
    return _scaled(product, _broadcast(node[2]), node[3], node.get(6))


def _integer_product(a: SSAValue, b: SSAValue, zero: SSAValue | None) -> SSAValue:
    right = widened(b, None if zero is None else _broadcast(zero))
    return graph.MatmulOp(a, right).result


def _scaled(product: SSAValue, left: SSAValue, right: SSAValue, bias: SSAValue | None) -> SSAValue:
    scale = graph.MulOp(left, _broadcast(right)).result
    real = graph.MulOp(cast(product, element_type(scale)), scale).result
    return real if bias is None else graph.AddOp(real, bias).result


@contrib("MatMulInteger16", needs=2)
def matmul_integer16(node: Node) -> Results:
    unsigned = all(element_type(node[index]) in UNSIGNED.values() for index in (0, 1))
    wide = UNSIGNED[32] if unsigned else I32
    return graph.MatmulOp(cast(node[0], wide), cast(node[1], wide)).result


@contrib(
    "QAttention",
    needs=5,
    most=9,
    attrs="num_heads! unidirectional scale mask_filter_value",
    only={"do_rotary": 0, "past_present_share_buffer": 0},
)
def quantized_attention(node: Node) -> Results:
    """Operands: integers x, weights, bias, scales of both, mask, zeros of both, past."""
    zero = None if node.get(6) is None else _broadcast(node[6])
    product = _integer_product(widened(node[0], zero), node[1], node.get(7))
    real = _scaled(product, _broadcast(node[3]), node[4], None)
    return merged_attention(node, real, node[2], (node.get(5), node.get(8), None))
