"""Upstream ops for index arithmetic, and where buffers are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, LocationAttr, i1, i8, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from nn_opt.ir.types import element_type, memref_type

INDEX = IndexType()
Binary = Callable[[SSAValue, SSAValue], Operation]
ARITHMETIC: dict[AffineBinaryOpKind, Binary] = {
    AffineBinaryOpKind.Add: arith.AddiOp,
    AffineBinaryOpKind.Mul: arith.MuliOp,
    AffineBinaryOpKind.FloorDiv: arith.FloorDivSIOp,
    AffineBinaryOpKind.CeilDiv: arith.CeilDivSIOp,
}


def stored(element: Attribute) -> Attribute:
    """Return the element type of a buffer in memory: MLIR keeps no bools there."""
    return i8 if element == i1 else element


@dataclass(frozen=True)
class Place:
    """Where a buffer is: a memref of its shape, or, with an offset, part of a flat memref."""

    memref: SSAValue
    element: Attribute  # of the loop level: a bool is an i8 in memory
    shape: tuple[int, ...]
    offset: SSAValue | None = None

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Code:
    """Appends ops to a block, at the location of the op that is converted."""

    block: Block
    location: LocationAttr

    def at(self, op: Operation) -> Code:
        """Return the same with another op's location."""
        return replace(self, location=op.location)

    def inside(self, block: Block) -> Code:
        """Return the same for another block."""
        return replace(self, block=block)

    def emit(self, op: Operation) -> SSAValue:
        """Append an op; return its first result."""
        self.act(op)
        return op.results[0]

    def act(self, op: Operation) -> None:
        """Append an op that has no result."""
        op.location = self.location
        self.block.add_op(op)

    def constant(self, number: int) -> SSAValue:
        """Return an index that is known."""
        return self.emit(arith.ConstantOp(IntegerAttr(number, INDEX)))

    def index(self, expr: AffineExpr, values: Sequence[SSAValue]) -> SSAValue:
        """Return the value of an affine expression."""
        match expr:
            case AffineConstantExpr(value=value):
                return self.constant(value)
            case AffineDimExpr(position=position):
                return values[position]
            case AffineBinaryOpExpr(kind=kind):
                left, right = self.index(expr.lhs, values), self.index(expr.rhs, values)
                if kind is AffineBinaryOpKind.Mod:
                    return self.modulo(left, right)
                return self.emit(ARITHMETIC[kind](left, right))
            case _:
                raise AssertionError(f"an access has no symbols: {expr}")

    def modulo(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """Return left mod right, which is never negative."""
        quotient = self.emit(arith.FloorDivSIOp(left, right))
        return self.emit(arith.SubiOp(left, self.emit(arith.MuliOp(quotient, right))))

    def indices(self, map: AffineMap, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Return the values of all results of an affine map."""
        return [self.index(expr, values) for expr in map.results]

    def all_of(self, conditions: Sequence[SSAValue]) -> SSAValue:
        """Return whether all conditions, at least one, hold."""
        first, *rest = conditions
        for condition in rest:
            first = self.emit(arith.AndIOp(first, condition))
        return first

    def at_least_0(self, values: Sequence[SSAValue]) -> SSAValue:
        """Return whether all values are >= 0."""
        zero = self.constant(0)
        return self.all_of([self.emit(arith.CmpiOp(value, zero, "sge")) for value in values])

    def offset(self, indices: Sequence[SSAValue], shape: Sequence[int]) -> SSAValue:
        """Return the row-major offset of an element."""
        total: SSAValue | None = None
        for index, size in zip(indices, shape, strict=True):
            if total is None:
                total = index
                continue
            scaled = self.emit(arith.MuliOp(total, self.constant(size)))
            total = self.emit(arith.AddiOp(scaled, index))
        return self.constant(0) if total is None else total

    def reshape(self, place: Place, shape: Sequence[int]) -> SSAValue:
        """Return a memref of another shape at a place that has no offset."""
        type_ = memref_type(shape, element_type(place.memref))
        if place.memref.type == type_:
            return place.memref
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        static = [DenseArrayBase.from_list(i64, list(v)) for v in ([0], shape, strides)]
        return self.emit(
            memref.ReinterpretCastOp(place.memref, [], [], [], *static, result_type=type_)
        )

    def flat(self, place: Place) -> SSAValue:
        """Return the one-dimensional memref that a place is in."""
        if place.offset is not None:
            return place.memref
        return self.reshape(place, [place.size])

    def bounds(self, trips: int) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Return the bounds and the step of a loop."""
        return self.constant(0), self.constant(trips), self.constant(1)

    def loop(self, trips: int) -> tuple[Code, SSAValue]:
        """Append a loop; return what appends to its body, and its index."""
        body = Block(arg_types=[INDEX])
        low, high, step = self.bounds(trips)
        self.act(scf.ForOp(low, high, step, [], body))
        return self.inside(body), body.args[0]
