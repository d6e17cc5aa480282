"""Runs a kernel for all threads of some blocks at once, and sees where they disturb each other.

Control flow has known numbers of iterations, so that threads differ in what they skip alone: each
op is done for all threads, by a mask, before the next. Of a program without races that is one
order among those that have the same results; races, and barriers that not all threads come to,
are errors with both places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from nn_opt.dialects import gpu, loop
from nn_opt.ir.diagnostics import diagnose
from nn_opt.ir.types import memory_space, shape_of
from nn_opt.reference.gpu_errors import (
    Naming,
    Triple,
    divergence,
    error_of,
    race,
    unwritten_element,
)
from nn_opt.reference.gpu_shadow import Conflict, Kind, Numbers, Shadow, Touch
from nn_opt.reference.nests import RULES, Nest
from nn_opt.reference.places import Buffer, Index, locate, pick, unwritten


@dataclass(frozen=True)
class Launch:
    """What is the same for all blocks: the kernel, its grid, and where its buffers lie.

    subgroup: the number of threads that run in step; 0 if that is not known.
    shadows: records of buffers that the kernel writes, by the address of their first byte.
    """

    kernel: gpu.FuncOp
    grid: Triple
    block: Triple
    subgroup: int
    shadows: dict[int, Shadow] = field(default_factory=dict[int, Shadow])

    @property
    def threads(self) -> int:
        """The number of threads of a block."""
        return math.prod(self.block)

    @property
    def lockstep(self) -> bool:
        """Whether barriers are still to be inserted, so that threads may not race yet."""
        return gpu.LOCKSTEP in self.kernel.attributes

    @property
    def naming(self) -> Naming:
        """How its threads are called."""
        return Naming(self.grid, self.block)


@dataclass(frozen=True)
class Memory:
    """A buffer of which is known who touched it: its shadow, and the shadow's cell of element 0."""

    shadow: Shadow
    start: int
    parts: int  # cells of an element


@dataclass
class Lanes:
    """The active lanes of an access, one after the other."""

    shape: tuple[int, ...]
    active: Any  # which lanes of the shape, or True
    cells: Numbers
    threads: Numbers
    epochs: Numbers
    parts: int = 1  # cells of an element, one after the other

    def listed(self, value: Any) -> Any:
        """Return the active lanes' elements of a value, for each of their cells."""
        flat = np.broadcast_to(value, self.shape).reshape(-1)
        kept = flat if self.active is True else flat[self.active]
        return kept if self.parts == 1 else np.repeat(kept, self.parts)

    def where(self, lane: int) -> Sequence[int]:
        """Return the place of an active lane in the shape, by one of its cells."""
        lane //= self.parts
        if self.active is not True:
            lane = int(np.flatnonzero(self.active)[lane])
        return [int(k) for k in np.unravel_index(lane, self.shape)]


@dataclass
class Kernel(Nest):
    """The threads of some blocks: axis 0 of each value is the block, axis 1 the thread in it."""

    launch: Launch = None  # pyright: ignore[reportAssignmentType]  (dataclass order)
    blocks: Numbers = field(default_factory=lambda: np.zeros(1, np.int64))
    epochs: Numbers = field(default_factory=lambda: np.zeros(1, np.int64))
    shared: dict[SSAValue, tuple[Buffer, Shadow]] = field(
        default_factory=dict[SSAValue, tuple[Buffer, Shadow]]
    )
    shadows: dict[int, Shadow] = field(default_factory=dict[int, Shadow])
    copies: Any = None  # asynchronous copies under way; made at the first

    def begin(self, arguments: Sequence[Any]) -> None:
        """Give the kernel its arguments, and its blocks and threads their buffers."""
        self.sizes = [len(self.blocks), self.launch.threads, *[1] * self.facts.depth]
        self.level = 2
        self.epochs = np.zeros(len(self.blocks), np.int64)
        self.shadows = {**self.launch.shadows}
        kernel = self.launch.kernel
        self.values.update(zip(kernel.arguments, arguments, strict=True))
        for buffer in kernel.workgroup:
            self.values[buffer] = self.shared_buffer(buffer)
        for buffer in kernel.private:
            self.values[buffer] = self.private_buffer(buffer)

    def run_kernel(self) -> None:
        """Run the kernel in these blocks."""
        self.block(self.launch.kernel.body.block)

    def step(self, op: Operation) -> None:
        rule = KERNEL_RULES.get(type(op))
        if rule is not None:
            rule(self, op)
        else:
            super().step(op)

    def along(self, axis: int, numbers: Any) -> Any:
        """Return numbers that differ along an axis alone: 0 is blocks, 1 threads."""
        shape = [1] * len(self.sizes)
        shape[axis] = -1
        return np.asarray(numbers).reshape(shape)

    @property
    def thread(self) -> Any:
        """Each thread's number in its block."""
        return self.along(1, np.arange(self.launch.threads))

    @property
    def number(self) -> Any:
        """Each thread's number in the grid."""
        return self.along(0, self.blocks) * self.launch.threads + self.thread

    @property
    def mask_of_threads(self) -> Any:
        """Which threads are active, for each block and thread, whatever loops run at once."""
        shape = tuple(self.sizes)
        mask = np.broadcast_to(True if self.mask is None else self.mask, shape)
        return mask.reshape(*shape[:2], -1)

    # Buffers

    def run_alloc(self, op: loop.AllocOp) -> None:
        """A buffer for each block if it is shared, else for each thread."""
        if memory_space(op.result) == gpu.SHARED:
            self.values[op.result] = self.shared_buffer(op.result)
        else:
            super().run_alloc(op)

    def shared_buffer(self, memref: SSAValue) -> Buffer:
        """Return one buffer a block; each run of an op gives the same places, without values."""
        type_, count = _buffer_type(memref), len(self.blocks)
        size = math.prod(shape_of(type_))
        if memref not in self.shared:
            flat = unwritten(count * size, type_)
            start = self.along(0, np.arange(count) * size)
            written = np.zeros(flat.size, np.bool_)
            shadow = Shadow(flat.size, flat.itemsize, self.launch.threads, written)
            self.shadows[_address(flat)] = shadow
            self.shared[memref] = Buffer(flat, start, shape_of(type_)), shadow
        buffer, shadow = self.shared[memref]
        shadow.forget_values()
        buffer.flat[:] = unwritten(count * size, type_)
        return buffer

    def private_buffer(self, memref: SSAValue) -> Buffer:
        """Return one buffer a thread."""
        shape, lanes = shape_of(memref), math.prod(self.sizes)
        start = np.arange(lanes).reshape(self.sizes) * math.prod(shape)
        return Buffer(unwritten(lanes * math.prod(shape), _buffer_type(memref)), start, shape)

    def memory(self, buffer: Buffer) -> Memory | None:
        """Return the records of a buffer; None where they tell nothing."""
        address, bytes_ = _address(buffer.flat), buffer.flat.itemsize
        for start, shadow in self.shadows.items():
            offset = (address - start) // shadow.unit
            if 0 <= offset < shadow.size:
                return Memory(shadow, offset, bytes_ // shadow.unit)
        return None

    # Accesses

    def lanes(
        self, place: Index, vector: bool, inside: Any, memory: Memory, value: Any = None
    ) -> Lanes:
        """Return the active lanes that access places of a buffer, to write values there."""
        tail, mask = (1,) if vector else (), True
        if self.mask is not None:
            own = np.asarray(self.mask)
            mask = np.logical_and(mask, own[..., None] if vector else own)
        if inside is not True:
            mask = np.logical_and(mask, inside)
        rank = len(self.sizes)
        base = (*self.sizes[:2], *[1] * (rank - 2), *tail)
        own = () if value is None else np.shape(value)
        shape = np.broadcast_shapes(np.shape(place), np.shape(mask), own, base)
        active = True if mask is True else np.broadcast_to(mask, shape).reshape(-1)
        parts, none = memory.parts, np.zeros(0, np.int64)
        lanes = Lanes(shape, active, none, none, none, parts)
        lanes.cells = lanes.listed(np.asarray(place) * parts + memory.start)
        if parts > 1:
            lanes.cells = lanes.cells + np.arange(lanes.cells.size) % parts
        numbers = (self.number, self.along(0, self.epochs))
        lanes.threads, lanes.epochs = (
            lanes.listed(of_thread[..., None] if vector else of_thread) for of_thread in numbers
        )
        return lanes

    def touch(
        self,
        op: Operation,
        kind: Kind,
        buffer: Buffer,
        place: Index,
        vector: bool,
        inside: Any,
        value: Any = None,
    ) -> None:
        """Record an access; raise InterpretationError if it races with another one."""
        if self.launch.lockstep:
            return
        memory = self.memory(buffer)
        if memory is None:
            return
        lanes = self.lanes(place, vector, inside, memory, value)
        shadow = memory.shadow
        missing = shadow.unwritten(lanes.cells) if kind is not Kind.WRITE else None
        if missing is not None:
            thread = self.launch.naming.thread(int(lanes.threads[missing]))
            raise unwritten_element(op, thread, self.element(buffer, lanes, missing, memory))
        values = None if value is None else lanes.listed(value)
        touch = Touch(op, lanes.cells, lanes.threads, lanes.epochs, values)
        conflict = shadow.touch(kind, touch)
        if conflict is not None:
            raise self.race(op, kind, buffer, memory, lanes, conflict)

    def race(
        self,
        op: Operation,
        kind: Kind,
        buffer: Buffer,
        memory: Memory,
        lanes: Lanes,
        conflict: Conflict,
    ) -> InterpretationError:
        """Return the error about accesses of two threads that nothing orders."""
        element = self.element(buffer, lanes, conflict.lane, memory)
        thread = int(lanes.threads[conflict.lane])
        return race(op, kind, thread, element, conflict, self.launch.naming)

    def element(self, buffer: Buffer, lanes: Lanes, lane: int, memory: Memory) -> list[int]:
        """Return the indices of the element that a lane accesses."""
        start = np.asarray(buffer.start)
        where = lanes.where(lane)[: max(start.ndim, 0)]
        first = int(pick(start, lanes.shape[: start.ndim], where)) if start.ndim else int(start)
        offset = (int(lanes.cells[lane]) - memory.start) // memory.parts - first
        return [int(k) for k in np.unravel_index(offset, buffer.shape)] if buffer.shape else []

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
        place, inside = locate(buffer, indices, vector, each=default is not None)
        if np.any(inside):
            several = lanes or vector is not None
            if default is None:
                self.require_inside(op, buffer, indices, inside, several)
            self.touch(op, Kind.READ, buffer, place, several, inside)
        return super().read(op, buffer, indices, default, vector, lanes=lanes)

    def run_store(self, op: loop.StoreOp) -> None:
        buffer, vector = self.buffer(op.memref), self.vector(op)
        indices = self.indices(op, "map", op.indices)
        place, inside = locate(buffer, indices, vector, each=False)
        self.require_inside(op, buffer, indices, inside, vector is not None)
        value = self.value(op.value)
        self.touch(op, Kind.WRITE, buffer, place, vector is not None, True, value)
        self.write(buffer, place, value, vector is not None)

    def write(self, buffer: Buffer, place: Index, value: Any, vector: bool) -> None:
        """Write values where the mask holds."""
        mask = True if self.mask is None else np.asarray(self.mask)
        if vector and mask is not True:
            mask = mask[..., None]
        place, value, mask = np.broadcast_arrays(place, value, mask)
        buffer.flat[place[mask]] = value[mask]

    def require_inside(
        self, op: Operation, buffer: Buffer, indices: Sequence[Index], inside: Any, lanes: bool
    ) -> None:
        if inside is True:
            return
        mask = True if self.mask is None else np.asarray(self.mask)
        if lanes and mask is not True:
            mask = mask[..., None]
        shape = (*self.sizes, 1) if lanes else tuple(self.sizes)
        outside = np.logical_and(np.logical_not(inside), mask)
        outside = np.broadcast_to(outside, np.broadcast_shapes(np.shape(outside), shape))
        if not np.any(outside):
            return
        worst = [int(k) for k in np.argwhere(outside)[0]]
        point = [pick(index, outside.shape, worst) for index in indices]
        thread = self.thread_name(worst[0], worst[1])
        problem = f"{thread} reaches {point} in a buffer of {list(buffer.shape)}"
        raise error_of(diagnose(op, problem))

    def thread_name(self, block: int, thread: int) -> str:
        """Return the words for a thread of the blocks that run at once."""
        number = int(self.blocks[block]) * self.launch.threads + thread
        return self.launch.naming.thread(number)

    # Threads that wait for each other

    def run_barrier(self, op: Operation) -> None:
        """All threads of a block, or none of it."""
        if self.launch.lockstep:
            return
        came = self.mask_of_threads.all(axis=2)
        somebody, all_came = came.any(axis=1), came.all(axis=1)
        if np.any(somebody & ~all_came):
            block = int(np.flatnonzero(somebody & ~all_came)[0])
            absent = int(np.flatnonzero(~came[block])[0])
            name = self.thread_name(block, absent)
            raise divergence(op, int(came[block].sum()), came.shape[1], name)
        self.epochs = self.epochs + somebody

    # Ids

    def run_id(self, op: gpu.Dimensional) -> None:
        """The part of a thread's or block's number that is along a dimension."""
        axis, launch = op.axis, self.launch
        thread = _along(self.thread, launch.block, axis)
        block = _along(self.along(0, self.blocks), launch.grid, axis)
        numbers: dict[type[gpu.Dimensional], Any] = {
            gpu.ThreadIdOp: thread,
            gpu.BlockIdOp: block,
            gpu.BlockDimOp: launch.block[axis],
            gpu.GridDimOp: launch.grid[axis],
            gpu.GlobalIdOp: block * launch.block[axis] + thread,
        }
        self.values[op.result] = numbers[type(op)]

    def run_return(self, op: gpu.ReturnOp) -> None:
        """Nothing more to do: it is the last op of a kernel."""


def _buffer_type(memref: SSAValue) -> MemRefType[Attribute]:
    return cast("MemRefType[Attribute]", memref.type)


def _along(numbers: Any, sizes: Triple, axis: int) -> Any:
    return numbers // math.prod(sizes[:axis]) % sizes[axis]


def _address(flat: Any) -> int:
    return flat.__array_interface__["data"][0]


Rules = dict[type[Operation], Callable[[Kernel, Any], None]]
KERNEL_RULES: Rules = {
    **RULES,
    loop.StoreOp: Kernel.run_store,
    loop.AllocOp: Kernel.run_alloc,
    gpu.BarrierOp: Kernel.run_barrier,
    gpu.ThreadIdOp: Kernel.run_id,
    gpu.BlockIdOp: Kernel.run_id,
    gpu.BlockDimOp: Kernel.run_id,
    gpu.GridDimOp: Kernel.run_id,
    gpu.GlobalIdOp: Kernel.run_id,
    gpu.ReturnOp: Kernel.run_return,
}
