"""The body of a compute under construction: its axes as index expressions, and reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from nn_opt.conversion.to_tensor.scalar import INDEX, Number, Scalar, working, wrapped
from nn_opt.dialects import tensor
from nn_opt.ir.affine import range_of, simplify
from nn_opt.ir.affine_text import negation
from nn_opt.ir.types import shape_of

Index = AffineExpr | Scalar | int


@dataclass(frozen=True)
class Array:
    """A tensor of the new level; `dtype` is the graph's element type, with its sign."""

    value: SSAValue
    dtype: Attribute

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.value)

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class Body:
    """The body of a compute under construction: its axes as index expressions, and reads."""

    sizes: tuple[int, ...]
    rank: int
    arguments: Sequence[SSAValue]

    @property
    def axes(self) -> list[AffineExpr]:
        """All axes, `par` first."""
        return [AffineExpr.dimension(axis) for axis in range(len(self.sizes))]

    @property
    def par(self) -> list[AffineExpr]:
        """The result's axes."""
        return self.axes[: self.rank]

    @property
    def red(self) -> list[AffineExpr]:
        """The axes reduced over."""
        return self.axes[self.rank :]

    @property
    def ranges(self) -> list[tuple[int, int]]:
        return [(0, max(size - 1, 0)) for size in self.sizes]

    def element(
        self, source: Array, indices: Sequence[Index], default: Number | None = None
    ) -> Scalar:
        """Return one element as it is stored; `default` stands for those outside."""
        operands: list[SSAValue] = []
        map = [self._operand(index, operands) for index in indices]
        if default is not None and self._inside(source, indices):
            default = None
        if default is not None:
            default = wrapped(default, source.dtype)
        op = tensor.ReadOp(source.value, operands, map, default)
        return Scalar(op.result, source.dtype)

    def read(
        self, source: Array, indices: Sequence[Index], default: Number | None = None
    ) -> Scalar:
        """Return one element, half floats widened for arithmetic."""
        return self.element(source, indices, default).cast(working(source.dtype))

    def broadcast(self, source: Array, axes: Sequence[AffineExpr] | None = None) -> Scalar:
        """Read at the trailing axes, as NumPy broadcasts."""
        return self.read(source, broadcast_indices(source, self.par if axes is None else axes))

    def index(self, expr: AffineExpr | int) -> Scalar:
        """Return an index expression as a value; its divisions see no negative number."""
        if isinstance(expr, int):
            expr = AffineExpr.constant(expr)
        return self._value(simplify(expr, self.ranges))

    def _value(self, expr: AffineExpr) -> Scalar:
        match expr:
            case AffineConstantExpr(value=value):
                return Scalar(arith.ConstantOp(IntegerAttr(value, INDEX)).result, INDEX, value)
            case AffineDimExpr(position=position):
                return Scalar(self.arguments[position], INDEX)
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add, lhs=lhs, rhs=rhs):
                return self._sum(lhs, rhs)
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul, lhs=lhs, rhs=rhs):
                return self._value(lhs) * self._value(rhs)
            case AffineBinaryOpExpr():
                return self._division(expr)
            case _:
                raise AssertionError(f"not an expression of axes: {expr}")

    def _sum(self, lhs: AffineExpr, rhs: AffineExpr) -> Scalar:
        """Return lhs + rhs; `9 - 2 * i` is no product by -2."""
        for kept, other in ((lhs, rhs), (rhs, lhs)):
            negated = negation(other)
            if negated is not None:
                return self._value(kept) - self._value(negated)
        return self._value(lhs) + self._value(rhs)

    def _division(self, expr: AffineBinaryOpExpr) -> Scalar:
        assert isinstance(expr.rhs, AffineConstantExpr)
        divisor = expr.rhs.value
        low, _ = range_of(expr.lhs, self.ranges)
        periods = max(0, -(low // divisor))
        dividend = self._value(simplify(expr.lhs + periods * divisor, self.ranges))
        if expr.kind is AffineBinaryOpKind.Mod:
            return Scalar(arith.RemUIOp(dividend.value, dividend.like(divisor).value).result, INDEX)
        quotient = arith.DivUIOp(dividend.value, dividend.like(divisor).value)
        return (
            Scalar(quotient.result, INDEX) - periods if periods else Scalar(quotient.result, INDEX)
        )

    def _operand(self, index: Index, operands: list[SSAValue]) -> AffineExpr:
        """Return the index as an expression over `operands`, which grow by what it needs."""
        if isinstance(index, int):
            return AffineExpr.constant(index)
        if isinstance(index, Scalar):
            return AffineExpr.dimension(_position(index.value, operands))
        plain = isinstance(index, AffineDimExpr)  # stays, even if the axis has one place
        expr = index if plain else simplify(index, self.ranges)
        dims = [
            AffineExpr.dimension(_position(self.arguments[axis], operands))
            if axis in expr.used_dims()
            else AffineExpr.constant(0)
            for axis in range(len(self.sizes))
        ]
        return expr.replace_dims_and_symbols(dims, ())

    def _inside(self, source: Array, indices: Sequence[Index]) -> bool:
        for index, size in zip(indices, source.shape, strict=True):
            if isinstance(index, Scalar):
                return False
            expr = AffineExpr.constant(index) if isinstance(index, int) else index
            low, high = range_of(expr, self.ranges)
            if low < 0 or high >= size:
                return False
        return True


def _position(value: SSAValue, operands: list[SSAValue]) -> int:
    if value not in operands:
        operands.append(value)
    return operands.index(value)


def broadcast_indices(source: Array, axes: Sequence[AffineExpr]) -> list[Index]:
    """Return the indices that read `source` as broadcast to the given axes."""
    trailing = axes[len(axes) - source.rank :]
    return [0 if size == 1 else axis for size, axis in zip(source.shape, trailing, strict=True)]
