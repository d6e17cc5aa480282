"""Schedule: primitives on one kernel from Python, recorded as the script that repeats them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NoReturn

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from nn_opt.dialects import sched
from nn_opt.dialects.loop import ForOp
from nn_opt.ir.locations import is_unknown, located
from nn_opt.schedule import (
    axes,
    fission,
    inline,
    loops,
    moves,
    reduction,
    shared,
    storage,
    tensorize,
)
from nn_opt.schedule import reindex as reindexing
from nn_opt.schedule import rfactor as factoring
from nn_opt.schedule.nest import blocks_in, find_block, loop_name, loops_around, refuse


class Schedule:
    """Applies primitives to a kernel's loops and records them in `script`.

    A handle is a loop.for op. Once split, tile or fuse has replaced a loop, or a stage was moved
    out of it, its handle is dead; a later use is refused with the primitive that replaced it.
    """

    def __init__(self, function: FuncOp):
        self.function = function
        self.script = sched.ScriptOp(function.sym_name.data)
        self.script.location = function.location
        self._handles: dict[ForOp, SSAValue] = {}
        self._dead: dict[ForOp, str] = {}

    def axes(self, stage: str) -> list[ForOp]:
        """Return the loops around a stage, outermost first."""
        around = loops_around(find_block(self.function, stage))
        op = sched.AxesOp(stage, len(around))
        self._record(op)
        self._name(around, op.results)
        return around

    def split(self, loop: ForOp, factor: int, tail: str = "guard") -> tuple[ForOp, ForOp]:
        """Split a loop; return (outer, inner). See `schedule.loops.split`."""
        op = sched.SplitOp(self._handle(loop), factor, tail)
        result = loops.split(loop, factor, tail)
        self._replace([loop], op, result)
        return result

    def tile(
        self, x: ForOp, y: ForOp, x_factor: int, y_factor: int
    ) -> tuple[ForOp, ForOp, ForOp, ForOp]:
        """Split two loops and move the inner ones inside; return (xo, yo, xi, yi)."""
        op = sched.TileOp(self._handle(x), self._handle(y), x_factor, y_factor)
        result = loops.tile(x, y, x_factor, y_factor)
        self._replace([x, y], op, result)
        return result

    def fuse(self, outer: ForOp, inner: ForOp) -> ForOp:
        """Make two nested loops one; return it."""
        op = sched.FuseOp(self._handle(outer), self._handle(inner))
        result = loops.fuse(outer, inner)
        self._replace([outer, inner], op, [result])
        return result

    def fission(self, loop: ForOp) -> None:
        """Give each statement of a loop's body a loop of its own; `axes` has the new handles."""
        op = sched.FissionOp(self._handle(loop))
        fission.fission(loop)
        self._record(op)

    def join(self, *nest: ForOp) -> ForOp:
        """Make nested loops, and the axes that they run, one; return it. See `schedule.axes`."""
        op = sched.JoinOp([self._handle(loop) for loop in nest])
        result = axes.join(nest)
        self._replace(nest, op, [result])
        return result

    def pad(self, loop: ForOp, factor: int) -> None:
        """Run a loop on to a multiple of iterations. See `schedule.axes.pad`."""
        op = sched.PadOp(self._handle(loop), factor)
        axes.pad(loop, factor)
        self._record(op)

    def reorder(self, *order: ForOp) -> None:
        """Put loops of one perfect nest in the given order."""
        op = sched.ReorderOp([self._handle(loop) for loop in order])
        loops.reorder(order)
        self._record(op)

    def unroll(self, loop: ForOp) -> None:
        """Mark a loop to be expanded by the last conversion."""
        op = sched.UnrollOp(self._handle(loop))
        loops.unroll(loop)
        self._record(op)

    def vectorize(self, loop: ForOp) -> None:
        """Turn an innermost loop's iterations into lanes."""
        op = sched.VectorizeOp(self._handle(loop))
        loops.vectorize(loop)
        self._record(op)

    def parallel(self, loop: ForOp) -> None:
        """Split a loop's iterations over threads."""
        op = sched.ParallelOp(self._handle(loop))
        loops.parallel(loop)
        self._record(op)

    def bind(self, loop: ForOp, kind: str) -> None:
        """Give each iteration a block of a GPU's grid, or a thread of a block: `thread_x`."""
        op = sched.BindOp(self._handle(loop), kind)
        loops.bind(loop, kind)
        self._record(op)

    def tensorize(self, loop: ForOp, intrinsic: str) -> None:
        """Run a loop, with all that is in it, as an instruction: see `schedule.intrinsics`."""
        op = sched.TensorizeOp(self._handle(loop), intrinsic)
        tensorize.tensorize(loop, intrinsic)
        self._record(op)

    def compute_at(self, stage: str, loop: ForOp) -> None:
        """Compute what `loop`'s body reads of a stage at the start of that body."""
        op = sched.ComputeAtOp(stage, self._handle(loop))
        self._bury_nest(stage, "compute_at")
        moves.compute_at(self.function, stage, loop)
        self._record(op)

    def reverse_compute_at(self, stage: str, loop: ForOp) -> None:
        """Run a stage on what `loop`'s body produced for it, at the end of that body."""
        op = sched.ReverseComputeAtOp(stage, self._handle(loop))
        self._bury_nest(stage, "reverse_compute_at")
        moves.reverse_compute_at(self.function, stage, loop)
        self._record(op)

    def inline(self, stage: str) -> None:
        """Put a stage's formula where it is read."""
        self._bury_nest(stage, "inline")
        inline.inline(self.function, stage)
        self._record(sched.InlineOp(stage))

    def cache_read(self, stage: str, operand: int) -> str:
        """Let a stage read a buffer through a copy; return the name of the copying stage."""
        with self._at(stage):
            name = storage.cache_read(self.function, stage, operand)
        self._record(sched.CacheReadOp(stage, operand))
        return name

    def cache_write(self, stage: str) -> str:
        """Let a stage write a buffer of its own; return the name of the copying stage."""
        with self._at(stage):
            name = storage.cache_write(self.function, stage)
        self._record(sched.CacheWriteOp(stage))
        return name

    def prefetch(self, stage: str, operand: int, distance: int) -> None:
        """Let a stage's loads of a buffer ask for what lies further on. See `storage.prefetch`."""
        storage.prefetch(self.function, stage, operand, distance)
        self._record(sched.PrefetchOp(stage, operand, distance))

    def set_scope(self, stage: str, space: str) -> None:
        """Keep the buffer that a stage writes in another memory space."""
        storage.set_scope(self.function, stage, space)
        self._record(sched.SetScopeOp(stage, space))

    def reindex(self, stage: str, operand: int, axes: Sequence[int]) -> str:
        """Let a stage read a buffer as a copy at its own axes; return the copying stage's name."""
        with self._at(stage):
            name = reindexing.reindex(self.function, stage, operand, axes)
        self._record(sched.ReindexOp(stage, operand, axes))
        return name

    def permute(self, stage: str, order: Sequence[int]) -> None:
        """Lay a stage's buffer out in another order of its dimensions."""
        axes.permute(self.function, stage, order)
        self._record(sched.PermuteOp(stage, order))

    def storage_align(self, stage: str, multiple: int, offset: int) -> None:
        """Give rows of a stage's buffer k * multiple + offset elements."""
        shared.storage_align(self.function, stage, multiple, offset)
        self._record(sched.StorageAlignOp(stage, multiple, offset))

    def double_buffer(self, stage: str, loop: ForOp) -> str:
        """Fill a stage's buffer for the next iteration; return the stage that fills the first."""
        op = sched.DoubleBufferOp(stage, self._handle(loop))
        with self._at(stage):
            name = shared.double_buffer(self.function, stage, loop)
        self._record(op)
        return name

    def decompose_init(self, stage: str, loop: ForOp) -> str:
        """Start a reduction in a nest of its own before `loop`; return that stage's name."""
        op = sched.DecomposeInitOp(stage, self._handle(loop))
        with self._at(stage):
            name = reduction.decompose_init(self.function, stage, loop)
        self._record(op)
        return name

    def rfactor(self, stage: str, loop: ForOp) -> str:
        """Let each iteration of a reduce loop accumulate by itself; return the stage that does."""
        op = sched.RfactorOp(stage, self._handle(loop))
        with self._at(stage):
            name = factoring.rfactor(self.function, stage, loop)
        self._record(op)
        return name

    def _handle(self, loop: ForOp) -> SSAValue:
        if loop in self._dead:
            self._refuse_dead(loop)
        if loop not in self._handles:
            problem = f"{loop_name(loop)} is no loop of @{self.function.sym_name.data}"
            refuse(loop, problem, hint="take handles from axes() or from a primitive")
        return self._handles[loop]

    def _refuse_dead(self, loop: ForOp) -> NoReturn:
        problem = f"the handle {loop_name(loop)} is dead: {self._dead[loop]} replaced its loop"
        refuse(loop, problem, hint="use the handles that it returned, or ask axes() again")

    def _replace(self, old: Sequence[ForOp], op: Operation, new: Sequence[ForOp]) -> None:
        self._record(op)
        self._dead.update(dict.fromkeys(old, op.name))
        self._name(new, op.results)

    def _bury_nest(self, stage: str, primitive: str) -> None:
        """The loops that hold only this stage go with it."""
        block = find_block(self.function, stage)
        alone = [loop for loop in loops_around(block) if _holds_only(loop, stage)]
        self._dead.update(dict.fromkeys(alone, primitive))

    def _at(self, stage: str) -> AbstractContextManager[None]:
        """Give what is made for a stage its location."""
        return located(find_block(self.function, stage))

    def _record(self, op: Operation) -> None:
        if is_unknown(op):
            op.location = self.function.location
        self.script.body.block.add_op(op)

    def _name(self, handles: Sequence[ForOp], values: Sequence[SSAValue]) -> None:
        for loop, value in zip(handles, values, strict=True):
            value.name_hint = loop.index.name_hint
            self._handles[loop] = value


def _holds_only(loop: ForOp, stage: str) -> bool:
    return all(block.stage.data == stage for block in blocks_in(loop))
