"""What a kernel's indices are: functions of ids and loop variables, and which differ by thread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from nn_opt.dialects import gpu, loop
from nn_opt.ir.affine import Range, range_of
from nn_opt.ir.types import memory_space
from nn_opt.reference.places import compiled

UNKNOWN: Range = (-(1 << 40), 1 << 40)
MOST_POINTS = 1 << 20  # that are counted through
UNIFORM = (gpu.AllReduceOp,)  # give all threads of a block the same
VARYING = (  # may give each thread another value, whatever they are given
    gpu.AtomicOp,
    gpu.BallotOp,
    gpu.GlobalIdOp,
    gpu.LaneIdOp,
    gpu.RotateOp,
    gpu.ShuffleOp,
    gpu.SubgroupBroadcastOp,
    gpu.SubgroupIdOp,
    gpu.SubgroupReduceOp,
    gpu.ThreadIdOp,
)


class Source(Enum):
    """What a variable of an index is."""

    THREAD = auto()
    BLOCK = auto()
    LOOP = auto()
    DATA = auto()  # read, or computed otherwise; the same for all threads
    OWN = auto()  # such a value that each thread may have another one of


@dataclass(frozen=True)
class Guard:
    """A condition around an op: an expression that is >= 0 where it is done."""

    op: loop.IfOp
    expr: AffineExpr


@dataclass
class Values:
    """The indices of a kernel as expressions over variables; the first three are its threads."""

    kernel: gpu.FuncOp
    ranges: list[Range] = field(default_factory=list[Range])
    sources: list[Source] = field(default_factory=list[Source])
    meanings: dict[SSAValue, AffineExpr] = field(default_factory=dict[SSAValue, AffineExpr])
    varying: set[SSAValue] = field(default_factory=set[SSAValue])

    def __post_init__(self) -> None:
        threads = self.kernel.block
        for axis in range(3):
            self._variable(Source.THREAD, UNKNOWN if threads is None else (0, threads[axis] - 1))
        for axis in range(3):
            grid = self.kernel.grid
            self._variable(Source.BLOCK, UNKNOWN if grid is None else (0, grid[axis] - 1))
        self._visit(self.kernel.body.block)

    def _variable(self, source: Source, range_: Range) -> AffineExpr:
        self.ranges.append(range_)
        self.sources.append(source)
        return AffineExpr.dimension(len(self.ranges) - 1)

    def resolve(self, expr: AffineExpr, values: Sequence[SSAValue]) -> AffineExpr:
        """Return an expression over values as one over the variables."""
        return expr.replace_dims_and_symbols([self._meaning(value) for value in values], ())

    def _meaning(self, value: SSAValue) -> AffineExpr:
        if value not in self.meanings:
            own = Source.OWN if value in self.varying else Source.DATA
            self.meanings[value] = self._variable(own, UNKNOWN)
        return self.meanings[value]

    def _visit(self, block: Block) -> None:
        for op in block.ops:
            self._define(op)
            for region in op.regions:
                for inner in region.blocks:
                    self._visit(inner)

    def _define(self, op: Operation) -> None:
        match op:
            case gpu.ThreadIdOp() | gpu.BlockIdOp() | gpu.GlobalIdOp():
                self.meanings[op.result] = self._id(op)
            case gpu.BlockDimOp() | gpu.GridDimOp():
                sizes = self.kernel.block if isinstance(op, gpu.BlockDimOp) else self.kernel.grid
                if sizes is not None:
                    self.meanings[op.result] = AffineExpr.constant(sizes[op.axis])
            case loop.ForOp():
                last = max(op.trips - 1, 0)
                self.meanings[op.index] = self._variable(Source.LOOP, (0, last))
            case loop.ApplyOp():
                self.meanings[op.result] = self.resolve(op.map.data.results[0], op.indices)
            case arith.ConstantOp(value=IntegerAttr(value=value)) if op.result.type == IndexType():
                self.meanings[op.result] = AffineExpr.constant(value.data)
            case _:
                pass
        if self._varies(op):
            self.varying.update(op.results)

    def _id(self, op: gpu.ThreadIdOp | gpu.BlockIdOp | gpu.GlobalIdOp) -> AffineExpr:
        thread, block = AffineExpr.dimension(op.axis), AffineExpr.dimension(3 + op.axis)
        if isinstance(op, gpu.ThreadIdOp):
            return thread
        if isinstance(op, gpu.BlockIdOp):
            return block
        sizes = self.kernel.block
        if sizes is None:
            return self._variable(Source.OWN, UNKNOWN)
        return block * sizes[op.axis] + thread

    def _varies(self, op: Operation) -> bool:
        """Return whether an op may give each thread another result."""
        if isinstance(op, UNIFORM):
            return False
        if isinstance(op, VARYING):
            return True
        if isinstance(op, loop.LoadOp | loop.GatherOp):
            if memory_space(op.memref) in ("stack", "register"):
                return True
        return any(self._differs(value) for value in op.operands)

    def _differs(self, value: SSAValue) -> bool:
        if value in self.varying:
            return True
        expr = self.meanings.get(value)
        return expr is not None and any(self._by_thread(dim) for dim in expr.used_dims())

    def _by_thread(self, dim: int) -> bool:
        return self.sources[dim] in (Source.THREAD, Source.OWN)

    def by_thread(self, expr: AffineExpr) -> bool:
        """Return whether an expression may differ between threads of a block."""
        return any(self._by_thread(dim) for dim in expr.used_dims())

    def guards(self, op: Operation) -> list[Guard] | None:
        """Return the conditions around an op that may not hold; None if one never holds."""
        found: list[Guard] = []
        around = op.parent_op()
        while around is not None and around is not self.kernel:
            if isinstance(around, loop.IfOp):
                for condition in around.conditions.data.results:
                    guard = Guard(around, self.resolve(condition, around.indices))
                    low, high = range_of(guard.expr, self.ranges)
                    if high < 0:
                        return None
                    if low < 0:
                        found.append(guard)
            around = around.parent_op()
        return found

    def points(self, exprs: Sequence[AffineExpr]) -> Points | None:
        """Return all that the variables of expressions can be; None if that is too much."""
        dims = sorted({dim for expr in exprs for dim in expr.used_dims()} - {0, 1, 2})
        if any(self.sources[dim] in (Source.DATA, Source.OWN) for dim in dims):
            return None
        sizes = [self.ranges[dim][1] + 1 for dim in dims]
        if self.kernel.block is None or any(self.ranges[dim] is UNKNOWN for dim in dims):
            return None
        if math.prod([*self.kernel.block, *sizes]) > MOST_POINTS:
            return None
        return Points(self.kernel.block, dims, sizes, len(self.ranges))


@dataclass(frozen=True)
class Points:
    """All threads of a block, along axis 0, and the values of other variables along more axes."""

    block: tuple[int, int, int]
    dims: Sequence[int]
    sizes: Sequence[int]
    count: int

    def evaluate(self, exprs: Sequence[AffineExpr]) -> list[Any]:
        """Return the values of expressions at all points."""
        x, y, _ = self.block
        threads = np.arange(math.prod(self.block))
        values: list[Any] = [0] * self.count
        shape = (len(threads), *self.sizes)
        for axis, numbers in enumerate((threads % x, threads // x % y, threads // (x * y))):
            values[axis] = self._along(0, numbers)
        for axis, (dim, size) in enumerate(zip(self.dims, self.sizes, strict=True)):
            values[dim] = self._along(axis + 1, np.arange(size))
        function = compiled(AffineMapAttr(AffineMap(self.count, 0, tuple(exprs))))
        return [np.broadcast_to(result, shape) for result in function(values)]

    def _along(self, axis: int, numbers: Any) -> Any:
        shape = [1] * (len(self.sizes) + 1)
        shape[axis] = -1
        return numbers.reshape(shape)

    def thread(self, number: int) -> tuple[int, int, int]:
        """Return a thread's place in its block."""
        x, y, _ = self.block
        return number % x, number // x % y, number // (x * y)
