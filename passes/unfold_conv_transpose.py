"""unfold-conv-transpose: a convolution with a filter for each place between two input pixels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.dialects.graph import Fusion
from nn_opt.ir.resources import Array
from nn_opt.ir.rewriting import rewrite
from nn_opt.ir.types import shape_of
from nn_opt.passes.constants import constant_array

MOST_WASTE = 4.0  # times the multiplications, zeros of the filled-up filters counted


@dataclass(frozen=True)
class Axis:
    """One spatial axis: result[stride * j + phase - crop] = sum over t of x[j + t - pad] * w[t]."""

    size: int
    kernel: int
    stride: int
    dilation: int
    before: int  # pads of the transposed convolution
    result: int

    @property
    def reach(self) -> int:
        """How many input pixels before a place reach it, apart from its own."""
        return (self.kernel - 1) * self.dilation // self.stride

    @property
    def first(self) -> int:
        return self.before // self.stride

    @property
    def steps(self) -> int:
        """How many groups of `stride` places cover the result."""
        return (self.result - 1 + self.before) // self.stride - self.first + 1

    @property
    def pads(self) -> tuple[int, int]:
        """Pads of the convolution."""
        return self.reach - self.first, self.first + self.steps - self.size

    @property
    def crop(self) -> int:
        """Places to drop at the start."""
        return self.before % self.stride

    def taps(self) -> Iterator[tuple[int, int, int]]:
        """Yield (phase, tap of the new filter, tap of the old one)."""
        for old in range(self.kernel):
            back, phase = divmod(old * self.dilation, self.stride)
            yield phase, self.reach - back, old


class ConvTransposeToConv(RewritePattern):
    """conv_transpose(x, w)  ->  the places of conv(x, w') put side by side,

    where w' has, for each place within a stride, a filter of the taps of w that reach it. So the
    inner loops have neither divisions nor tests. Only constant weights, and only if filling up
    the new filters with zeros costs less than it gains.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvTransposeOp, rewriter: PatternRewriter, /):
        weights = constant_array(op.w)
        bias = None if op.b is None else constant_array(op.b)
        if weights is None or (op.b is not None and bias is None):
            return
        axes = axes_of(op)
        waste = prod((a.reach + 1) * a.stride / a.kernel for a in axes)
        if waste > MOST_WASTE or any(min(axis.pads) < 0 for axis in axes):
            return
        value = convolution(op, weights, bias, axes, rewriter)
        chain = [op, *unary_readers(op)]
        for reader in chain[1:]:  # on as many elements, but right behind the convolution
            value = rewriter.insert(with_operand(reader, value)).results[0]
        result = side_by_side(value, axes, op.group.value.data, shape_of(op.result), rewriter)
        rewriter.replace(chain.pop(), (), [result])
        for dead in reversed(chain):
            rewriter.erase(dead)


def convolution(
    op: graph.ConvTransposeOp,
    weights: Array,
    bias: Array | None,
    axes: Sequence[Axis],
    rewriter: PatternRewriter,
) -> SSAValue:
    """Insert the convolution that computes all places of each stride as channels."""
    groups = op.group.value.data
    filters = rewriter.insert(graph.ConstantOp(unfolded(weights, axes, groups))).results[0]
    b = None
    if bias is not None:
        places = prod(axis.stride for axis in axes)
        rows = np.repeat(bias.reshape(groups, 1, len(bias) // groups), places, axis=1)
        b = rewriter.insert(graph.ConstantOp(rows.reshape(-1))).results[0]
    ones = [1] * len(axes)
    pads = [*(axis.pads[0] for axis in axes), *(axis.pads[1] for axis in axes)]
    conv = graph.ConvOp(op.x, filters, b, strides=ones, pads=pads, dilations=ones, group=groups)
    return rewriter.insert(conv).results[0]


def axes_of(op: graph.ConvTransposeOp) -> list[Axis]:
    """Return the spatial axes of a transposed convolution."""
    rank = len(shape_of(op.x)) - 2
    return [
        Axis(size, kernel, stride, dilation, before, result)
        for size, kernel, stride, dilation, before, result in zip(
            shape_of(op.x)[2:],
            shape_of(op.w)[2:],
            op.strides.get_values(),
            op.dilations.get_values(),
            op.pads.get_values()[:rank],
            shape_of(op.result)[2:],
            strict=True,
        )
    ]


def unfolded(weights: Array, axes: Sequence[Axis], groups: int) -> Array:
    """Return filters [groups * places * F, C, taps] for weights [groups * C, F, kernel]."""
    channels, per_group = weights.shape[0] // groups, weights.shape[1]
    strides = [axis.stride for axis in axes]
    taps = [axis.reach + 1 for axis in axes]
    grouped = weights.reshape(groups, channels, per_group, *weights.shape[2:])
    result = np.zeros((groups, *strides, per_group, channels, *taps), weights.dtype)
    for steps in product(*(axis.taps() for axis in axes)):
        phases, new, old = zip(*steps, strict=True)
        filters = grouped[(slice(None), slice(None), slice(None), *old)].transpose(0, 2, 1)
        result[(slice(None), *phases, slice(None), slice(None), *new)] = filters
    return result.reshape(groups * prod(strides) * per_group, channels, *taps)


def side_by_side(
    value: SSAValue,
    axes: Sequence[Axis],
    groups: int,
    shape: Sequence[int],
    rewriter: PatternRewriter,
) -> SSAValue:
    """[N, G * strides * F, steps]  ->  [N, G * F, steps * strides], cropped to `shape`"""
    count, batch = len(axes), shape[0]
    per_group = shape[1] // groups
    strides, steps = [axis.stride for axis in axes], [axis.steps for axis in axes]
    split = rewriter.insert(graph.ReshapeOp(value, [batch, groups, *strides, per_group, *steps]))
    pairs = [k for axis in range(count) for k in (count + 3 + axis, 2 + axis)]
    woven = rewriter.insert(graph.TransposeOp(split.results[0], [0, 1, count + 2, *pairs]))
    whole = [batch, shape[1], *(axis.stride * axis.steps for axis in axes)]
    joined = rewriter.insert(graph.ReshapeOp(woven.results[0], whole)).results[0]
    if whole == list(shape):
        return joined
    starts = [0, 0, *(axis.crop for axis in axes)]
    return rewriter.insert(graph.SliceOp(joined, starts, shape, [1] * len(shape))).results[0]


def unary_readers(op: Operation) -> list[Operation]:
    """Return the elementwise ops of one operand, each the only reader of the one before it."""
    found: list[Operation] = []
    last = op
    while last.results[0].has_one_use():
        reader = next(iter(last.results[0].uses)).operation
        if not is_unary(reader) or reader.parent is not op.parent:
            break
        found.append(reader)
        last = reader
    return found


def is_unary(op: Operation) -> bool:
    """Return whether an op is elementwise on one tensor and keeps its type."""
    if getattr(op, "FUSION", None) is not Fusion.ELEMENTWISE or len(op.operands) != 1:
        return False
    return [result.type for result in op.results] == [op.operands[0].type]


def with_operand(op: Operation, value: SSAValue) -> Operation:
    """Return an elementwise op on another value."""
    return type(op).create(
        operands=[value],
        result_types=[value.type],
        properties=dict(op.properties),
        attributes=op.attributes,
        location=op.location,
    )


class UnfoldConvTransposePass(ModulePass):
    """Needs: graph, static shapes. Keeps: graph.

    Order: after fold-scale-axis, which still sees one filter a channel; before choose-layout.
    """

    name = "unfold-conv-transpose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, ConvTransposeToConv())
