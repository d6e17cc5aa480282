"""expand-math: functions without an instruction become polynomials, where vectors profit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from xdsl.builder import ImplicitBuilder
from xdsl.context import Context
from xdsl.dialects import math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import BFloat16Type, Float16Type, ModuleOp, f32
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from nn_opt.ir.remf import RemFOp
from nn_opt.ir.rewriting import convert
from nn_opt.ir.target import target_of
from nn_opt.ir.types import element_type, is_vector
from nn_opt.passes import expand_math_trig as trig
from nn_opt.passes import expand_math_wide as wide
from nn_opt.passes.expand_math_functions import (
    erf,
    erf_approximate,
    exp,
    exp_approximate,
    exp_by_ldexp,
    expm1,
    log,
    log1p,
    tanh,
)
from nn_opt.passes.expand_math_terms import Term

FUNCTIONS: dict[type[Operation], Callable[..., Term]] = {
    math.AcosOp: wide.acos,
    math.AcoshOp: wide.acosh,
    math.AsinOp: wide.asin,
    math.AsinhOp: wide.asinh,
    math.AtanOp: wide.atan,
    math.AtanhOp: wide.atanh,
    math.CosOp: trig.cos,
    math.CoshOp: wide.cosh,
    math.ErfOp: erf,
    math.ExpOp: exp,
    math.Exp2Op: wide.exp2,
    math.ExpM1Op: expm1,
    math.LogOp: log,
    math.Log10Op: wide.log10,
    math.Log1pOp: log1p,
    math.Log2Op: wide.log2,
    math.PowFOp: wide.pow_,
    math.SinOp: trig.sin,
    math.SinhOp: wide.sinh,
    math.TanOp: trig.tan,
    math.TanhOp: tanh,
    RemFOp: wide.remainder,
}
# Of ops that say `afn`: their error is bounded beside 1, not beside the result.
APPROXIMATE: dict[type[Operation], Callable[..., Term]] = {
    math.ExpOp: exp_approximate,
    math.ErfOp: erf_approximate,
}
SINGLE_OR_LESS = (f32, Float16Type(), BFloat16Type())
# Of vectors on machines that scale floats in one instruction.
BY_LDEXP: dict[type[Operation], Callable[..., Term]] = {math.ExpOp: exp_by_ldexp}


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """Needs: math on scalars or vectors. Keeps: all else. Order: after vectorize-loops.

    Narrower floats are computed in binary32; what is in binary64 stays, and is called in the C
    library, lane by lane. Where the target's processor has no fused multiply-add, math.fma will
    be a product and a sum: errors are up to 3.5 ulp instead of 2.
    """

    name = "expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        scales = target_of(op).has_ldexp
        convert(op, dict.fromkeys(FUNCTIONS, partial(expand, scales=scales)))


def expand(op: Operation, rewriter: PatternRewriter, *, scales: bool) -> None:
    """%y = math.exp %x  ->  a polynomial in arith and math.fma, if %x is no binary64"""
    element = element_type(op.results[0])
    if element not in SINGLE_OR_LESS:
        return
    block = Block()
    with ImplicitBuilder(block):
        singles = [Term(operand).converted(f32) for operand in op.operands]
        result = function_of(op, scales=scales)(*singles).converted(element)
    new = list(block.ops)
    for inner in new:
        inner.detach()
    result.value.name_hint = op.results[0].name_hint
    rewriter.replace(op, new, [result.value])


def function_of(op: Operation, *, scales: bool) -> Callable[..., Term]:
    """Return what an op expands to; `afn` asks for the shorter form where there is one."""
    if scales and type(op) in BY_LDEXP and is_vector(op.results[0].type):
        return BY_LDEXP[type(op)]
    flags = op.properties.get("fastmath")
    short = isinstance(flags, FastMathFlagsAttr) and FastMathFlag.APPROX_FUNC in flags.data
    return APPROXIMATE.get(type(op), FUNCTIONS[type(op)]) if short else FUNCTIONS[type(op)]
