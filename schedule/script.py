"""Replay: apply a `sched.script` to the kernel that it names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import sched
from nn_opt.dialects.loop import ForOp
from nn_opt.ir.diagnostics import Complaints, Diagnostic, diagnose, diagnostics_of
from nn_opt.schedule.schedule import Schedule

Loops = Sequence[ForOp]


def replay(
    script: sched.ScriptOp,
    function: FuncOp,
    watch: Callable[[Operation], None] | None = None,
) -> Schedule:
    """Apply every primitive of a script in order; `watch` is told of each that has been applied.

    Raises: PassFailedException, located at the script's op, if a primitive is refused.
    """
    schedule = Schedule(function)
    handles: dict[SSAValue, ForOp] = {}
    for op in script.body.block.ops:
        try:
            results = _apply(schedule, op, [handles[value] for value in op.operands])
        except PassFailedException as error:
            raise PassFailedException(Complaints([_at(op, error)])) from error
        handles.update(zip(op.results, results or (), strict=True))
        if watch is not None:
            watch(op)
    return schedule


def _at(op: Operation, error: PassFailedException) -> Diagnostic:
    """Return a primitive's refusal as one of the script's op; the loop or stage is a note."""
    first, *_ = diagnostics_of(error)
    problem = first.message.removeprefix(f"{op.name.removeprefix('sched.')}: ")
    notes = (Diagnostic("note", first.place, f"see this {first.op}"),) if first.op else ()
    return diagnose(op, problem, hint=first.hint, notes=notes)


def _apply(schedule: Schedule, op: Operation, loops: Loops) -> Loops | None:
    if type(op) in MAKERS:
        return MAKERS[type(op)](schedule, op, loops)
    ACTIONS[type(op)](schedule, op, loops)
    return None


def _axes(schedule: Schedule, op: sched.AxesOp, _: Loops) -> Loops:
    loops = schedule.axes(op.stage.data)
    if len(loops) != len(op.loops):
        problem = f"stage {op.stage.data!r} is in {len(loops)} loops, not {len(op.loops)}"
        raise PassFailedException(f"{problem}\n  hint: take all of them, outermost first")
    return loops


def _number(attribute: IntegerAttr) -> int:
    return attribute.value.data


# Primitives that give handles on the loops that they make.
MAKERS: dict[type[Operation], Callable[[Schedule, Any, Loops], Loops]] = {
    sched.AxesOp: _axes,
    sched.SplitOp: lambda s, op, loops: s.split(loops[0], _number(op.factor), op.tail.data),
    sched.TileOp: lambda s, op, loops: s.tile(
        loops[0], loops[1], _number(op.x_factor), _number(op.y_factor)
    ),
    sched.FuseOp: lambda s, op, loops: [s.fuse(*loops)],
    sched.JoinOp: lambda s, op, loops: [s.join(*loops)],
}
ACTIONS: dict[type[Operation], Callable[[Schedule, Any, Loops], object]] = {
    sched.PadOp: lambda s, op, loops: s.pad(loops[0], _number(op.factor)),
    sched.FissionOp: lambda s, op, loops: s.fission(loops[0]),
    sched.ReorderOp: lambda s, op, loops: s.reorder(*loops),
    sched.UnrollOp: lambda s, op, loops: s.unroll(loops[0]),
    sched.VectorizeOp: lambda s, op, loops: s.vectorize(loops[0]),
    sched.ParallelOp: lambda s, op, loops: s.parallel(loops[0]),
    sched.BindOp: lambda s, op, loops: s.bind(loops[0], op.kind.data),
    sched.TensorizeOp: lambda s, op, loops: s.tensorize(loops[0], op.intrinsic.data),
    sched.ComputeAtOp: lambda s, op, loops: s.compute_at(op.stage.data, loops[0]),
    sched.ReverseComputeAtOp: lambda s, op, loops: s.reverse_compute_at(op.stage.data, loops[0]),
    sched.DecomposeInitOp: lambda s, op, loops: s.decompose_init(op.stage.data, loops[0]),
    sched.DoubleBufferOp: lambda s, op, loops: s.double_buffer(op.stage.data, loops[0]),
    sched.RfactorOp: lambda s, op, loops: s.rfactor(op.stage.data, loops[0]),
    sched.InlineOp: lambda s, op, loops: s.inline(op.stage.data),
    sched.CacheWriteOp: lambda s, op, loops: s.cache_write(op.stage.data),
    sched.CacheReadOp: lambda s, op, loops: s.cache_read(op.stage.data, _number(op.operand)),
    sched.PrefetchOp: lambda s, op, loops: s.prefetch(
        op.stage.data, _number(op.operand), _number(op.distance)
    ),
    sched.SetScopeOp: lambda s, op, loops: s.set_scope(op.stage.data, op.space.data),
    sched.ReindexOp: lambda s, op, loops: s.reindex(
        op.stage.data, _number(op.operand), [int(axis) for axis in op.axes.iter_values()]
    ),
    sched.PermuteOp: lambda s, op, loops: s.permute(
        op.stage.data, [int(dimension) for dimension in op.order.iter_values()]
    ),
    sched.StorageAlignOp: lambda s, op, loops: s.storage_align(
        op.stage.data, _number(op.multiple), _number(op.offset)
    ),
}
