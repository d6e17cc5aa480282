"""expand-math: functions without an instruction become polynomials, where vectors profit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.builder import ImplicitBuilder
from xdsl.context import Context
from xdsl.dialects import math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from nn_opt.ir.rewriting import convert
from nn_opt.passes.expand_math_functions import (
    erf,
    erf_approximate,
    exp,
    exp_approximate,
    expm1,
    log,
    log1p,
    tanh,
)
from nn_opt.passes.expand_math_terms import Term, is_single

FUNCTIONS: dict[type[Operation], Callable[[Term], Term]] = {
    math.ExpOp: exp,
    math.ExpM1Op: expm1,
    math.LogOp: log,
    math.Log1pOp: log1p,
    math.TanhOp: tanh,
    math.ErfOp: erf,
}
# Of ops that say `afn`: their error is bounded beside 1, not beside the result.
APPROXIMATE: dict[type[Operation], Callable[[Term], Term]] = {
    math.ExpOp: exp_approximate,
    math.ErfOp: erf_approximate,
}


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """Needs: math on scalars or vectors. Keeps: all else. Order: after vectorize-loops.

    Only binary32 is expanded; what stays is called in the C library, lane by lane.
    """

    name = "expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, dict.fromkeys(FUNCTIONS, expand))


def expand(op: Operation, rewriter: PatternRewriter) -> None:
    """%y = math.exp %x  ->  a polynomial in arith and math.fma, if %x is binary32"""
    if not is_single(op):
        return
    block = Block()
    with ImplicitBuilder(block):
        result = function_of(op)(Term(op.operands[0]))
    new = list(block.ops)
    for inner in new:
        inner.detach()
    result.value.name_hint = op.results[0].name_hint
    rewriter.replace(op, new, [result.value])


def function_of(op: Operation) -> Callable[[Term], Term]:
    """Return what an op expands to; `afn` asks for the shorter form where there is one."""
    flags = op.properties.get("fastmath")
    short = isinstance(flags, FastMathFlagsAttr) and FastMathFlag.APPROX_FUNC in flags.data
    return APPROXIMATE.get(type(op), FUNCTIONS[type(op)]) if short else FUNCTIONS[type(op)]
