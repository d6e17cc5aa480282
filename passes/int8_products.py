"""Products of two activations of 8 bits, as in attention: the right one is packed at run time."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from nn_opt.dialects import graph
from nn_opt.ir.types import element_type, shape_of
from nn_opt.passes.int8_values import HALF, UI8, flipped, is_plain, zero_of
from nn_opt.passes.lower_precision import BATCH, ROWS, untransposed
from nn_opt.passes.quantized import Quantized

GROUP = 4  # products that one instruction sums on a lane


def suits_product(left: Quantized, right: Quantized, panel: int) -> str:
    """Return why two matrices cannot be multiplied as bytes, or should not; "" if they should."""
    *_, inner, columns = shape_of(right.values)
    rows = shape_of(left.values)[-2]
    if not is_plain(left) or not is_plain(right):
        return "its factors are not scaled as a whole"
    if len(shape_of(right.values)) < 3 or rows < ROWS:
        return f"packing its right side for {rows} rows does not pay"
    if inner % GROUP or columns % panel:
        return f"{inner} x {columns} numbers give no whole panels of fours"
    return ""


def multiply(left: Quantized, right: Quantized, panel: int, rewriter: PatternRewriter) -> SSAValue:
    """Return the product of two matrices of bytes less their zero points, in i32."""
    a, zero = unsigned(left, rewriter)
    rank = len(shape_of(right.values))
    source, axes = untransposed(right.values, BATCH[: rank - 2] + "KN")
    b = flipped(source, rewriter) if element_type(source) == UI8 else source
    other = zero_of(right) - (HALF if b is not source else 0)
    layout = f"{BATCH[: rank - 2]}NK{panel}n{GROUP}k"
    packed = rewriter.insert(graph.LayoutTransformOp(b, axes, layout)).results[0]
    total = rewriter.insert(graph.MatmulOp(a, packed, weight_layout=layout, wide=True)).result
    if zero:
        sums = summed(b, axes.index("K"), rewriter)
        order = [axes.index(letter) for letter in BATCH[: rank - 2] + "KN"]
        if order != sorted(order):
            sums = rewriter.insert(graph.TransposeOp(sums, order)).result
        total = plus(total, sums, -zero, zero * other * shape_of(a)[-1], rewriter)
    if other:
        sums = summed(a, len(shape_of(a)) - 1, rewriter)
        total = plus(total, sums, -other, 0, rewriter)
    return total


def unsigned(part: Quantized, rewriter: PatternRewriter) -> tuple[SSAValue, int]:
    """Return bytes without a sign, and their zero point."""
    if element_type(part.values) == i8:
        return flipped(part.values, rewriter), zero_of(part) + HALF
    return part.values, zero_of(part)


def summed(values: SSAValue, axis: int, rewriter: PatternRewriter) -> SSAValue:
    """Return the sums of bytes along an axis, which stays, in i32."""
    whole = rewriter.insert(graph.CastOp(values, i32)).result
    return rewriter.insert(graph.ReduceOp(whole, "sum", [axis], keepdims=True)).result


def plus(
    total: SSAValue, sums: SSAValue, factor: int, constant: int, rewriter: PatternRewriter
) -> SSAValue:
    """Return total + (sums * factor + constant)."""
    for number, op_type in ((factor, graph.MulOp), (constant, graph.AddOp)):
        if number != (1 if op_type is graph.MulOp else 0):
            value = rewriter.insert(graph.ConstantOp(np.asarray(number, np.int32))).result
            sums = rewriter.insert(op_type(sums, value)).result
    return rewriter.insert(graph.AddOp(total, sums)).result
