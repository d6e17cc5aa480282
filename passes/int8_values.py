"""Quantised values stay integers from one operation to the next, without a sign."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.ir.types import UNSIGNED, element_type, numpy_dtype, shape_of, tensor_type
from nn_opt.passes.quantized import Quantized, known, known_number, quantized, quantizer

UI8 = UNSIGNED[8]
HALF = 128  # between a signed byte and the unsigned one that stands for it
MOVES = (graph.ReshapeOp, graph.TransposeOp, graph.SliceOp, graph.ConcatOp, graph.PoolOp)


def keeps_order(op: Operation) -> bool:
    """Return whether an op only moves numbers, or takes the largest of some."""
    if isinstance(op, graph.PoolOp):
        return op.kind.data == "max"
    return isinstance(op, MOVES)


def of_values(op: Operation, values: list[SSAValue]) -> Operation:
    """Return a copy of an op that moves other numbers."""
    result = tensor_type(shape_of(op.results[0]), element_type(values[0]))
    return type(op).create(operands=values, result_types=[result], properties=dict(op.properties))


class Sink(RewritePattern):
    """f(dq(x), ..)  ->  dq(f(x, ..)),  if f moves numbers, or takes the largest of some"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        if not keeps_order(op) or element_type(op.results[0]) != f32:
            return
        found = [quantized(operand) for operand in op.operands]
        parts = [part for part in found if part is not None and is_plain(part)]
        if len(parts) != len(found) or not all(alike(part, parts[0]) for part in parts):
            return
        values = [part.values for part in parts]
        if all(known(value) is not None for value in values):
            return
        moved = rewriter.insert(of_values(op, values)).results[0]
        rewriter.replace(op, (), [dequantize(moved, parts[0], rewriter)])


class SinkPad(RewritePattern):
    """pad(dq(x)) by 0  ->  dq(pad(x) by the zero point)"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PadOp, rewriter: PatternRewriter, /):
        part = quantized(op.x) if element_type(op.x) == f32 else None
        if part is None or not is_plain(part) or op.mode.data != "constant":
            return
        if op.value is not None and known_number(op.value) != 0:
            return
        number = np.asarray(zero_of(part), numpy_dtype(element_type(part.values)))
        zero = rewriter.insert(graph.ConstantOp(number)).result
        padded = graph.PadOp(part.values, op.pads.get_values(), "constant", zero)
        moved = rewriter.insert(padded).result
        rewriter.replace(op, (), [dequantize(moved, part, rewriter)])


def is_plain(part: Quantized) -> bool:
    """Return whether all numbers share one known scale and zero point."""
    zero = part.zero
    return zero is not None and zero.size == 1 and known_number(part.scale) is not None


def alike(part: Quantized, other: Quantized) -> bool:
    """Return whether the integers of both mean the same numbers."""
    if element_type(part.values) != element_type(other.values):
        return False
    same = known_number(part.scale) == known_number(other.scale)
    return same and zero_of(part) == zero_of(other)


def zero_of(part: Quantized) -> int:
    """Return the known zero point."""
    zero = part.zero
    assert zero is not None, "is known"
    return int(zero.reshape(-1)[0])


def dequantize(values: SSAValue, like: Quantized, rewriter: PatternRewriter) -> SSAValue:
    """Return (values - zero) * scale with another one's numbers."""
    whole = rewriter.insert(graph.CastOp(values, i32)).result
    if zero := zero_of(like):
        number = rewriter.insert(graph.ConstantOp(np.asarray(zero, np.int32))).result
        whole = rewriter.insert(graph.SubOp(whole, number)).result
    real = rewriter.insert(graph.CastOp(whole, f32)).result
    scale = np.asarray(known_number(like.scale), np.float32)
    factor = rewriter.insert(graph.ConstantOp(scale)).result
    return rewriter.insert(graph.MulOp(real, factor)).result


class DropQuantize(RewritePattern):
    """quantize(dq(x))  ->  x,  if both have the same scale, zero point and type"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /):
        whole = quantizer(op)
        part = None if whole is None else quantized(whole.x)
        if whole is None or part is None or not is_plain(part):
            return
        same = (known_number(part.scale), zero_of(part)) == (whole.scale, whole.zero)
        if same and part.values.type == op.result.type:
            rewriter.replace(op, (), [part.values])


class ToUnsigned(RewritePattern):
    """quantize to i8  ->  shift(quantize to ui8),  whose zero point is 128 more"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /):
        whole = quantizer(op) if element_type(op.result) == i8 else None
        if whole is None:
            return
        numbers = [np.asarray(n, np.float32) for n in (whole.zero + HALF, 0, 255)]
        zero, low, high = (rewriter.insert(graph.ConstantOp(n)).result for n in numbers)
        total = rewriter.insert(graph.AddOp(whole.rounded.result, zero)).result
        clipped = rewriter.insert(graph.ClipOp(total, low, high)).result
        values = rewriter.insert(graph.CastOp(clipped, UI8)).result
        rewriter.replace(op, (), [flipped(values, rewriter)])


def flipped(values: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """Return bytes that are 128 less, with a sign, or 128 more, without one."""
    if element_type(values) == UI8:
        return rewriter.insert(graph.CastOp(_top_flipped(values, rewriter), i8)).result
    return _top_flipped(rewriter.insert(graph.CastOp(values, UI8)).result, rewriter)


def _top_flipped(values: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    half = rewriter.insert(graph.ConstantOp(np.asarray(HALF, np.uint8))).result
    return rewriter.insert(graph.BitwiseXorOp(values, half)).result


def unflipped(value: SSAValue) -> SSAValue | None:
    """Return the unsigned bytes that signed ones are made from by `flipped`."""
    if not isinstance(value.owner, graph.CastOp) or element_type(value) != i8:
        return None
    inner = value.owner.x.owner
    if isinstance(inner, graph.BitwiseXorOp) and known_number(inner.rhs) == HALF:
        return inner.lhs
    return None


class SinkShift(RewritePattern):
    """f(shift(x), ..)  ->  shift(f(x, ..)),  if f moves numbers, or takes the largest of some"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        if not keeps_order(op):
            return
        found = [unflipped(operand) for operand in op.operands]
        values = [value for value in found if value is not None]
        if len(values) == len(found):
            moved = rewriter.insert(of_values(op, values)).results[0]
            rewriter.replace(op, (), [flipped(moved, rewriter)])


class CastUnsigned(RewritePattern):
    """cast(shift(x)) to i32  ->  cast(x) - 128"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /):
        values = unflipped(op.x) if element_type(op.result) == i32 else None
        if values is None:
            return
        whole = rewriter.insert(graph.CastOp(values, i32)).result
        half = rewriter.insert(graph.ConstantOp(np.asarray(HALF, np.int32))).result
        rewriter.replace(op, graph.SubOp(whole, half))


class SubOnce(RewritePattern):
    """x - a - b  ->  x - (a + b)  of known integers"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SubOp, rewriter: PatternRewriter, /):
        inner = op.lhs.owner
        if not isinstance(inner, graph.SubOp) or element_type(op.result) != i32:
            return
        numbers = known(inner.rhs), known(op.rhs)
        if numbers[0] is None or numbers[1] is None or inner.lhs.type != op.result.type:
            return
        both = rewriter.insert(graph.ConstantOp(np.asarray(numbers[0] + numbers[1], np.int32)))
        rewriter.replace(op, graph.SubOp(inner.lhs, both.result))
