"""Replay: apply a `sched.script` to the kernel that it names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import StringAttr
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
    match op:
        case sched.AxesOp():
            return _axes(schedule, op)
        case sched.SplitOp():
            return schedule.split(loops[0], op.factor.value.data, op.tail.data)
        case sched.TileOp():
            factors = op.x_factor.value.data, op.y_factor.value.data
            return schedule.tile(loops[0], loops[1], *factors)
        case sched.FuseOp():
            return [schedule.fuse(*loops)]
        case sched.CacheReadOp():
            schedule.cache_read(op.stage.data, op.operand.value.data)
        case sched.BindOp():
            schedule.bind(loops[0], op.kind.data)
        case sched.TensorizeOp():
            schedule.tensorize(loops[0], op.intrinsic.data)
        case sched.PrefetchOp():
            numbers = op.operand.value.data, op.distance.value.data
            schedule.prefetch(op.stage.data, *numbers)
        case sched.SetScopeOp():
            schedule.set_scope(op.stage.data, op.space.data)
        case _:
            ACTIONS[type(op)](schedule, op, loops)
    return None


def _axes(schedule: Schedule, op: sched.AxesOp) -> Loops:
    loops = schedule.axes(op.stage.data)
    if len(loops) != len(op.loops):
        problem = f"stage {op.stage.data!r} is in {len(loops)} loops, not {len(op.loops)}"
        raise PassFailedException(f"{problem}\n  hint: take all of them, outermost first")
    return loops


ACTIONS: dict[type[Operation], Callable[[Schedule, Operation, Loops], object]] = {
    sched.ReorderOp: lambda schedule, op, loops: schedule.reorder(*loops),
    sched.UnrollOp: lambda schedule, op, loops: schedule.unroll(loops[0]),
    sched.VectorizeOp: lambda schedule, op, loops: schedule.vectorize(loops[0]),
    sched.ParallelOp: lambda schedule, op, loops: schedule.parallel(loops[0]),
    sched.ComputeAtOp: lambda schedule, op, loops: schedule.compute_at(_stage(op), loops[0]),
    sched.ReverseComputeAtOp: lambda schedule, op, loops: schedule.reverse_compute_at(
        _stage(op), loops[0]
    ),
    sched.DecomposeInitOp: lambda schedule, op, loops: schedule.decompose_init(
        _stage(op), loops[0]
    ),
    sched.RfactorOp: lambda schedule, op, loops: schedule.rfactor(_stage(op), loops[0]),
    sched.InlineOp: lambda schedule, op, loops: schedule.inline(_stage(op)),
    sched.CacheWriteOp: lambda schedule, op, loops: schedule.cache_write(_stage(op)),
}


def _stage(op: Operation) -> str:
    stage = op.properties["stage"]
    assert isinstance(stage, StringAttr)
    return stage.data
