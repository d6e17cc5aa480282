"""Whether a kernel asks for more than its device has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from nn_opt.dialects.gpu.ids import DIMENSIONS, LaneIdOp, NumSubgroupsOp, SubgroupIdOp
from nn_opt.dialects.gpu.mma import MmaComputeOp, MmaConstantOp, MmaLoadOp, MmaStoreOp
from nn_opt.dialects.gpu.subgroup import (
    BallotOp,
    RotateOp,
    ShuffleOp,
    SubgroupBroadcastOp,
    SubgroupReduceOp,
)
from nn_opt.dialects.loop.buffers import AllocOp, byte_size
from nn_opt.ir.diagnostics import Diagnostic, diagnose, note_at
from nn_opt.ir.target import Gpu
from nn_opt.ir.types import memory_space

SHARED = "shared"  # the memory space of what each block has one of
ALIGNMENT = 16  # bytes: a shared buffer starts at a multiple, so that vectors can be loaded
TOGETHER = (  # what all threads of a subgroup do together
    BallotOp,
    MmaComputeOp,
    MmaConstantOp,
    MmaLoadOp,
    MmaStoreOp,
    RotateOp,
    ShuffleOp,
    SubgroupBroadcastOp,
    SubgroupReduceOp,
)
NEEDS_WIDTH = (*TOGETHER, LaneIdOp, NumSubgroupsOp, SubgroupIdOp)


@dataclass(frozen=True)
class Demand:
    """What a kernel asks for: threads and blocks if they are known, buffers, what is in it."""

    kernel: Operation
    block: Sequence[int] | None
    grid: Sequence[int] | None
    arguments: Sequence[SSAValue]
    workgroup: Sequence[SSAValue]

    def problems(self, limits: Gpu) -> Iterator[Diagnostic]:
        """Yield what the device cannot give."""
        yield from self._threads(limits)
        yield from self._grid(limits)
        yield from self._shared(limits)
        yield from self._arguments(limits)
        yield from self._subgroups(limits)

    def _threads(self, limits: Gpu) -> Iterator[Diagnostic]:
        if self.block is None:
            return
        if prod(self.block) > limits.threads:
            problem = (
                f"a block has {prod(self.block)} threads ({times(self.block)}), "
                f"expected at most {limits.threads} on {limits.language}"
            )
            hint = "bind shorter loops to threads, or split them"
            yield diagnose(self.kernel, problem, hint=hint)
        yield from self._each("a block", "threads", self.block, limits.block)

    def _grid(self, limits: Gpu) -> Iterator[Diagnostic]:
        if self.grid is not None:
            yield from self._each("the grid", "blocks", self.grid, limits.grid)

    def _each(
        self, what: str, of: str, sizes: Sequence[int], most: Sequence[int]
    ) -> Iterator[Diagnostic]:
        for dimension, size, limit in zip(DIMENSIONS, sizes, most, strict=True):
            if size > limit:
                problem = f"{what} has {size} {of} along {dimension}, expected at most {limit}"
                hint = "bind the loop to another dimension, or split it"
                yield diagnose(self.kernel, problem, hint=hint)

    def _shared(self, limits: Gpu) -> Iterator[Diagnostic]:
        allocs = shared_allocs(self.kernel)
        buffers = [*self.workgroup, *(alloc.result for alloc in allocs)]
        if (total := shared_bytes(buffers)) <= limits.shared_bytes:
            return
        notes = tuple(
            note_at(alloc, f"{byte_size(alloc.result)} bytes are '{alloc.buffer.data}'")
            for alloc in allocs
        )
        problem = (
            f"a block takes {total} bytes of shared memory, expected at most {limits.shared_bytes}"
        )
        yield diagnose(self.kernel, problem, hint="use smaller tiles", notes=notes)

    def _arguments(self, limits: Gpu) -> Iterator[Diagnostic]:
        buffers = [value for value in self.arguments if isinstance(value.type, MemRefType)]
        if len(buffers) > limits.arguments:
            problem = (
                f"takes {len(buffers)} buffers, "
                f"expected at most {limits.arguments} on {limits.language}"
            )
            hint = "fuse fewer operations into the kernel"
            yield diagnose(self.kernel, problem, hint=hint)

    def _subgroups(self, limits: Gpu) -> Iterator[Diagnostic]:
        users = [op for op in self.kernel.walk() if isinstance(op, NEEDS_WIDTH)]
        if users and not limits.subgroup:
            problem = f"the threads of a subgroup are not known on {limits.language}"
            hint = "use shared memory and barriers, or a target with a subgroup width"
            yield diagnose(users[0], problem, hint=hint)
        if not users or not limits.subgroup:
            return
        if self.block is not None and prod(self.block) % limits.subgroup:
            problem = (
                f"a block has {prod(self.block)} threads, "
                f"expected a multiple of the {limits.subgroup} of a subgroup"
            )
            notes = (note_at(users[0], "a subgroup works together here"),)
            yield diagnose(self.kernel, problem, notes=notes)
        yield from _too_wide(users, limits.subgroup)


def _too_wide(users: Iterable[Operation], width: int) -> Iterator[Diagnostic]:
    for op in users:
        size = None
        if isinstance(op, SubgroupReduceOp) and op.size is not None:
            size = (op.size - 1) * op.stride + 1
        if isinstance(op, RotateOp):
            size = op.width.value.data
        if size is not None and size > width:
            problem = f"combines lanes up to {size - 1} apart, a subgroup has {width}"
            yield diagnose(op, problem)


def times(sizes: Sequence[int]) -> str:
    """Return sizes as `16 x 8 x 1`."""
    return " x ".join(map(str, sizes))


def shared_allocs(kernel: Operation) -> list[AllocOp]:
    """Return the allocations of what each block has one of."""
    allocs = [op for op in kernel.walk() if isinstance(op, AllocOp)]
    return [op for op in allocs if memory_space(op.result) == SHARED]


def shared_bytes(buffers: Iterable[SSAValue]) -> int:
    """Return the bytes of shared buffers that lie behind each other, each aligned."""
    end = 0
    for buffer in buffers:
        end = -(-end // ALIGNMENT) * ALIGNMENT + byte_size(buffer)
    return end
