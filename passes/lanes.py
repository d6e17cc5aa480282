"""Values on the lanes of a vector loop: broadcasts, indices, distances between lanes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    UnknownLoc,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from nn_opt.dialects import loop
from nn_opt.ir.affine import Range, compact, range_of
from nn_opt.ir.resources import dense_of
from nn_opt.ir.types import shape_of, vector_type

UNKNOWN: Range = (-(1 << 40), 1 << 40)  # of an index that only the run decides
Binary = Callable[[SSAValue, SSAValue], Operation]
INDEX_ARITHMETIC: dict[AffineBinaryOpKind, Binary] = {
    AffineBinaryOpKind.Add: arith.AddiOp,
    AffineBinaryOpKind.Mul: arith.MuliOp,
}


@dataclass
class Lanes:
    """One vector loop; `vectors` holds what each value of its body is on all lanes."""

    nest: loop.ForOp
    vectors: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    broadcasts: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    ranges: dict[SSAValue, Range] = field(default_factory=dict[SSAValue, Range])

    @property
    def lanes(self) -> int:
        """The number of lanes: the loop's trips."""
        return self.nest.trips

    @property
    def lane(self) -> SSAValue:
        """The loop's variable."""
        return self.nest.index

    def varies(self, op: Operation) -> bool:
        """Return whether an operand differs from lane to lane."""
        return any(value is self.lane or value in self.vectors for value in op.operands)

    @contextmanager
    def nested(self) -> Generator[None]:
        """While active, new broadcasts are known; after it, those of before."""
        before = dict(self.broadcasts)
        yield
        self.broadcasts = before

    def emit_lanewise(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        """Put the op on vectors in the place of the op on scalars."""
        types = [vector_type(self.lanes, lane_type(result.type)) for result in op.results]
        new = type(op).create(
            operands=operands,
            result_types=types,
            properties=op.properties,
            attributes=op.attributes,
        )
        self.replace(op, new)

    def replace(self, op: Operation, new: Operation) -> None:
        """Insert `new`, whose results are `op`'s on all lanes, and drop `op`."""
        self.insert(new, op)
        for old, result in zip(op.results, new.results, strict=True):
            result.name_hint = old.name_hint
            self.vectors[old] = result
        erase(op)

    def insert(self, new: Operation, before: Operation) -> Operation:
        """Insert an op that stands for `before`, at its place."""
        block = before.parent
        assert block is not None
        if isinstance(new.location, UnknownLoc):
            new.location = before.location
        block.insert_op_before(new, before)
        return new

    def as_vector(self, value: SSAValue, before: Operation) -> SSAValue:
        """Return the value on all lanes."""
        if value is self.lane and value not in self.vectors:
            return self.iota(1, before)
        if value in self.vectors:
            return self.vectors[value]
        if value not in self.broadcasts:
            self.broadcasts[value] = self.broadcast(value, before)
        return self.broadcasts[value]

    def broadcast(self, value: SSAValue, before: Operation) -> SSAValue:
        """Return a new vector that has the value on every lane."""
        if isinstance(value.type, IndexType):
            value = self.insert(arith.IndexCastOp(value, i64), before).results[0]
        type_ = vector_type(self.lanes, value.type)
        new = vector.BroadcastOp.create(operands=[value], result_types=[type_])
        return self.insert(new, before).results[0]

    def iota(self, step: int, before: Operation) -> SSAValue:
        """Return the vector 0, step, 2 * step, ..."""
        values = [step * lane for lane in range(self.lanes)]
        return self.constant(values, before)

    def constant(self, values: Sequence[int], before: Operation) -> SSAValue:
        """Return a constant vector of indices."""
        return self.insert(arith.ConstantOp(dense_of_indices(values)), before).results[0]

    def indices(self, expr: AffineExpr, values: Sequence[SSAValue], before: Operation) -> SSAValue:
        """Return the value of an affine expression on all lanes."""
        if isinstance(expr, AffineConstantExpr):
            return self.constant([expr.value] * self.lanes, before)
        varying = {k for k, v in enumerate(values) if v is self.lane or v in self.vectors}
        if not varying & expr.used_dims():
            return self.as_vector(self.scalar_index(expr, values, before), before)
        if isinstance(expr, AffineDimExpr):
            return self.as_vector(values[expr.position], before)
        assert isinstance(expr, AffineBinaryOpExpr)
        if expr.kind in INDEX_ARITHMETIC:
            left, right = (self.indices(side, values, before) for side in (expr.lhs, expr.rhs))
            return self.insert(INDEX_ARITHMETIC[expr.kind](left, right), before).results[0]
        assert isinstance(expr.rhs, AffineConstantExpr)
        divisor = expr.rhs.value
        if expr.kind is AffineBinaryOpKind.CeilDiv:
            return self.indices((expr.lhs + (divisor - 1)) // divisor, values, before)
        shortcut = power_of_two(expr.kind, divisor)
        if shortcut is not None:
            kind, number = shortcut
            return self.combined(kind, self.indices(expr.lhs, values, before), number, before)
        return self.divided(expr, divisor, values, before)

    def divided(
        self,
        expr: AffineBinaryOpExpr,
        divisor: int,
        values: Sequence[SSAValue],
        before: Operation,
    ) -> SSAValue:
        """Return a floordiv or mod on all lanes: unsigned, of a number made positive."""
        low, _ = range_of(expr.lhs, [self.range(value) for value in values])
        periods = max(0, -(low // divisor))  # unknown numbers are taken to be above -2^40
        left = self.indices(expr.lhs + periods * divisor, values, before)
        if expr.kind is AffineBinaryOpKind.Mod:
            return self.combined(arith.RemUIOp, left, divisor, before)
        quotient = self.combined(arith.DivUIOp, left, divisor, before)
        return self.combined(arith.SubiOp, quotient, periods, before) if periods else quotient

    def combined(self, kind: Binary, left: SSAValue, right: int, before: Operation) -> SSAValue:
        """Return an op of a vector of indices and a number."""
        return self.insert(kind(left, self.constant([right] * self.lanes, before)), before).results[
            0
        ]

    def range(self, value: SSAValue) -> Range:
        """Return the bounds of an index."""
        if value is self.lane:
            return 0, self.lanes - 1
        return self.ranges.get(value, UNKNOWN)

    def scalar_index(
        self, expr: AffineExpr, values: Sequence[SSAValue], before: Operation
    ) -> SSAValue:
        """Return the value of an affine expression that is the same on all lanes."""
        if isinstance(expr, AffineDimExpr):
            return values[expr.position]
        used, local = compact([expr], values)
        return self.insert(loop.ApplyOp(local[0], used), before).results[0]


def dense_of_indices(values: Sequence[int]) -> DenseIntOrFPElementsAttr:
    """Return `dense<...> : vector<Nxi64>`."""
    data = dense_of(np.array(values, np.int64)).data
    return DenseIntOrFPElementsAttr(VectorType(i64, [len(values)]), data)


def power_of_two(kind: AffineBinaryOpKind, divisor: int) -> tuple[Binary, int] | None:
    """Return an op and its second operand that equal floordiv or mod by 1, 2, 4, ..."""
    if divisor & (divisor - 1):
        return None
    if kind is AffineBinaryOpKind.FloorDiv:
        return arith.ShRSIOp, divisor.bit_length() - 1
    return arith.AndIOp, divisor - 1


def lane_type(type_: Attribute) -> Attribute:
    """Return the element type of a vector of such values; vectors of `index` do not exist here."""
    return i64 if isinstance(type_, IndexType) else type_


def flat_step(memref: SSAValue, steps: Sequence[int]) -> int:
    """Return the distance, in elements, of places whose indices differ by `steps`."""
    total, stride = 0, 1
    for step, size in zip(reversed(steps), reversed(shape_of(memref)), strict=True):
        total += step * stride
        stride *= size
    return total


def is_one_dimensional(op: loop.LoadOp, steps: Sequence[int]) -> bool:
    """Return whether a stride alone says which index moves, so that each lane can be tested."""
    shape = shape_of(op.memref)
    moving = [(dimension, step) for dimension, step in enumerate(steps) if step]
    return not moving or moving == [loop.lane_dimension(shape, flat_step(op.memref, steps))]


def erase(op: Operation) -> None:
    """Remove an op whose results nothing reads any more, or only ops that go too."""
    op.detach()
    op.drop_all_references()
