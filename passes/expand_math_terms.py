"""Arithmetic on floats and their bits, the same for scalars and vectors, as ops being built."""

from __future__ import annotations

import math as numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerType,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from nn_opt.dialects import loop
from nn_opt.ir.literals import Scalar, scalar_attr
from nn_opt.ir.types import element_type, is_vector, lanes_of, vector_type

INFINITY = numbers.inf
NAN = numbers.nan
ONE_BITS = 0x3F800000  # 1.0 in binary32
MANTISSA_BITS = 23


def like(type_: Attribute, element: Attribute) -> Attribute:
    """Return the scalar or vector type with another element type."""
    lanes = lanes_of(type_)
    return element if lanes is None else vector_type(lanes, element)


def constant(value: Scalar, type_: Attribute) -> SSAValue:
    """Return a number, in every lane if the type is a vector."""
    attribute = scalar_attr(value, element_type(type_))
    if is_vector(type_):
        splat: Any = DenseIntOrFPElementsAttr.from_list  # its types know no variable element
        return arith.ConstantOp(splat(type_, [value]), type_).result
    return arith.ConstantOp(attribute).result


@dataclass(frozen=True, eq=False)
class Term:
    """A value with operators; a plain number takes the type of the other side."""

    value: SSAValue

    @property
    def type(self) -> Attribute:
        return self.value.type

    @property
    def is_integer(self) -> bool:
        return isinstance(element_type(self.type), IntegerType)

    def like(self, other: Term | Scalar) -> Term:
        """Return `other`, made a constant of this type if it is a number."""
        return other if isinstance(other, Term) else Term(constant(other, self.type))

    def _with(self, other: Term | Scalar, real: type, whole: type) -> Term:
        kind = whole if self.is_integer else real
        return Term(kind(self.value, self.like(other).value).result)

    def __add__(self, other: Term | Scalar) -> Term:
        return self._with(other, arith.AddfOp, arith.AddiOp)

    def __sub__(self, other: Term | Scalar) -> Term:
        return self._with(other, arith.SubfOp, arith.SubiOp)

    def __mul__(self, other: Term | Scalar) -> Term:
        return self._with(other, arith.MulfOp, arith.MuliOp)

    def __rsub__(self, other: Scalar) -> Term:
        return self.like(other) - self

    def __rtruediv__(self, other: Scalar) -> Term:
        return Term(arith.DivfOp(self.like(other).value, self.value).result)

    def __truediv__(self, other: Term) -> Term:
        return Term(arith.DivfOp(self.value, other.value).result)

    def __neg__(self) -> Term:
        return Term(arith.NegfOp(self.value).result)

    def __abs__(self) -> Term:
        return Term(math.AbsFOp(self.value).result)

    def __lshift__(self, bits: int) -> Term:
        return Term(arith.ShLIOp(self.value, self.like(bits).value).result)

    def __rshift__(self, bits: int) -> Term:
        """Shift integers to the right, the sign stays."""
        return Term(arith.ShRSIOp(self.value, self.like(bits).value).result)

    def __and__(self, other: Term | int) -> Term:
        return Term(arith.AndIOp(self.value, self.like(other).value).result)

    def __or__(self, other: Term) -> Term:
        return Term(arith.OrIOp(self.value, other.value).result)

    def __xor__(self, other: Term) -> Term:
        return Term(arith.XOrIOp(self.value, other.value).result)

    def shift_right(self, bits: int) -> Term:
        """Shift integers to the right, zeros come in."""
        return Term(arith.ShRUIOp(self.value, self.like(bits).value).result)

    def fma(self, factor: Term | Scalar, addend: Term | Scalar) -> Term:
        """Return self * factor + addend, rounded once."""
        return Term(math.FmaOp(self.value, self.like(factor).value, self.like(addend).value).result)

    def polynomial(self, coefficients: Sequence[float]) -> Term:
        """Return the polynomial with these coefficients, the highest power's first."""
        total = self.like(coefficients[0])
        for coefficient in coefficients[1:]:
            total = total.fma(self, coefficient)
        return total

    def bits(self) -> Term:
        """Return the bits of a float as an integer."""
        integer = i64 if element_type(self.type) == f64 else i32
        return Term(arith.BitcastOp(self.value, like(self.type, integer)).result)

    def from_bits(self) -> Term:
        """Return the float with these bits."""
        float_ = f64 if element_type(self.type) == i64 else f32
        return Term(arith.BitcastOp(self.value, like(self.type, float_)).result)

    def converted(self, element: Attribute) -> Term:
        """Return a float as another one, rounded if that is narrower."""
        if element_type(self.type) == element:
            return self
        wider = element == f64 or (element_type(self.type) != f64 and element == f32)
        kind = arith.ExtFOp if wider else arith.TruncFOp
        return Term(kind(self.value, like(self.type, element)).result)

    def to_double(self) -> Term:
        return self.converted(f64)

    def to_single(self) -> Term:
        return self.converted(f32)

    def to_float(self) -> Term:
        """Return an integer as a float."""
        return Term(
            arith.SIToFPOp.build(operands=[self.value], result_types=[like(self.type, f32)]).result
        )

    def ldexp(self, exponent: Term) -> Term:
        """Return self * 2^exponent, rounded once."""
        return Term(loop.LdexpOp(self.value, exponent.value).result)

    def round_even(self) -> Term:
        """Return the nearest integer, still a float."""
        return Term(math.RoundEvenOp(self.value).result)

    def truncated(self) -> Term:
        """Return the integer towards zero, still a float."""
        return Term(math.TruncOp(self.value).result)

    def sqrt(self) -> Term:
        return Term(math.SqrtOp(self.value).result)

    def sign_of(self, other: Term) -> Term:
        """Return this magnitude with the sign of another."""
        return Term(math.CopySignOp(self.value, other.value).result)

    def __invert__(self) -> Term:
        return self ^ self.like(1)

    def compare(self, word: str, other: Term | Scalar) -> Term:
        """Return where `self word other` holds, for a word such as `olt`."""
        return Term(arith.CmpfOp(self.value, self.like(other).value, word).result)

    def has_bits(self, mask: int) -> Term:
        """Return where an integer has any of these bits."""
        masked = self & mask
        return Term(arith.CmpiOp(masked.value, self.like(0).value, "ne").result)

    def at_most(self, bound: Scalar) -> Term:
        """Return the smaller of both; NaN stays (one instruction on x86: min(bound, x))."""
        limit = self.like(bound)
        return limit.compare("olt", self).choose(limit, self)

    def at_least(self, bound: Scalar) -> Term:
        """Return the larger of both; NaN stays."""
        limit = self.like(bound)
        return limit.compare("ogt", self).choose(limit, self)

    def choose(self, then: Term, otherwise: Term) -> Term:
        """Return `then` where this condition holds."""
        op = arith.SelectOp(self.value, then.value, otherwise.value)
        return Term(op.result)
