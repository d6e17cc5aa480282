"""recognize-gelu: a model's own formula of the GELU becomes the one op."""

from __future__ import annotations

import math
from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.ir.rewriting import rewrite
from nn_opt.passes.constants import splat_of

Polynomial = dict[int, float]  # power of the variable: its coefficient
SLOPE = math.sqrt(2 / math.pi)
# What stands under erf or tanh, and what that form of GELU is called.
INNER: dict[type[Operation], tuple[str, Polynomial]] = {
    graph.ErfOp: ("none", {1: math.sqrt(0.5)}),
    graph.TanhOp: ("tanh", {1: SLOPE, 3: 0.044715 * SLOPE}),
}
TOLERANCE = 1e-4  # models spell their constants with five digits or more


class FormulaToGelu(RewritePattern):
    """x * 0.5 * (1 + erf(x / sqrt(2)))  ->  gelu(x);  0.5 x (1 + tanh(...))  ->  gelu(x, "tanh"),

    in any order of factors and terms.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MulOp, rewriter: PatternRewriter, /):
        found = list(factors(op.result))
        sums = [(value, inner) for value in found if (inner := one_plus(value)) is not None]
        if len(sums) != 1:
            return
        found.remove(sums[0][0])
        x = next((value for value in found if splat_of(value) is None), None)
        form, inside = INNER[type(sums[0][1])]
        if x is None or x.type != op.result.type or x is sums[0][1].results[0]:
            return
        product = {0: 1.0}
        for value in found:
            product = multiply(product, polynomial(value, x))
        argument = polynomial(sums[0][1].operands[0], x)
        if agrees(product, {1: 0.5}) and agrees(argument, inside):
            rewriter.replace(op, graph.GeluOp(x, form))


def factors(value: SSAValue) -> Iterator[SSAValue]:
    """Yield the values whose product a value is."""
    if isinstance(value.owner, graph.MulOp):
        yield from factors(value.owner.lhs)
        yield from factors(value.owner.rhs)
    else:
        yield value


def one_plus(value: SSAValue) -> Operation | None:
    """Return the erf or tanh that a value is 1 more than."""
    if not isinstance(value.owner, graph.AddOp):
        return None
    for this, other in (value.owner.operands, reversed(value.owner.operands)):
        if splat_of(this) == 1 and type(other.owner) in INNER and other.has_one_use():
            assert isinstance(other.owner, Operation)
            return other.owner
    return None


def polynomial(value: SSAValue, x: SSAValue) -> Polynomial | None:
    """Return a value as a polynomial in x; None if it is not one, or none of few terms."""
    if value is x:
        return {1: 1.0}
    number = splat_of(value)
    if number is not None:
        return {0: float(number)}
    match value.owner:
        case graph.MulOp(lhs=lhs, rhs=rhs):
            return multiply(polynomial(lhs, x), polynomial(rhs, x))
        case graph.AddOp(lhs=lhs, rhs=rhs):
            return add(polynomial(lhs, x), polynomial(rhs, x))
        case graph.DivOp(lhs=lhs, rhs=rhs):
            divisor = splat_of(rhs)
            return multiply(polynomial(lhs, x), {0: 1 / float(divisor)} if divisor else None)
        case graph.PowOp(lhs=lhs, rhs=rhs) if splat_of(rhs) in (2, 3):
            base = polynomial(lhs, x)
            square = multiply(base, base)
            return square if splat_of(rhs) == 2 else multiply(square, base)
        case _:
            return None


def multiply(left: Polynomial | None, right: Polynomial | None) -> Polynomial | None:
    """Return the product of two polynomials; None if one is None or it has high powers."""
    if left is None or right is None or max(left) + max(right) > 8:
        return None
    product: Polynomial = {}
    for p, a in left.items():
        for q, b in right.items():
            product[p + q] = product.get(p + q, 0.0) + a * b
    return product


def add(left: Polynomial | None, right: Polynomial | None) -> Polynomial | None:
    """Return the sum of two polynomials; None if one is None."""
    if left is None or right is None:
        return None
    return {p: left.get(p, 0.0) + right.get(p, 0.0) for p in left | right}


def agrees(found: Polynomial | None, wanted: Polynomial) -> bool:
    """Return whether a polynomial has the wanted coefficients, as models spell them."""
    if found is None or {p for p, a in found.items() if a} != set(wanted):
        return False
    return all(math.isclose(found[p], a, rel_tol=TOLERANCE) for p, a in wanted.items())


class RecognizeGeluPass(ModulePass):
    """Needs: graph. Keeps: graph. Order: after canonicalize, before fuse-ops.

    The op is computed by formulas of its own, equal up to rounding.
    """

    name = "recognize-gelu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, FormulaToGelu())
