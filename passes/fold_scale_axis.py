"""fold-scale-axis: multiply constant weights by the per-channel factors that come after them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.ir.resources import Array
from nn_opt.ir.rewriting import fuse_locations, rewrite
from nn_opt.ir.types import element_type, shape_of
from nn_opt.passes.constants import (
    Float64Array,
    constant_array,
    is_float,
    per_channel,
    rank_of,
    rounded,
    scaled,
)


@dataclass
class Affine:
    """y = x * scale + shift per channel, gathered in float64 over a chain of single readers."""

    value: SSAValue
    axis: int
    scale: Float64Array
    shift: Float64Array
    steps: list[Operation] = field(default_factory=list[Operation])

    @classmethod
    def after(cls, value: SSAValue, axis: int, bias: Float64Array | None) -> Affine:
        """Follow the readers of `value` as far as they are affine by constants per channel."""
        channels = shape_of(value)[axis]
        shift = np.zeros(channels) if bias is None else bias.astype(np.float64)
        chain = cls(value, axis, np.ones(channels), shift)
        while chain.advance():
            pass
        return chain

    def advance(self) -> bool:
        """Take in the next reader; return False at the end of the chain."""
        if not self.value.has_one_use():
            return False
        (use,) = self.value.uses
        step = STEPS.get(type(use.operation))
        if step is None or shape_of(use.operation.results[0]) != shape_of(self.value):
            return False
        other = use.operation.operands[1 - use.index]
        factor = per_channel(other, shape_of(self.value), self.axis)
        if factor is None or not step(self, factor, use.index):
            return False
        self.steps.append(use.operation)
        self.value = use.operation.results[0]
        return True

    def multiply(self, factor: Float64Array, index: int) -> bool:
        self.scale, self.shift = self.scale * factor, self.shift * factor
        return True

    def add(self, term: Float64Array, index: int) -> bool:
        self.shift = self.shift + term
        return True

    def subtract(self, term: Float64Array, index: int) -> bool:
        if index == 1:  # term - x
            self.scale, self.shift = -self.scale, -self.shift
            term = -term
        self.shift = self.shift - term
        return True

    def divide(self, divisor: Float64Array, index: int) -> bool:
        if index == 1 or not divisor.all():
            return False
        return self.multiply(1 / divisor, index)

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite(self.scale).all() and np.isfinite(self.shift).all())


STEPS: dict[type[Operation], Callable[[Affine, Float64Array, int], bool]] = {
    graph.MulOp: Affine.multiply,
    graph.AddOp: Affine.add,
    graph.SubOp: Affine.subtract,
    graph.DivOp: Affine.divide,
}


class ScaleIntoConv(RewritePattern):
    """conv(x, w, b) * s + t  ->  conv(x, w * s, b * s + t),  s and t constant per channel,

    if w and b are constants and nothing else reads the conv. Also - and / by a constant.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.ConvOp | graph.ConvTransposeOp, rewriter: PatternRewriter, /
    ):
        weights = constant_array(op.w)
        bias = None if op.b is None else constant_array(op.b)
        if weights is None or (bias is None) != (op.b is None) or not is_float(op.w):
            return
        if isinstance(op, graph.ConvOp) and op.layout is not None:
            return
        if has_wider_sums(op, op.w):
            return
        chain = Affine.after(op.result, 1, bias)
        if not chain.steps or not chain.is_finite:
            return
        folded = scaled_filters(op, weights, chain.scale)
        shift = rounded(chain.shift, op.w)
        if folded is None or shift is None:
            return
        w = rewriter.insert(graph.ConstantOp(folded)).results[0]
        b = rewriter.insert(graph.ConstantOp(shift)).results[0] if shift.any() else None
        replace_chain(op, chain, with_weights(op, w, b), rewriter)


class ScaleIntoMatmul(RewritePattern):
    """matmul(x, w) * s + t  ->  matmul(x, w * s) + t,  s and t constant per column of w,

    if w is a constant and nothing else reads the matmul. (x @ w + t) * s likewise.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MatmulOp, rewriter: PatternRewriter, /):
        weights = constant_array(op.b)
        if weights is None or weights.ndim < 2 or not is_float(op.b) or has_wider_sums(op, op.b):
            return
        chain = Affine.after(op.result, rank_of(op.result) - 1, None)
        if not chain.is_finite or [type(step) for step in chain.steps] in ([], [graph.AddOp]):
            return  # one addition is what would be left
        folded = scaled(weights, chain.scale, op.b)
        shift = rounded(chain.shift, op.b)
        if folded is None or shift is None:
            return
        w = rewriter.insert(graph.ConstantOp(folded)).results[0]
        product = graph.MatmulOp.create(
            operands=[op.a, w], result_types=[op.result.type], properties=dict(op.properties)
        )
        if shift.any():
            rewriter.insert(product)
            product.location = op.location
            t = rewriter.insert(graph.ConstantOp(shift)).results[0]
            replace_chain(op, chain, graph.AddOp(product.results[0], t), rewriter)
        else:
            replace_chain(op, chain, product, rewriter)


def has_wider_sums(op: Operation, weights: SSAValue) -> bool:
    """Return whether results have more digits than weights, to which factors would be rounded."""
    return element_type(op.results[0]) != element_type(weights)


def scaled_filters(
    op: graph.ConvOp | graph.ConvTransposeOp, weights: Array, scale: Float64Array
) -> Array | None:
    """Return w * scale, scale along the filters: axis 0 of a conv's w [F, C/g, ...], axis 1 (one
    part per group) of a transposed conv's w [C, F/g, ...]; None if a finite number overflows."""
    ones = (1,) * (weights.ndim - 2)
    if isinstance(op, graph.ConvOp):
        return scaled(weights, scale.reshape(-1, 1, *ones), op.w)
    groups = op.group.value.data
    parts = weights.reshape(groups, weights.shape[0] // groups, *weights.shape[1:])
    folded = scaled(parts, scale.reshape(groups, 1, -1, *ones), op.w)
    return None if folded is None else folded.reshape(weights.shape)


def with_weights(
    op: graph.ConvOp | graph.ConvTransposeOp, w: SSAValue, b: SSAValue | None
) -> graph.ConvOp | graph.ConvTransposeOp:
    """Return the same convolution by other weights and bias."""
    operands = [op.x, w] if b is None else [op.x, w, b]
    return type(op).create(
        operands=operands, result_types=[op.result.type], properties=dict(op.properties)
    )


def replace_chain(op: Operation, chain: Affine, new: Operation, rewriter: PatternRewriter) -> None:
    """Put `new` in the place of `op` and of the chain after it."""
    new.location = fuse_locations(op, *chain.steps)
    rewriter.insert(new)
    last = chain.steps[-1]
    rewriter.replace(last, (), [new.results[0]])
    for step in reversed(chain.steps[:-1]):
        rewriter.erase(step)
    rewriter.erase(op)


class FoldScaleAxisPass(ModulePass):
    """Weights are multiplied in float64 and rounded once, so results differ in the last place.

    Needs: graph. Keeps: graph. Order: after simplify-inference and fold-constants, before
    choose-layout (blocked convolutions are left alone).
    """

    name = "fold-scale-axis"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, ScaleIntoConv(), ScaleIntoMatmul())
