"""keep-wide: inside a kernel, numbers that only it reads need not become bytes and back."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.dialects.graph.contraction import is_byte
from nn_opt.ir.rewriting import rewrite
from nn_opt.ir.types import element_type, numpy_dtype
from nn_opt.passes.constants import splat_of
from nn_opt.passes.quantized import limits_of


class StayWide(RewritePattern):
    """cast(cast(x to ui8) to i32)  ->  x,  if x is clipped to what bytes can be"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /):
        inner = op.x.owner
        if not isinstance(inner, graph.CastOp) or inner.x.type != op.result.type:
            return
        if element_type(op.result) == i32 and is_byte(element_type(op.x)):
            least, most = limits_of(numpy_dtype(element_type(op.x)))
            low, high = range_of(inner.x)
            if least <= low and high <= most:
                rewriter.replace(op, (), [inner.x])


def range_of(value: SSAValue) -> tuple[float, float]:
    """Return the bounds of a rounded number between clips, plus a known one."""
    owner, added = value.owner, 0.0
    if isinstance(owner, graph.AddOp) and (number := splat_of(owner.rhs)) is not None:
        owner, added = owner.lhs.owner, float(number)
    if isinstance(owner, graph.CastOp) and isinstance(owner.x.owner, graph.RoundOp):
        clip = owner.x.owner.x.owner
        if isinstance(clip, graph.ClipOp) and clip.low is not None and clip.high is not None:
            low, high = splat_of(clip.low), splat_of(clip.high)
            if low is not None and high is not None:
                return float(low) + added, float(high) + added
    return float("-inf"), float("inf")


class SubAdded(RewritePattern):
    """x + a - a  ->  x  of known integers"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SubOp, rewriter: PatternRewriter, /):
        inner = op.lhs.owner
        if not isinstance(inner, graph.AddOp) or element_type(op.result) != i32:
            return
        numbers = splat_of(inner.rhs), splat_of(op.rhs)
        same = numbers[0] is not None and numbers[0] == numbers[1]
        if same and inner.lhs.type == op.result.type:
            rewriter.replace(op, (), [inner.lhs])


class StayFloat(RewritePattern):
    """cast(cast(round(x) to i32) to f32)  ->  round(x),  if x is clipped"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /):
        inner = op.x.owner
        if not isinstance(inner, graph.CastOp) or inner.x.type != op.result.type:
            return
        low, high = range_of(op.x)
        if element_type(op.result) == f32 and -(2.0**31) <= low and high < 2.0**31:
            rewriter.replace(op, (), [inner.x])


class KeepWidePass(ModulePass):
    """cast(cast(clip(x) to ui8) to i32)  ->  x  inside a graph.fused, and what follows from it.

    Needs: graph. Keeps: graph. Order: after fuse-ops, since bytes are shorter between kernels.
    """

    name = "keep-wide"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for fused in [inner for inner in op.walk() if isinstance(inner, graph.FusedOp)]:
            rewrite(fused, StayWide(), SubAdded(), StayFloat())
