"""Runs loop nests on arrays: iterations of a loop whose order is free run together, as lanes.

Every loop has an axis of its own in the arrays that hold scalars, so that a value has the size 1
along the loops it does not depend on, and NumPy's broadcasting does the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects import func, vector
from xdsl.dialects.builtin import AffineMapAttr, MemRefType, VectorType
from xdsl.interpreter import Interpreter
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from nn_opt.dialects import loop
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.literals import scalar_value
from nn_opt.ir.resources import array_of
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.ir.vector_arith import lanes_of
from nn_opt.reference.independence import Independence
from nn_opt.reference.places import (
    Buffer,
    Index,
    Maps,
    all_of,
    buffer_of,
    compiled,
    locate,
    pick,
    unwritten,
)
from nn_opt.reference.scalars import as_type
from nn_opt.reference.vectors import REDUCTIONS, dot

MOST_LANES = 1 << 20  # of one value; more would only take memory


@dataclass
class Nest:
    """Runs one op of a function, and all that is in it."""

    interpreter: Interpreter
    facts: Independence
    maps: Maps
    values: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])
    sizes: list[int] = field(default_factory=list[int])
    mask: Any = None
    together: bool = True
    level: int = 0

    def run(self, op: Operation) -> tuple[Any, ...]:
        """Run the op; return its results as the interpreter has them."""
        self.sizes = [1] * self.facts.depth
        self.step(op)
        results = [self.values[result] for result in op.results]
        return tuple(r.array() if isinstance(r, Buffer) else r for r in results)

    def twins(self) -> dict[SSAValue, SSAValue] | None:
        """Return buffers that are another one under a second name; None if some overlap in part.

        Only overlaps with a buffer that is written matter.
        """
        same: dict[SSAValue, SSAValue] = {}
        for memref in self.facts.captured:
            if memref not in self.facts.stored or memref in same:
                continue
            for other in self.facts.captured:
                if other is memref or not self.share(memref, other):
                    continue
                if not self.coincide(memref, other):
                    return None
                same[other] = memref
        return same

    def share(self, one: SSAValue, other: SSAValue) -> bool:
        """Return whether two buffers of the function around may overlap."""
        return np.may_share_memory(self.buffer(one).flat, self.buffer(other).flat)

    def coincide(self, one: SSAValue, other: SSAValue) -> bool:
        """Return whether two buffers are the same elements in the same shape."""
        first, second = self.buffer(one), self.buffer(other)
        same_place = first.flat.ctypes.data == second.flat.ctypes.data
        return same_place and first.shape == second.shape and one.type == other.type

    def step(self, op: Operation) -> None:
        """Run one op."""
        rule = RULES.get(type(op))
        if rule is not None:
            rule(self, op)
            return
        values = tuple(self.value(operand) for operand in op.operands)
        results = self.interpreter.run_op(op, values)
        self.values.update(zip(op.results, results, strict=True))

    def block(self, block: Block) -> None:
        """Run the ops of a block."""
        for op in block.ops:
            self.step(op)

    def value(self, value: SSAValue) -> Any:
        """Return a value of the nest, or of the function around it."""
        if value not in self.values:
            self.values[value] = self.interpreter.get_values((value,))[0]
        return self.values[value]

    def buffer(self, memref: SSAValue) -> Buffer:
        """Return a buffer of the nest, or of the function around it."""
        found = self.value(memref)
        if not isinstance(found, Buffer):
            found = self.values[memref] = buffer_of(found)
        return found

    def indices(self, op: Operation, name: str, operands: Sequence[SSAValue]) -> Sequence[Index]:
        """Return the values of an op's affine map."""
        function = self.maps.get((op, name))
        if function is None:
            map = op.properties[name]
            assert isinstance(map, AffineMapAttr)
            function = self.maps[op, name] = compiled(map)
        return function([self.value(operand) for operand in operands])

    def run_for(self, nest: loop.ForOp) -> None:
        """All iterations at once if their order is free, else one after the other."""
        axis, body = self.level, nest.body.block
        self.level += 1
        lanes = nest.trips * math.prod(self.sizes)
        if self.together and nest in self.facts.free and 1 < nest.trips and lanes <= MOST_LANES:
            shape = [1] * len(self.sizes)
            shape[axis] = nest.trips
            self.values[nest.index] = np.arange(nest.trips).reshape(shape)
            self.sizes[axis] = nest.trips
            self.block(body)
            self.sizes[axis] = 1
        else:
            for trip in range(nest.trips):
                self.values[nest.index] = trip
                self.block(body)
        self.level -= 1

    @contextmanager
    def where(self, condition: Any) -> Generator[bool]:
        """While active, only lanes where the condition holds write; gives whether any does."""
        before = self.mask
        if condition is not True:
            self.mask = condition if before is None else before & condition
        yield bool(np.any(condition)) and (self.mask is None or bool(np.any(self.mask)))
        self.mask = before

    def run_if(self, guard: loop.IfOp) -> None:
        """The body where all conditions hold."""
        conditions = self.indices(guard, "conditions", guard.indices)
        with self.where(all_of(condition >= 0 for condition in conditions)) as anywhere:
            if anywhere:
                self.block(guard.body.block)

    def run_block(self, block: loop.BlockOp) -> None:
        """The init where every reduce axis is 0, then the body."""
        conditions = self.indices(block, "conditions", block.indices)
        axes = self.indices(block, "bindings", block.indices)
        with self.where(all_of(condition >= 0 for condition in conditions)) as anywhere:
            if not anywhere:
                return
            if block.init is not None:
                self.run_init(block, block.init.block, axes)
            self.values.update(zip(block.axes, axes, strict=True))
            self.block(block.body.block)

    def run_init(self, block: loop.BlockOp, init: Block, axes: Sequence[Index]) -> None:
        kinds = zip(axes, block.axis_kinds, strict=True)
        first = all_of(axis == 0 for axis, kind in kinds if kind is not loop.Kind.PAR)
        with self.where(first) as anywhere:
            if anywhere:
                self.values.update(zip(init.args, axes, strict=True))
                self.block(init)

    def run_load(self, op: loop.LoadOp) -> None:
        """One element a lane, or a vector of them."""
        buffer = self.buffer(op.memref)
        indices = self.indices(op, "map", op.indices)
        default = None if op.default is None else scalar_value(op.default)
        self.values[op.result] = self.read(op, buffer, indices, default, self.vector(op))

    def run_gather(self, op: loop.GatherOp) -> None:
        """One element at each lane of the index vectors."""
        default = None if op.default is None else scalar_value(op.default)
        indices = [np.asarray(self.value(index)) for index in op.indices]
        values = self.read(op, self.buffer(op.memref), indices, default, None, lanes=True)
        shape = np.shape(values)[:-1]
        self.values[op.result] = np.broadcast_to(values, (*shape, op.lanes))

    def vector(self, op: loop.LoadOp | loop.StoreOp) -> tuple[int, int] | None:
        """Return lanes and stride of an access of a vector."""
        lanes = lanes_of(op.accessed)
        return None if lanes is None else (lanes, op.step)

    def read(
        self,
        op: Operation,
        buffer: Buffer,
        indices: Sequence[Index],
        default: Any,
        vector: tuple[int, int] | None,
        *,
        lanes: bool = False,
    ) -> Any:
        """Return what is at the indices, the default where they are outside."""
        place, inside = locate(buffer, indices, vector, each=default is not None)
        if default is None:
            self.require_inside(op, buffer, indices, inside, lanes or vector is not None)
        if inside is True:
            return buffer.flat[place]
        if not np.any(inside):
            return np.full(np.shape(inside), default or 0, buffer.flat.dtype)
        values = buffer.flat[np.where(inside, place, 0)]
        if default is None:
            return values
        filler = np.asarray(default).astype(buffer.flat.dtype)
        return np.where(inside, values, filler)

    def require_inside(
        self, op: Operation, buffer: Buffer, indices: Sequence[Index], inside: Any, lanes: bool
    ) -> None:
        """Raise InterpretationError if an active lane is outside the buffer."""
        if inside is True:
            return
        mask = True if self.mask is None else self.mask
        if lanes and mask is not True:
            mask = mask[..., None]
        outside = np.logical_and(np.logical_not(inside), mask)
        if not np.any(outside):
            return
        worst = np.argwhere(np.atleast_1d(outside))[0]
        point = [pick(index, np.shape(outside), worst) for index in indices]
        problem = f"reaches {point} in a buffer of {list(buffer.shape)}"
        raise InterpretationError(complaint(op, problem))

    def run_store(self, op: loop.StoreOp) -> None:
        """One element a lane, or a vector of them, where the mask holds."""
        buffer, vector = self.buffer(op.memref), self.vector(op)
        indices = self.indices(op, "map", op.indices)
        place, inside = locate(buffer, indices, vector, each=False)
        self.require_inside(op, buffer, indices, inside, vector is not None)
        value = self.value(op.value)
        if self.mask is None:
            buffer.flat[place] = value
            return
        mask = self.mask if vector is None else np.asarray(self.mask)[..., None]
        place, value, mask = np.broadcast_arrays(place, value, mask)
        buffer.flat[place[mask]] = value[mask]

    def run_apply(self, op: loop.ApplyOp) -> None:
        (self.values[op.result],) = self.indices(op, "map", op.indices)

    def run_alloc(self, op: loop.AllocOp) -> None:
        """A buffer for each lane."""
        shape, lanes = shape_of(op.result), math.prod(self.sizes)
        size = math.prod(shape)
        start = np.arange(lanes).reshape(self.sizes) * size if lanes > 1 else 0
        self.values[op.result] = Buffer(unwritten(lanes * size, op.result.type), start, shape)

    def run_constant(self, op: loop.ConstantOp) -> None:
        array = np.ascontiguousarray(array_of(op.value, op.result.type))
        self.values[op.result] = Buffer(array.reshape(-1), 0, shape_of(op.result))

    def run_arena(self, op: loop.ArenaOp) -> None:
        (size,) = shape_of(op.result)
        self.values[op.result] = Buffer(np.full(size, -85, np.int8), 0, (size,))

    def run_view(self, op: loop.ViewOp) -> None:
        """Other elements of the same array, read as another type where that differs."""
        source, shape = self.buffer(op.source), shape_of(op.result)
        (offset,) = self.indices(op, "offset", op.indices)
        start = source.start + offset
        dtype = numpy_dtype(element_type(op.result))
        if not isinstance(start, int):
            assert dtype == source.flat.dtype, "a view of lanes keeps the type"
            self.values[op.result] = Buffer(source.flat, start, shape)
            return
        unit = source.flat.itemsize
        data = source.flat.view(np.uint8)[start * unit :][: math.prod(shape) * dtype.itemsize]
        if data.size < math.prod(shape) * dtype.itemsize or start < 0:
            problem = f"starts at {start}, and ends beyond the {source.flat.size} elements"
            raise InterpretationError(complaint(op, problem))
        self.values[op.result] = Buffer(data.view(dtype), 0, shape)

    def run_copy(self, op: loop.CopyOp) -> None:
        source, target = self.buffer(op.source).array(), self.buffer(op.target).array()
        target.reshape(-1)[...] = source.reshape(-1)

    def run_call(self, op: func.CallOp) -> None:
        values = [
            self.buffer(value).array() if isinstance(value.type, MemRefType) else self.value(value)
            for value in op.arguments
        ]
        results = self.interpreter.call_op(op.callee, tuple(values))
        self.values.update(zip(op.res, results, strict=True))

    def run_broadcast(self, op: vector.BroadcastOp) -> None:
        value = np.asarray(self.value(op.source))
        (lanes,) = shape_of(op.vector)
        if not isinstance(op.source.type, VectorType):
            value = value[..., None]
        self.values[op.vector] = np.broadcast_to(value, (*value.shape[:-1], lanes))

    def run_reduction(self, op: vector.ReductionOp) -> None:
        combine = REDUCTIONS[op.kind.data.value]
        with np.errstate(all="ignore"):
            total = combine.reduce(self.value(op.vector), axis=-1)
            if op.acc is not None:
                total = combine(self.value(op.acc), total)
        self.values[op.dest] = as_type(total, op.dest.type)

    def run_dot(self, op: loop.DotOp) -> None:
        """Each lane's group of products, summed exactly and rounded once."""
        acc, a, b = (self.value(operand) for operand in op.operands)
        self.values[op.result] = dot(op, acc, a, b)

    def run_ldexp(self, op: loop.LdexpOp) -> None:
        with np.errstate(all="ignore"):
            scaled = np.ldexp(self.value(op.value), self.value(op.exponent))
        self.values[op.result] = as_type(scaled, op.result.type)


RULES: dict[type[Operation], Callable[[Nest, Any], None]] = {
    loop.ForOp: Nest.run_for,
    loop.IfOp: Nest.run_if,
    loop.BlockOp: Nest.run_block,
    loop.LoadOp: Nest.run_load,
    loop.GatherOp: Nest.run_gather,
    loop.DotOp: Nest.run_dot,
    loop.LdexpOp: Nest.run_ldexp,
    loop.StoreOp: Nest.run_store,
    loop.ApplyOp: Nest.run_apply,
    loop.AllocOp: Nest.run_alloc,
    loop.ConstantOp: Nest.run_constant,
    loop.ArenaOp: Nest.run_arena,
    loop.ViewOp: Nest.run_view,
    loop.CopyOp: Nest.run_copy,
    func.CallOp: Nest.run_call,
    vector.BroadcastOp: Nest.run_broadcast,
    vector.ReductionOp: Nest.run_reduction,
}
