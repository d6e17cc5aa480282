"""Between a sum of integers and the next integers: one multiplication, rounding, saturation."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from nn_opt.dialects import graph
from nn_opt.dialects.graph.contraction import is_byte
from nn_opt.ir.types import element_type, numpy_dtype
from nn_opt.passes.quantized import Array, known, known_number, limits_of, quantizer


class DivideScales(RewritePattern):
    """quantize((x * s) / t)  ->  quantize(x * (s / t)),  if x is an integer and s, t are known,

    also with a relu between. It is the factor that the quantised operators of ONNX have.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /):
        whole = quantizer(op)
        if whole is None or not whole.scale or not is_scaled(whole.x):
            return
        relu = whole.x.owner
        product = relu.x.owner if isinstance(relu, graph.ReluOp) else relu
        if not isinstance(product, graph.MulOp):
            return
        division, scale = whole.rounded.x.owner, known(product.rhs)
        assert isinstance(division, graph.DivOp), "a quantiser of a scale divides"
        assert scale is not None, "a scale is known"
        factor = constant(scale / np.float32(whole.scale), rewriter, division)
        scaled = graph.MulOp(product.lhs, factor)
        if isinstance(relu, graph.ReluOp):
            scaled = graph.ReluOp(rewriter.insert(scaled, InsertPoint.before(division)).result)
        rewriter.replace(division, scaled)


class MultiplyScales(RewritePattern):
    """quantize(x / s)  ->  quantize(x * (1 / s)),  if x is computed, not given"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /):
        whole = quantizer(op)
        if whole is None or not whole.scale or isinstance(whole.x.owner, Block):
            return
        division = whole.rounded.x.owner
        assert isinstance(division, graph.DivOp), "a quantiser of a scale divides"
        factor = constant(np.float32(1) / np.float32(whole.scale), rewriter, division)
        rewriter.replace(division, graph.MulOp(whole.x, factor))


def constant(
    array: Array | np.float32, rewriter: PatternRewriter, reader: graph.GraphOp
) -> SSAValue:
    """Return a new constant that stands before its reader."""
    op = graph.ConstantOp(np.asarray(array, np.float32))
    return rewriter.insert(op, InsertPoint.before(reader)).result


class ScaleOnce(RewritePattern):
    """(x * s) * t  ->  x * (s * t),  if x is an integer and s, t are known,

    also with a sum between, and a relu, or a clip by known numbers, which get the bounds times t.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MulOp, rewriter: PatternRewriter, /):
        factor, inner = known_number(op.rhs), op.lhs.owner
        if factor is None or factor <= 0 or not is_scaled(op.lhs):
            return
        if isinstance(inner, graph.MulOp):
            scale = known(inner.rhs)
            assert scale is not None, "a scale is known"
            both = constant(scale * np.float32(factor), rewriter, op)
            rewriter.replace(op, graph.MulOp(inner.lhs, both))
            return
        assert isinstance(inner, graph.AddOp | graph.ReluOp | graph.ClipOp), "is scaled"
        parts = [times(value, op, np.float32(factor), rewriter) for value in inner.operands]
        rewriter.replace(op, type(inner)(*parts))


def times(
    value: SSAValue, op: graph.MulOp, factor: np.float32, rewriter: PatternRewriter
) -> SSAValue:
    """Return a value times the factor that an op multiplies by."""
    array = known(value)
    if array is not None:
        return constant(array * factor, rewriter, op)
    return rewriter.insert(graph.MulOp(value, op.rhs)).result


def is_integer(value: SSAValue) -> bool:
    """Return whether a float is an integer by its origin: a cast, or a sum of products of bytes."""
    owner = value.owner
    if isinstance(owner, graph.AddOp):
        return is_integer(owner.lhs)
    if isinstance(owner, graph.ConvOp):
        return is_byte(element_type(owner.x))
    return isinstance(owner, graph.CastOp) and element_type(owner.x) == i32


def is_scaled(value: SSAValue) -> bool:
    """Return whether a value is made of integers times known scales, for one reader each."""
    owner = value.owner
    if not value.has_one_use():
        return False
    match owner:
        case graph.MulOp(lhs=lhs, rhs=rhs):
            return is_integer(lhs) and lhs.type == value.type and known(rhs) is not None
        case graph.AddOp(lhs=lhs, rhs=rhs):
            same = lhs.type == value.type and is_scaled(lhs)
            return same and (known(rhs) is not None or is_scaled(rhs))
        case graph.ReluOp(x=x):
            return is_scaled(x)
        case graph.ClipOp(x=x, low=low, high=high):
            return is_scaled(x) and None not in (known_number(low), known_number(high))
        case _:
            return False


class DropRelu(RewritePattern):
    """quantize(relu(x))  ->  quantize(x),  if 0 is the least that the result can be"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /):
        whole = quantizer(op)
        if whole is None or whole.zero != limits_of(numpy_dtype(element_type(op.result)))[0]:
            return
        relu = whole.x.owner
        if isinstance(relu, graph.ReluOp) and whole.scale is None and whole.x.has_one_use():
            rewriter.replace(relu, (), [relu.x])


class ClipFirst(RewritePattern):
    """cast(clip(round(x) + zero))  ->  cast(cast(round(clip(x)) to i32) + zero)

    The bounds are integers, so it is the same; machines round and convert in one instruction.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /):
        whole = quantizer(op)
        if whole is None:
            return
        limits = limits_of(numpy_dtype(element_type(op.result)))
        bounds = [constant(np.float32(n - whole.zero), rewriter, op) for n in limits]
        clipped = rewriter.insert(graph.ClipOp(whole.rounded.x, *bounds)).result
        rounded = rewriter.insert(graph.RoundOp(clipped)).result
        total = rewriter.insert(graph.CastOp(rounded, i32)).result
        if whole.zero:
            zero = rewriter.insert(graph.ConstantOp(np.asarray(whole.zero, np.int32))).result
            total = rewriter.insert(graph.AddOp(total, zero)).result
        rewriter.replace(op, graph.CastOp(total, element_type(op.result)))
