"""Patterns of --canonicalize for graph ops; every one keeps every bit, NaN and -0.0 included."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.passes.canonicalize_moves import move_patterns
from nn_opt.passes.constants import splat_of

INVOLUTIONS = (graph.NegOp, graph.NotOp, graph.BitwiseNotOp)
IDEMPOTENT = (
    graph.ReluOp,
    graph.AbsOp,
    graph.FloorOp,
    graph.CeilOp,
    graph.RoundOp,
    graph.SignOp,
)


class DropTwice(RewritePattern):
    """-(-x)  ->  x, also not and bitwise not; relu(relu(x))  ->  relu(x), also abs, floor, ..."""

    roots = INVOLUTIONS + IDEMPOTENT

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        inner = op.operands[0].owner
        if not isinstance(inner, Operation) or type(inner) is not type(op):
            return
        kept = inner.operands[0] if isinstance(op, INVOLUTIONS) else inner.results[0]
        rewriter.replace(op, (), [kept])


class DropCast(RewritePattern):
    """cast(x)  ->  x,  if x has the element type already"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /):
        if op.x.type == op.result.type:
            rewriter.replace(op, (), [op.x])


class DropClip(RewritePattern):
    """clip(x)  ->  x,  if it has no bounds"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ClipOp, rewriter: PatternRewriter, /):
        if op.low is None and op.high is None:
            rewriter.replace(op, (), [op.x])


NEUTRAL: dict[type[Operation], float] = {
    graph.MulOp: 1.0,
    graph.DivOp: 1.0,
    graph.PowOp: 1.0,
    graph.SubOp: 0.0,
    graph.AddOp: -0.0,
}


class DropNeutral(RewritePattern):
    """x * 1, x / 1, x - 0.0, x ** 1  ->  x,  if the constant does not broaden x.

    x + 0.0 stays, since -0.0 + 0.0 is 0.0; x + -0.0 goes.
    """

    roots = tuple(NEUTRAL)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        for index in (1, 0) if isinstance(op, graph.MulOp | graph.AddOp) else (1,):
            kept = op.operands[1 - index]
            if kept.type == op.results[0].type and is_neutral(op, op.operands[index]):
                rewriter.replace(op, (), [kept])
                return


def is_neutral(op: Operation, value: SSAValue) -> bool:
    """Return whether `value` repeats the number that leaves the other operand of `op` as it is."""
    splat = splat_of(value)
    if splat is None or splat.dtype.kind == "b":
        return False
    wanted = splat.dtype.type(NEUTRAL[type(op)])
    return splat.tobytes() == wanted.tobytes()


class SquareByMul(RewritePattern):
    """x ** 2  ->  x * x, which is the correctly rounded square"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PowOp, rewriter: PatternRewriter, /):
        if splat_of(op.rhs) == 2 and op.lhs.type == op.result.type:
            rewriter.replace(op, graph.MulOp(op.lhs, op.lhs))


class DropWhere(RewritePattern):
    """where(c, a, a)  ->  a;  where(true, a, b)  ->  a;  where(false, a, b)  ->  b"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.WhereOp, rewriter: PatternRewriter, /):
        choice = splat_of(op.condition)
        if choice is None and op.a is not op.b:
            return
        kept = op.b if choice is not None and not choice else op.a
        if kept.type == op.result.type:
            rewriter.replace(op, (), [kept])


def graph_patterns() -> list[RewritePattern]:
    """Return the patterns that --canonicalize runs on graph ops."""
    arithmetic: list[RewritePattern] = [
        DropTwice(),
        DropCast(),
        DropClip(),
        DropNeutral(),
        SquareByMul(),
        DropWhere(),
    ]
    return [*arithmetic, *move_patterns()]
