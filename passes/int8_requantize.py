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
from nn_opt.passes.quantized import Array, known, known_number, quantizer


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

    also with a relu or clip by known numbers between: it gets the bounds times t.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MulOp, rewriter: PatternRewriter, /):
        factor, inner = known_number(op.rhs), op.lhs.owner
        if factor is None or factor <= 0 or not op.lhs.has_one_use():
            return
        if isinstance(inner, graph.MulOp) and is_integer(inner.lhs):
            scale = known(inner.rhs)
            if scale is not None and inner.lhs.type == op.result.type:
                both = constant(scale * np.float32(factor), rewriter, op)
                rewriter.replace(op, graph.MulOp(inner.lhs, both))
        elif isinstance(inner, graph.ReluOp) and is_scaled(inner.x):
            product = rewriter.insert(graph.MulOp(inner.x, op.rhs)).result
            rewriter.replace(op, graph.ReluOp(product))
        elif isinstance(inner, graph.ClipOp) and is_scaled(inner.x):
            bounds = [known_number(bound) for bound in (inner.low, inner.high)]
            if None not in bounds:
                product = rewriter.insert(graph.MulOp(inner.x, op.rhs)).result
                new = [
                    constant(np.float32(b or 0) * np.float32(factor), rewriter, op) for b in bounds
                ]
                rewriter.replace(op, graph.ClipOp(product, *new))


def is_integer(value: SSAValue) -> bool:
    """Return whether a float is an integer by its origin: a cast, or a sum of products of bytes."""
    owner = value.owner
    if isinstance(owner, graph.AddOp):
        return is_integer(owner.lhs)
    if isinstance(owner, graph.ConvOp):
        return is_byte(element_type(owner.x))
    return isinstance(owner, graph.CastOp) and element_type(owner.x) == i32


def is_scaled(value: SSAValue) -> bool:
    """Return whether a value is an integer times a known scale, for one reader."""
    owner = value.owner
    if not isinstance(owner, graph.MulOp) or not value.has_one_use():
        return False
    return is_integer(owner.lhs) and known(owner.rhs) is not None


class DropRelu(RewritePattern):
    """quantize(relu(x))  ->  quantize(x),  if 0 is the least that the result can be"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /):
        whole = quantizer(op)
        least = np.iinfo(numpy_dtype(element_type(op.result))).min if whole is not None else 0
        if whole is None or whole.zero != least or not isinstance(whole.x.owner, graph.ReluOp):
            return
        if whole.scale is None and whole.x.has_one_use():
            rewriter.replace(whole.x.owner, (), [whole.x.owner.x])


class ClipFirst(RewritePattern):
    """cast(clip(round(x) + zero))  ->  cast(cast(round(clip(x)) to i32) + zero)

    The bounds are integers, so it is the same; machines round and convert in one instruction.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /):
        whole = quantizer(op)
        if whole is None:
            return
        limits = np.iinfo(numpy_dtype(element_type(op.result)))
        bounds = [
            constant(np.float32(n - whole.zero), rewriter, op) for n in (limits.min, limits.max)
        ]
        clipped = rewriter.insert(graph.ClipOp(whole.rounded.x, *bounds)).result
        rounded = rewriter.insert(graph.RoundOp(clipped)).result
        total = rewriter.insert(graph.CastOp(rounded, i32)).result
        if whole.zero:
            zero = rewriter.insert(graph.ConstantOp(np.asarray(whole.zero, np.int32))).result
            total = rewriter.insert(graph.AddOp(total, zero)).result
        rewriter.replace(op, graph.CastOp(total, element_type(op.result)))
