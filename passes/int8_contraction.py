"""Convolutions and matmuls of numbers that are integers of 8 bits, with weights that are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.ir.remarks import remark
from nn_opt.ir.target import Target
from nn_opt.ir.types import element_type, is_static, numpy_dtype, shape_of
from nn_opt.passes.int8_products import multiply, suits_product
from nn_opt.passes.int8_values import HALF, flipped
from nn_opt.passes.pack_matmuls import PANEL_VECTORS, ROW_VECTORS
from nn_opt.passes.quantized import (
    Array,
    Quantized,
    Weights,
    known,
    known_number,
    known_sum,
    quantized,
    weights,
)

EXACT = 2**24  # integers up to here are numbers of f32
GROUP = 4  # products that one instruction sums on a lane
SUMMED = (f32, i32)
Contraction = graph.ConvOp | graph.MatmulOp


@dataclass
class MultiplyIntegers:
    """The patterns for one module; `count` is how often they fired."""

    target: Target
    pass_name: str
    count: int = 0
    patterns: list[RewritePattern] = field(init=False)

    def __post_init__(self) -> None:
        self.patterns = [IntegerConv(self), IntegerMatmul(self)]

    def done(self, op: Contraction) -> None:
        """Say that an op multiplies integers."""
        self.count += 1
        remark(op, self.pass_name, "multiplies integers of 8 bits, sums in i32")

    def keep(self, op: Contraction, reason: str) -> None:
        """Say why an op of quantised numbers does not."""
        remark(op, self.pass_name, f"multiplies {element_type(op.result)}: {reason}")


@dataclass
class Factors:
    """What a contraction multiplies: unsigned activations, and weights of 8 bits in parts.

    `zeros` are of the activations, of which `offset` is a part.
    """

    values: SSAValue
    zeros: tuple[SSAValue, ...]
    offset: int
    parts: list[Array]

    @property
    def zero(self) -> Array | None:
        """The zero point of the activations, if it is known."""
        zero = known_sum(self.zeros)
        return None if zero is None else zero + self.offset


def factors_of(left: Quantized, right: Weights, rewriter: PatternRewriter) -> Factors:
    """Return both factors in the form that the instruction takes."""
    values, offset = left.values, 0
    if element_type(values) == i8:
        values, offset = flipped(values, rewriter), HALF
    return Factors(values, left.zeros, offset, in_bytes(right.array))


def in_bytes(array: Array) -> list[Array]:
    """Return integers as a sum of signed bytes: one, or two where a zero point was far off."""
    parts: list[Array] = []
    while not parts or array.any():
        part = array.clip(-128, 127)
        parts.append(part.astype(np.int8))
        array = array - part
    return parts


class IntegerMatmul(RewritePattern):
    """matmul(dq(a), dq(w))  ->  dq(matmul(a, w in NK32n4k)),  if w is one known matrix"""

    def __init__(self, run: MultiplyIntegers):
        self.run = run

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MatmulOp, rewriter: PatternRewriter, /):
        if op.weight_layout is not None or op.wide is not None or element_type(op.a) not in SUMMED:
            return
        left = quantized(op.a)
        if left is None or not is_static(op.a):
            return
        right = weights(op.b)
        other = quantized(op.b) if right is None else None
        if other is not None:
            return self.multiply(op, left, other, rewriter)
        if right is None or right.array.ndim != 2 or right.scale.shape[:1] not in ((), (1,)):
            return self.run.keep(op, "its right side is no constant matrix scaled by columns")
        if len(shape_of(op.a)) < 2 or not all(map(is_of_rows, row_parameters(left))):
            return self.run.keep(op, "its left side is not scaled as a whole or by rows")
        factors = factors_of(left, right, rewriter)
        sums = [self.product(op, factors.values, part, rewriter) for part in factors.parts]
        total = added(sums, rewriter)
        share = right.array.sum(0, dtype=np.int32)
        total = without_zero(total, factors, share, None, rewriter)
        self.run.done(op)
        rewriter.replace(op, (), [scaled(total, left.scale, right.scale, op, rewriter)])

    def multiply(
        self, op: graph.MatmulOp, left: Quantized, right: Quantized, rewriter: PatternRewriter
    ) -> None:
        """matmul(dq(a), dq(b))  ->  dq(matmul(a, b in BNK32n4k) - ..),  if packing b pays"""
        panel = self.panel(op, shape_of(op.b)[-1])
        reason = suits_product(left, right, panel)
        if reason:
            return self.run.keep(op, reason)
        total = multiply(left, right, panel, rewriter)
        self.run.done(op)
        scale = np.asarray(known_number(right.scale) or 1.0, np.float32)
        rewriter.replace(op, (), [scaled(total, left.scale, scale, op, rewriter)])

    def product(
        self, op: graph.MatmulOp, a: SSAValue, w: Array, rewriter: PatternRewriter
    ) -> SSAValue:
        """Return a @ w, both filled up to whole groups and panels."""
        rows, columns = w.shape
        panel = self.panel(op, columns)
        fill = -rows % GROUP, -columns % panel
        if fill[0]:
            pads = [0] * (2 * len(shape_of(a)))
            pads[-1] = fill[0]
            a = rewriter.insert(graph.PadOp(a, pads, "constant", None)).result
        plain = rewriter.insert(graph.ConstantOp(np.pad(w, ((0, fill[0]), (0, fill[1])))))
        layout = f"NK{panel}n{GROUP}k"
        packed = rewriter.insert(graph.LayoutTransformOp(plain.result, "KN", layout)).results[0]
        total = rewriter.insert(graph.MatmulOp(a, packed, weight_layout=layout, wide=True)).result
        if not fill[1]:
            return total
        shape = shape_of(op.result)
        cut = graph.SliceOp(total, [0] * len(shape), list(shape), [1] * len(shape))
        return rewriter.insert(cut).result

    def panel(self, op: graph.MatmulOp, columns: int) -> int:
        """Return the width of the weights' panels: that of the register tile."""
        lanes = self.run.target.lanes
        one_row = prod(shape_of(op.a)[:-1]) == 1
        widths = [n * lanes for n in (ROW_VECTORS if one_row else PANEL_VECTORS)]
        return next((width for width in widths if columns % width == 0), lanes)


def row_parameters(left: Quantized) -> list[SSAValue]:
    return [*left.zeros, *([] if left.scale is None else [left.scale])]


def is_of_rows(value: SSAValue) -> bool:
    """Return whether a parameter is the same for all that a row of a matmul sums."""
    return shape_of(value)[-1:] in ((), (1,))


class IntegerConv(RewritePattern):
    """conv(dq(x), dq(w), b)  ->  dq(conv(x, w) + b / scale),  if w is known"""

    def __init__(self, run: MultiplyIntegers):
        self.run = run

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvOp, rewriter: PatternRewriter, /):
        if op.layout is not None or op.wide is not None or element_type(op.x) not in SUMMED:
            return
        left = quantized(op.x)
        if left is None or not is_static(op.x):
            return
        right = weights(op.w)
        if right is None or prod(right.scale.shape[1:]) != 1:
            return self.run.keep(op, "its weights are no constants scaled by filters")
        if not all(prod(shape_of(value)) == 1 for value in row_parameters(left)):
            return self.run.keep(op, "its image is not scaled as a whole")
        if left.zero is None and any(op.pads.get_values()):
            return self.run.keep(op, "the zero point of its padding is not known")
        factors = factors_of(left, right, rewriter)
        parts = [right.array.astype(np.float32)] if is_short(op, left) else factors.parts
        total = added([self.product(op, factors, part, rewriter) for part in parts], rewriter)
        places = (-1, *(1 for _ in shape_of(op.x)[2:]))
        share = right.array.sum(tuple(range(1, right.array.ndim)), dtype=np.int32).reshape(places)
        bias = integer_bias(op, left, right)
        total = without_zero(
            total, factors, share, None if bias is None else bias.reshape(places), rewriter
        )
        self.run.done(op)
        scale = right.scale.reshape(places) if right.scale.size > 1 else right.scale.reshape(())
        result = scaled(total, left.scale, scale, op, rewriter)
        if op.b is not None and bias is None:
            real = rewriter.insert(graph.ReshapeOp(op.b, [shape_of(op.b)[0], *places[1:]])).result
            result = rewriter.insert(graph.AddOp(result, real)).result
        rewriter.replace(op, (), [result])

    def product(
        self, op: graph.ConvOp, factors: Factors, w: Array, rewriter: PatternRewriter
    ) -> SSAValue:
        """Return conv(x, w), summed exactly, with the zero point where the image is padded."""
        zero = factors.zero
        conv = graph.ConvOp(
            factors.values,
            rewriter.insert(graph.ConstantOp(w)).result,
            strides=op.strides.get_values(),
            pads=op.pads.get_values(),
            dilations=op.dilations.get_values(),
            group=op.group.value.data,
            wide=True,
            fill=0 if zero is None else int(zero.reshape(-1)[0]),
        )
        return rewriter.insert(conv).result


def is_short(op: graph.ConvOp, left: Quantized) -> bool:
    """Return whether each channel has a sum of its own, so short that f32 holds it exactly.

    No instruction sums products of four channels there; one of f32 multiplies and adds.
    """
    depthwise = op.group.value.data > 1 and shape_of(op.w)[1] == 1
    return depthwise and left.zero is not None and prod(shape_of(op.w)[1:]) * 2**16 < EXACT


def integer_bias(op: graph.ConvOp, left: Quantized, right: Weights) -> Array | None:
    """Return a known bias in units of the sum; None if there is none, or it is no integer then."""
    if op.b is None:
        return None
    if element_type(op.b) == i32:
        return known(op.b)
    scale = None if left.scale is None else known(left.scale)
    array = known(op.b)
    if scale is None or array is None:
        return None
    units = array / (scale.astype(np.float64).reshape(()) * right.scale.reshape(-1))
    whole = np.rint(units)
    fits = np.abs(whole).max() < 2**30 and np.allclose(units, whole, rtol=1e-6, atol=1e-6)
    return whole.astype(np.int32) if fits else None


def added(sums: Sequence[SSAValue], rewriter: PatternRewriter) -> SSAValue:
    """Return the sum of some values."""
    total, *rest = sums
    for other in rest:
        total = rewriter.insert(graph.AddOp(total, other)).result
    return total


def without_zero(
    total: SSAValue,
    factors: Factors,
    share: Array,
    bias: Array | None,
    rewriter: PatternRewriter,
) -> SSAValue:
    """Return a sum less the zero point times the sum of weights, plus a bias."""
    zero = factors.zero
    if zero is not None and zero.size == 1:
        rest = (0 if bias is None else bias) - zero.reshape(()) * share
        return plus(total, rest.astype(np.int32), rewriter)
    offset = (0 if bias is None else bias) - factors.offset * share
    total = plus(total, offset.astype(np.int32), rewriter)
    shares = rewriter.insert(graph.ConstantOp(share)).result
    for value in factors.zeros:
        part = rewriter.insert(graph.MulOp(value, shares)).result
        total = rewriter.insert(graph.SubOp(total, part)).result
    return total


def plus(total: SSAValue, array: Array, rewriter: PatternRewriter) -> SSAValue:
    """Return total + array, without a sum if that is 0."""
    if not array.any():
        return total
    number = graph.ConstantOp(array.astype(numpy_dtype(element_type(total))))
    return rewriter.insert(graph.AddOp(total, rewriter.insert(number).result)).result


def scaled(
    total: SSAValue,
    left_scale: SSAValue | None,
    scale: Array,
    op: Contraction,
    rewriter: PatternRewriter,
) -> SSAValue:
    """Return a sum of integers as the element type of an op that it replaces."""
    element: Attribute = element_type(op.result)
    real = total
    if element_type(total) != element:
        real = rewriter.insert(graph.CastOp(total, element)).result
    if element == i32:
        return real
    left = np.ones((), np.float32) if left_scale is None else known(left_scale)
    if left is not None and left.size == 1:
        scale = (left.reshape(()) * scale).astype(np.float32)
        factor = rewriter.insert(graph.ConstantOp(scale)).result
        return rewriter.insert(graph.MulOp(real, factor)).result
    assert left_scale is not None, "is not known"
    weight_scale = rewriter.insert(graph.ConstantOp(scale.astype(np.float32))).result
    both = rewriter.insert(graph.MulOp(left_scale, weight_scale)).result
    return rewriter.insert(graph.MulOp(real, both)).result
