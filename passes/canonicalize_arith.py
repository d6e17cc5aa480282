"""Patterns of --canonicalize for arith: xDSL's, with those that most ops try made quicker."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.traits import HasCanonicalizationPatternsTrait
from xdsl.transforms.canonicalization_patterns import arith as upstream

from nn_opt.ir.folding import commutes, constant_of, is_unit, is_zero
from nn_opt.ir.greedy import NeedsConstant, patterns_that_need_a_constant


class ZeroOrUnitRight(RewritePattern, NeedsConstant):
    """x * 0  ->  0;  x * 1, x + 0, ...  ->  x"""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: arith.SignlessIntegerBinaryOperation, rewriter: PatternRewriter, /
    ):
        lhs, rhs = op._operands  # pyright: ignore[reportPrivateUsage]  # op.operands is a new view
        number = constant_of(rhs)
        if type(number) is not IntegerAttr:
            return
        if is_zero(op, number):
            rewriter.replace(op, (), (rhs,))
        elif is_unit(op, number):
            rewriter.replace(op, (), (lhs,))


class ConstantToTheRight(RewritePattern, NeedsConstant):
    """c + x  ->  x + c,  and so for all that commute; of two constants the folder makes one"""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: arith.SignlessIntegerBinaryOperation, rewriter: PatternRewriter, /
    ):
        lhs, rhs = op._operands  # pyright: ignore[reportPrivateUsage]  # op.operands is a new view
        if not commutes(type(op)) or type(constant_of(lhs)) is not IntegerAttr:
            return
        if type(constant_of(rhs)) is not IntegerAttr:
            rewriter.replace(op, type(op)(rhs, lhs))


_QUICKER: dict[type[RewritePattern], RewritePattern] = {
    upstream.SignlessIntegerBinaryOperationZeroOrUnitRight: ZeroOrUnitRight(),
    upstream.SignlessIntegerBinaryOperationConstantProp: ConstantToTheRight(),
}
patterns_that_need_a_constant.update(
    {upstream.FoldConstConstOp, upstream.FoldConstsByReassociation}
)


def own_patterns(op_type: type[Operation]) -> Sequence[RewritePattern]:
    """Return the canonicalization patterns that an op's definition lists."""
    traits = op_type.get_traits_of_type(HasCanonicalizationPatternsTrait)
    listed = [pattern for trait in traits for pattern in trait.get_patterns(op_type)]
    return [_QUICKER.get(type(pattern), pattern) for pattern in listed]
