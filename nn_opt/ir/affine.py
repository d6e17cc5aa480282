"""Index expressions: their linear form, their range, and shorter equals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from nn_opt.ir.memory import remembered


@dataclass(frozen=True)
class Linear:
    """sum(coefficient * atom) + constant; an atom is a dimension, a floordiv or a mod."""

    terms: Mapping[AffineExpr, int]
    constant: int

    def coefficient(self, dimension: int) -> int:
        """Return the factor of a dimension; 0 if it is absent."""
        return self.terms.get(AffineDimExpr(dimension), 0)

    def expr(self) -> AffineExpr:
        """Return the expression again, dimensions in order."""
        terms = [
            atom if factor == 1 else atom * factor
            for atom, factor in sorted(self.terms.items(), key=_order)
        ]
        if self.constant or not terms:
            terms.append(AffineExpr.constant(self.constant))
        return reduce(add, terms)


def _order(term: tuple[AffineExpr, int]) -> tuple[int, str]:
    atom = term[0]
    text = f"d{atom.position}" if isinstance(atom, AffineDimExpr) else str(atom)
    return len(text), text  # d2 before d10


@remembered
def linear(expr: AffineExpr) -> Linear:
    """Return the linear form of an expression; floordiv and mod become opaque atoms."""
    terms: dict[AffineExpr, int] = {}
    constant = _collect(expr, 1, terms)
    return Linear({atom: factor for atom, factor in terms.items() if factor}, constant)


def is_sum(expr: AffineExpr) -> bool:
    """Return whether an expression is a sum of dimensions, without floordiv or mod."""
    return all(isinstance(atom, AffineDimExpr) for atom in linear(expr).terms)


def _collect(expr: AffineExpr, factor: int, terms: dict[AffineExpr, int]) -> int:
    match expr:
        case AffineConstantExpr(value=value):
            return factor * value
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add, lhs=left, rhs=right):
            return _collect(left, factor, terms) + _collect(right, factor, terms)
        case AffineBinaryOpExpr(
            kind=AffineBinaryOpKind.Mul, lhs=inner, rhs=AffineConstantExpr(value=value)
        ):
            return _collect(inner, factor * value, terms)
        case _:
            terms[expr] = terms.get(expr, 0) + factor
            return 0


Range = tuple[int, int]  # smallest and largest value, both included
ANYTHING: Range = (-(1 << 62), 1 << 62)  # of an index that is data


def range_of(expr: AffineExpr, dimensions: Sequence[Range]) -> Range:
    """Return bounds of an expression, given those of each dimension; exact for linear forms."""
    form = linear(expr)
    low = high = form.constant
    for atom, factor in form.terms.items():
        first, last = _atom_range(atom, dimensions)
        low += min(factor * first, factor * last)
        high += max(factor * first, factor * last)
    return low, high


def _atom_range(atom: AffineExpr, dimensions: Sequence[Range]) -> Range:
    match atom:
        case AffineDimExpr(position=position):
            return dimensions[position]
        case AffineBinaryOpExpr(lhs=inner, rhs=AffineConstantExpr(value=value)) if value > 0:
            low, high = range_of(inner, dimensions)
            if atom.kind is AffineBinaryOpKind.FloorDiv:
                return low // value, high // value
            if atom.kind is AffineBinaryOpKind.CeilDiv:
                return -(-low // value), -(-high // value)
            same_period = low // value == high // value
            return (low % value, high % value) if same_period else (0, value - 1)
        case _:
            raise AssertionError(f"not an affine expression: {atom}")


def same_sign_in(expr: AffineExpr, position: int, count: int) -> bool:
    """Return whether a dimension of 0 ... count - 1 never decides whether an expression is >= 0.

    So it is of `15 - 4 * a - b` for b < 4: the rest is a multiple of 4, plus 3.
    """
    form = linear(expr)
    pace = form.coefficient(position)
    rest = {atom: f for atom, f in form.terms.items() if atom != AffineDimExpr(position)}
    if any(position in atom.used_dims() for atom in rest):
        return False
    if any(factor % count for factor in rest.values()):
        return pace == 0
    return pace == 0 or (pace, form.constant % count) in ((-1, count - 1), (1, 0))


def simplify(expr: AffineExpr, dimensions: Sequence[Range]) -> AffineExpr:
    """Return an equal, shorter expression: constants gathered, needless floordiv and mod gone.

    `(a * f + r) floordiv f` becomes `a` and `(a * f + r) mod f` becomes `r` where 0 <= r < f.
    """
    if isinstance(expr, AffineDimExpr):
        return _simplify_atom(expr, dimensions)
    return _simplified(linear(expr), dimensions).expr()


def _simplified(form: Linear, dimensions: Sequence[Range]) -> Linear:
    terms: dict[AffineExpr, int] = {}
    constant = form.constant
    for atom, factor in form.terms.items():
        simpler = _simplify_atom(atom, dimensions)
        if simpler is atom:
            terms[atom] = terms.get(atom, 0) + factor
            continue
        inner = linear(simpler)
        constant += factor * inner.constant
        for part, weight in inner.terms.items():
            terms[part] = terms.get(part, 0) + factor * weight
    constant += _rejoin(terms, dimensions)
    return Linear({atom: factor for atom, factor in terms.items() if factor}, constant)


def _rejoin(terms: dict[AffineExpr, int], dimensions: Sequence[Range]) -> int:
    """Turn `k * c * (e floordiv c) + k * (e mod c)` into `k * e`; return the constant it adds."""
    added = 0
    pending = list(terms)
    while pending:
        atom = pending.pop()
        if not isinstance(atom, AffineBinaryOpExpr) or atom.kind is not AffineBinaryOpKind.Mod:
            continue
        assert isinstance(atom.rhs, AffineConstantExpr)
        factor = terms.get(atom, 0)
        quotient = _quotient_of(atom, terms, dimensions) if factor else None
        if quotient is None:
            continue
        del terms[atom], terms[quotient]
        whole = linear(atom.lhs)
        added += factor * whole.constant
        for part, weight in whole.terms.items():
            terms[part] = terms.get(part, 0) + factor * weight
        pending = list(terms)
    return added


def _quotient_of(
    remainder: AffineBinaryOpExpr, terms: Mapping[AffineExpr, int], dimensions: Sequence[Range]
) -> AffineExpr | None:
    """Return the term `c * (e floordiv c)` that a term `e mod c` has, however it is written."""
    assert isinstance(remainder.rhs, AffineConstantExpr)
    divisor = remainder.rhs.value
    factor = terms[remainder] * divisor
    candidates = [atom for atom, f in terms.items() if f == factor]
    if not candidates:
        return None
    merged = _merged(floordiv(remainder.lhs, divisor))
    forms = {merged, _simplify_atom(merged, dimensions)}
    return next((atom for atom in candidates if atom in forms or _merged(atom) in forms), None)


def _merged(expr: AffineExpr) -> AffineExpr:
    """Return `(4 * a + b floordiv 4) floordiv 3` as `(16 * a + b) floordiv 12`: equal for all."""
    match expr:
        case AffineBinaryOpExpr(
            kind=AffineBinaryOpKind.FloorDiv, lhs=inner, rhs=AffineConstantExpr(value=divisor)
        ):
            form = linear(inner)
        case _:
            return expr
    for atom, factor in form.terms.items():
        if factor == 1 and isinstance(atom, AffineBinaryOpExpr):
            if atom.kind is AffineBinaryOpKind.FloorDiv:
                assert isinstance(atom.rhs, AffineConstantExpr)
                unit = atom.rhs.value
                rest = Linear({a: f for a, f in form.terms.items() if a != atom}, form.constant)
                whole = linear(rest.expr() * unit + atom.lhs)
                return _merged(whole.expr() // (divisor * unit))
    return expr


def floordiv(expr: AffineExpr, divisor: int) -> AffineExpr:
    """Return expr floordiv divisor, nested divisions and remainders merged."""
    match expr:
        case AffineBinaryOpExpr(
            kind=AffineBinaryOpKind.FloorDiv, lhs=inner, rhs=AffineConstantExpr(value=value)
        ):
            return floordiv(inner, value * divisor)
        case AffineBinaryOpExpr(
            kind=AffineBinaryOpKind.Mod, lhs=inner, rhs=AffineConstantExpr(value=value)
        ) if value % divisor == 0:
            return modulo(floordiv(inner, divisor), value // divisor)
        case _:
            return expr if divisor == 1 else expr // divisor


def modulo(expr: AffineExpr, divisor: int) -> AffineExpr:
    """Return expr mod divisor, nested remainders merged."""
    match expr:
        case AffineBinaryOpExpr(
            kind=AffineBinaryOpKind.Mod, lhs=inner, rhs=AffineConstantExpr(value=value)
        ) if value % divisor == 0:
            return modulo(inner, divisor)
        case _:
            return AffineExpr.constant(0) if divisor == 1 else expr % divisor


def flatten(
    exprs: Sequence[AffineExpr], shape: Sequence[int], dimensions: Sequence[Range]
) -> AffineExpr:
    """Return the row-major offset of indices in a buffer of the given shape, simplified."""
    return flat_form(exprs, shape, dimensions).expr()


def flat_form(
    exprs: Sequence[AffineExpr], shape: Sequence[int], dimensions: Sequence[Range]
) -> Linear:
    """Return the linear form of `flatten`."""
    terms: dict[AffineExpr, int] = {}
    constant, stride = 0, 1
    for expr, size in reversed(list(zip(exprs, shape, strict=True))):
        constant += _collect(expr, stride, terms)
        stride *= size
    return _simplified(Linear(terms, constant), dimensions)


def _simplify_atom(atom: AffineExpr, dimensions: Sequence[Range]) -> AffineExpr:
    if isinstance(atom, AffineDimExpr):
        low, high = dimensions[atom.position]
        return AffineExpr.constant(low) if low == high else atom
    assert isinstance(atom, AffineBinaryOpExpr)
    inner = simplify(atom.lhs, dimensions)
    assert isinstance(atom.rhs, AffineConstantExpr)
    divisor = atom.rhs.value
    multiple, rest = _split_multiple(linear(inner), divisor)
    low, high = range_of(rest, dimensions)
    if atom.kind is AffineBinaryOpKind.CeilDiv:
        return inner.ceil_div(divisor)
    if low // divisor == high // divisor:  # the rest never crosses a multiple of the divisor
        quotient = low // divisor
        if atom.kind is AffineBinaryOpKind.FloorDiv:
            return multiple + quotient
        return rest - quotient * divisor
    unit, coarse, fine = _split_unit(linear(rest), divisor, dimensions)
    if atom.kind is AffineBinaryOpKind.FloorDiv:
        return multiple + floordiv(coarse, divisor // unit)
    return modulo(coarse, divisor // unit) * unit + fine


def _split_unit(
    form: Linear, divisor: int, dimensions: Sequence[Range]
) -> tuple[int, AffineExpr, AffineExpr]:
    """Return (u, c, f) with form == u * c + f, u a factor of the divisor and 0 <= f < u.

    Then floordiv and mod by the divisor see c alone, by divisor / u; u is 1 where nothing fits.
    """
    units = {math.gcd(divisor, factor) for factor in form.terms.values()}
    for unit in sorted(units - {1}, reverse=True):
        coarse = {atom: f // unit for atom, f in form.terms.items() if f % unit == 0}
        fine = {atom: f for atom, f in form.terms.items() if f % unit}
        rest = Linear(fine, form.constant % unit).expr()
        low, high = range_of(rest, dimensions)
        if low >= 0 and high < unit:
            return unit, Linear(coarse, form.constant // unit).expr(), rest
    return 1, form.expr(), AffineExpr.constant(0)


def _split_multiple(form: Linear, divisor: int) -> tuple[AffineExpr, AffineExpr]:
    """Return (q, r) with form == q * divisor + r, whole terms moved to q where they divide."""
    whole = {atom: factor for atom, factor in form.terms.items() if factor % divisor == 0}
    rest = {atom: factor for atom, factor in form.terms.items() if factor % divisor}
    quotient = Linear({a: f // divisor for a, f in whole.items()}, form.constant // divisor)
    return quotient.expr(), Linear(rest, form.constant % divisor).expr()


def substitute(map: AffineMap, replacements: Sequence[AffineExpr], dims: int) -> AffineMap:
    """Return the map with each dimension replaced by an expression over `dims` dimensions."""
    return map.replace_dims_and_symbols(replacements, (), dims, 0)


def compact(
    exprs: Sequence[AffineExpr], values: Sequence[SSAValue]
) -> tuple[list[SSAValue], list[AffineExpr]]:
    """Return those of the values that expressions use, and the expressions over these alone."""
    used = sorted({dim for expr in exprs for dim in expr.used_dims()})
    fresh = [AffineExpr.constant(0)] * len(values)
    for position, dim in enumerate(used):
        fresh[dim] = AffineExpr.dimension(position)
    local = [expr.replace_dims_and_symbols(fresh, ()) for expr in exprs]
    return [values[dim] for dim in used], local
