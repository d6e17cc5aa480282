"""simplify-inference: what matters in training only becomes plain arithmetic, or nothing."""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.ir.resources import Array
from nn_opt.ir.rewriting import rewrite
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.passes.constants import Float64Array, constant_array, rank_of, rounded


class DropDropout(RewritePattern):
    """dropout(x)  ->  x"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.DropoutOp, rewriter: PatternRewriter, /):
        rewriter.replace(op, (), [op.operands[0]])


class BatchNormToScaleAndShift(RewritePattern):
    """batch_norm(x, scale, bias, mean, var)  ->  x * s + t,  if all four are constants,

    where s = scale / sqrt(var + epsilon) and t = bias - mean * s, in float64 and rounded once.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BatchNormOp, rewriter: PatternRewriter, /):
        parameters = [constant_array(value) for value in op.operands[1:]]
        if any(array is None for array in parameters):
            return
        scale, bias, mean, variance = (p.astype(np.float64) for p in parameters if p is not None)
        factor = scale / np.sqrt(variance + epsilon_of(op))
        s, t = channel_array(factor, op), channel_array(bias - mean * factor, op)
        if s is None or t is None:
            return
        factors = rewriter.insert(graph.ConstantOp(s)).results[0]
        terms = rewriter.insert(graph.ConstantOp(t)).results[0]
        product = rewriter.insert(graph.MulOp(op.operands[0], factors)).results[0]
        rewriter.replace(op, graph.AddOp(product, terms))


class BatchNormToArithmetic(RewritePattern):
    """batch_norm(x, scale, bias, mean, var)  ->  (x - mean) * (scale / sqrt(var + e)) + bias"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BatchNormOp, rewriter: PatternRewriter, /):
        x, scale, bias, mean, variance = op.operands
        dtype = numpy_dtype(element_type(variance))
        epsilon = rewriter.insert(graph.ConstantOp(np.asarray(epsilon_of(op), dtype))).results[0]
        shifted = rewriter.insert(graph.AddOp(variance, epsilon)).results[0]
        deviation = rewriter.insert(graph.SqrtOp(shifted)).results[0]
        factor = rewriter.insert(graph.DivOp(scale, deviation)).results[0]
        mean, factor, bias = (along_channels(value, op, rewriter) for value in (mean, factor, bias))
        centred = rewriter.insert(graph.SubOp(x, mean)).results[0]
        scaled = rewriter.insert(graph.MulOp(centred, factor)).results[0]
        rewriter.replace(op, graph.AddOp(scaled, bias))


def epsilon_of(op: graph.BatchNormOp) -> float:
    """Return what keeps the square root away from zero."""
    return float(op.epsilon.value.data)


def channel_shape(op: graph.BatchNormOp, channels: int) -> tuple[int, ...]:
    """Return [C, 1, ...], which broadcasts along the channels of [N, C, ...]."""
    return (channels, *(1 for _ in range(rank_of(op.operands[0]) - 2)))


def channel_array(values: Float64Array, op: graph.BatchNormOp) -> Array | None:
    """Return per-channel numbers, rounded, in the shape that broadcasts; None if one overflows."""
    return rounded(values.reshape(channel_shape(op, values.size)), op.operands[0])


def along_channels(value: SSAValue, op: graph.BatchNormOp, rewriter: PatternRewriter) -> SSAValue:
    """Return a [C] value in the shape that broadcasts along channels."""
    channels = shape_of(value)[0]
    return rewriter.insert(graph.ReshapeOp(value, channel_shape(op, channels))).results[0]


class SimplifyInferencePass(ModulePass):
    """Needs: graph. Keeps: graph. Leaves: no batch_norm, no dropout.

    Order: before fold-scale-axis, which folds what this leaves into weights.
    """

    name = "simplify-inference"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, DropDropout(), BatchNormToScaleAndShift(), BatchNormToArithmetic())
