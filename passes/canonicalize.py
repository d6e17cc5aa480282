"""Bring every operation into the one form that other passes expect."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from nn_opt.ir.dead_code import erase_dead_code
from nn_opt.ir.greedy import NeedsConstant
from nn_opt.ir.rewriting import rewrite
from nn_opt.ir.statistics import Statistic, count_ops, is_counting
from nn_opt.passes.canonicalize_arith import own_patterns

APPLIED = Statistic("canonicalize", "patterns-applied", "patterns that changed something")
ERASED = Statistic("canonicalize", "ops-erased", "operations that are gone")
INSERTED = Statistic("canonicalize", "ops-inserted", "operations that are new")


class OwnPatterns(RewritePattern):
    """Whatever an op's definition lists as its canonicalization patterns; the first that fires."""

    def patterns_for(self, op_type: type[Operation]) -> Sequence[RewritePattern]:
        """Return what the definition of an op class lists."""
        return own_patterns(op_type)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        for pattern in self.patterns_for(type(op)):
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                return


# The right operand that changes no bit of the left one: x + 0.0 would turn -0.0 into 0.0.
NEUTRAL: dict[type[Operation], float] = {
    arith.AddfOp: -0.0,
    arith.SubfOp: 0.0,
    arith.MulfOp: 1.0,
    arith.DivfOp: 1.0,
}


class NeutralOperand(RewritePattern, NeedsConstant):
    """x op neutral  ->  x,  if the right operand is the constant of NEUTRAL, sign included"""

    roots = tuple(NEUTRAL)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        neutral = NEUTRAL.get(type(op))
        if neutral is None or not isinstance(constant := op.operands[1].owner, arith.ConstantOp):
            return
        if not isinstance(value := constant.value, FloatAttr):
            return
        number = value.value.data
        if number == neutral and math.copysign(1, number) == math.copysign(1, neutral):
            rewriter.replace(op, (), [op.operands[0]])


class GraphPatterns(RewritePattern):
    """The patterns for graph ops, imported if there are any."""

    def patterns_for(self, op_type: type[Operation]) -> Sequence[RewritePattern]:
        """Return them for a graph op."""
        if not op_type.name.startswith("graph."):
            return ()
        from nn_opt.passes.canonicalize_graph import graph_patterns

        return graph_patterns()

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        for pattern in self.patterns_for(type(op)):
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                return


class CanonicalizePass(ModulePass):
    """Fold and simplify each operation by its own rules, and erase what nobody reads.

    Float identities that change NaN, infinity or the sign of zero are no rules.
    Needs: nothing. Keeps: every level. Order: first, and after passes that leave patterns.
    """

    name = "canonicalize"
    statistics = (APPLIED, ERASED, INSERTED)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns = (OwnPatterns(), NeutralOperand(), GraphPatterns())
        matched = APPLIED.add if is_counting() else None
        with count_ops(op, ERASED, INSERTED):
            rewrite(op, *patterns, fold=ctx, after_sweep=erase_dead_code, matched=matched)
