"""Index values in progress: sums of known machine values, folded as loops are expanded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import SSAValue

from nn_opt.ir.affine import Range


@dataclass(frozen=True, eq=False)
class Atom:
    """An i64 in a register: a loop's variable, or what was computed from some."""

    value: SSAValue
    place: tuple[int, bool]  # where it is known, see code.Place
    range: Range
    serial: int
    loop: str  # the loop's name if it is one's variable


@dataclass(frozen=True)
class Form:
    """sum(atom * factor) + constant, the atoms that are known earlier first."""

    terms: tuple[tuple[Atom, int], ...]
    constant: int

    @property
    def range(self) -> Range:
        """The smallest and the largest value."""
        low = high = self.constant
        for atom, factor in self.terms:
            first, last = factor * atom.range[0], factor * atom.range[1]
            low, high = low + min(first, last), high + max(first, last)
        return low, high


def constant_form(value: int) -> Form:
    """Return the form of a number."""
    return Form((), value)


def form_of(factors: Mapping[Atom, int], constant: int) -> Form:
    """Return a form with its terms in order and without zeros."""
    terms = [(atom, factor) for atom, factor in factors.items() if factor]
    if len(terms) > 1:
        terms.sort(key=lambda term: (term[0].place, term[0].serial))
    return Form(tuple(terms), constant)


def combine(parts: list[tuple[Form, int]], constant: int = 0) -> Form:
    """Return sum(form * factor) + constant."""
    factors: dict[Atom, int] = {}
    for form, weight in parts:
        constant += weight * form.constant
        for atom, factor in form.terms:
            factors[atom] = factors.get(atom, 0) + weight * factor
    return form_of(factors, constant)
