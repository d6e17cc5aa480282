"""Affine index expressions as text: short, and exact for negative numbers, too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from nn_opt.backends.source.language import Language
from nn_opt.dialects import loop
from nn_opt.ir.affine import Range, linear, range_of

UNKNOWN: Range = (-(1 << 40), 1 << 40)  # of an index that is no loop's


def index_range(value: SSAValue) -> Range:
    """Return the smallest and largest value of an index."""
    if isinstance(value, BlockArgument) and isinstance(op := value.owner.parent_op(), loop.ForOp):
        return 0, op.extent.value.data - 1
    return UNKNOWN


@dataclass(frozen=True)
class Indices:
    """Index values by name and range, to write expressions over them."""

    language: Language
    names: Sequence[str]
    ranges: Sequence[Range]

    def text(self, expr: AffineExpr) -> str:
        """Return an expression as a sum; it binds less tightly than a product."""
        form = linear(expr)
        text = ""
        for atom, factor in form.terms.items():
            text += self._term(atom, factor, first=not text)
        if form.constant or not text:
            text += _signed(str(abs(form.constant)), form.constant < 0, first=not text)
        return text

    def _term(self, atom: AffineExpr, factor: int, *, first: bool) -> str:
        word = self._atom(atom)
        if abs(factor) != 1:
            word = f"{abs(factor)} * {word}"
        return _signed(word, factor < 0, first=first)

    def _atom(self, atom: AffineExpr) -> str:
        match atom:
            case AffineDimExpr(position=position):
                return self.names[position]
            case AffineBinaryOpExpr(kind=kind, lhs=inner, rhs=AffineConstantExpr(value=divisor)):
                natural = range_of(inner, self.ranges)[0] >= 0
                text = self.text(inner)
                operand = text if text.isidentifier() else f"({text})"
                if kind is AffineBinaryOpKind.FloorDiv:
                    return self.language.divide_index(operand, divisor, is_natural=natural)
                if kind is AffineBinaryOpKind.Mod:
                    return self.language.modulo_index(operand, divisor, is_natural=natural)
            case _:
                pass
        raise AssertionError(f"verified IR has no {atom} in an index")

    def offset(self, shape: Sequence[int], results: Sequence[AffineExpr]) -> str:
        """Return the place of an element in row-major order."""
        total = AffineExpr.constant(0)
        for axis, expr in enumerate(results):
            total = total + expr * math.prod(shape[axis + 1 :])
        return self.text(total)

    def inside(self, shape: Sequence[int], results: Sequence[AffineExpr]) -> list[str] | None:
        """Return the conditions, of those that may fail, for an element to be in its buffer.

        None: it surely is not.
        """
        conditions: list[str] = []
        for size, expr in zip(shape, results, strict=True):
            low, high = range_of(expr, self.ranges)
            if high < 0 or low >= size:
                return None
            if low < 0:
                conditions.append(self.not_negative(expr))
            if high >= size:
                conditions.append(f"{self.text(expr)} < {size}")
        return conditions

    def conditions(self, results: Sequence[AffineExpr]) -> list[str] | None:
        """Return the conditions, of those that may fail, that expressions are not negative.

        None: one surely is.
        """
        conditions: list[str] = []
        for expr in results:
            low, high = range_of(expr, self.ranges)
            if high < 0:
                return None
            if low < 0:
                conditions.append(self.not_negative(expr))
        return conditions

    def not_negative(self, expr: AffineExpr) -> str:
        """Return the condition that an expression is 0 or more, without minus signs if it can be.

        -i + 15 >= 0  ->  i < 16; both sides are as small as the expression's terms.
        """
        form = linear(expr)
        if not form.terms or any(factor > 0 for factor in form.terms.values()):
            return f"{self.text(expr)} >= 0"
        other = self.text(AffineExpr.constant(form.constant) - expr)
        return f"{other} < {form.constant + 1}" if form.constant else f"{other} <= 0"


def _signed(word: str, negative: bool, *, first: bool) -> str:
    if first:
        return f"-{word}" if negative else word
    return f" - {word}" if negative else f" + {word}"
