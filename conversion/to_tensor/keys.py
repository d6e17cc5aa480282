"""Integers that sort as the elements of rows do."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr

from nn_opt.conversion.to_tensor.body import Array, Body
from nn_opt.conversion.to_tensor.scalar import I64, Number, Scalar, is_unsigned, width
from nn_opt.dialects.tensor import identity_of

I32 = IntegerType(32)  # of a place in a row


@dataclass(frozen=True)
class Keys:
    """Integers [rows.., n] that ascend in the wanted order; of equal ones, the first is first.

    Only the lowest bits differ, `bits` of them, among which the highest one is a sign if `signed`.
    """

    array: Array
    bits: int
    signed: bool = True

    @property
    def rows(self) -> tuple[int, ...]:
        return self.array.shape[:-1]

    @property
    def size(self) -> int:
        return self.array.shape[-1]

    @property
    def type(self) -> Attribute:
        return self.array.dtype

    @property
    def width(self) -> int:
        return width(self.type)

    @property
    def most(self) -> Number:
        """The largest key."""
        return identity_of("min", self.type)


def sortable(x: Scalar) -> Scalar:
    """Return an integer of 32 or 64 bits that is larger where x is, and largest for NaN."""
    if x.is_float:
        return _sortable_float(x)
    type_ = I64 if width(x.type) == 64 else I32
    plain = x.cast(type_)
    return plain ^ -(1 << (width(type_) - 1)) if is_unsigned(x.type) else plain


def _sortable_float(x: Scalar) -> Scalar:
    """Return the bits, those below the sign flipped in negative numbers."""
    integer = IntegerType(width(x.type))
    bits = Scalar(arith.BitcastOp(x.value, integer).result, integer)
    most = (1 << (width(x.type) - 1)) - 1
    bits = bits.compare("lt", 0).select(bits ^ most, bits)
    bits = x.compare("eq", 0).select(0, bits)
    return x.is_nan().select(most, bits)


def place_of(b: Body, expr: AffineExpr) -> Scalar:
    """Return a place as an integer of 32 bits."""
    return b.index(expr).cast(I32)


def comes_before(key: Scalar, place: Scalar, other: Scalar, at: Scalar) -> Scalar:
    """Return whether `key`, that of `place`, comes before the `other` one."""
    return key.compare("lt", other) | (key.compare("eq", other) & place.compare("lt", at))
