"""After how many values of a variable two accesses are to each other as they were."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from nn_opt.ir.affine import linear
from nn_opt.passes.thread_touches import Terms


def period_of(first: Terms, second: Terms, value: SSAValue, *, bare: bool) -> int | None:
    """Return after how many values of a variable two places are as they were to each other.

    1 if it adds the same to both; None if they never are. bare: quotients and remainders of it
    alone that are in both places are left out.
    """
    period, factors = 1, set[int]()
    same = bare and _alone(first, value) == _alone(second, value)
    for expr, used in (first, second):
        if value not in used:
            factors.add(0)
            continue
        dimension = used.index(value)
        form = linear(expr)
        factors.add(form.coefficient(dimension))
        for atom in form.terms:
            if isinstance(atom, AffineDimExpr) or dimension not in atom.used_dims():
                continue
            if same and atom.used_dims() == {dimension}:
                continue
            again = _repeats_after(atom, dimension)
            if again is None:
                return None
            period = math.lcm(period, again)
    return period if len(factors) == 1 else None


def _alone(terms: Terms, value: SSAValue) -> dict[AffineExpr, int]:
    """Return the quotients and remainders of one variable alone, as of dimension 0, and factors."""
    expr, used = terms
    if value not in used:
        return {}
    dimension = used.index(value)
    here = [AffineExpr.dimension(0)] * len(used)
    return {
        atom.replace_dims_and_symbols(here, ()): factor
        for atom, factor in linear(expr).terms.items()
        if not isinstance(atom, AffineDimExpr) and atom.used_dims() == {dimension}
    }


def _repeats_after(atom: AffineExpr, dimension: int) -> int | None:
    """Return after how many values of a dimension an atom repeats; None if it never does."""
    if not isinstance(atom, AffineBinaryOpExpr) or atom.kind is not AffineBinaryOpKind.Mod:
        return None
    assert isinstance(atom.rhs, AffineConstantExpr)
    inner = linear(atom.lhs)
    if any(not isinstance(a, AffineDimExpr) and dimension in a.used_dims() for a in inner.terms):
        return None
    return atom.rhs.value // math.gcd(atom.rhs.value, inner.coefficient(dimension))
