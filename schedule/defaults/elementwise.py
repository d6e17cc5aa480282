"""Stages without reuse: one pass over memory, vectors along the last axis."""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.ir import SSAValue

from nn_opt.dialects.loop import BlockOp, ForKind, ForOp, LoadOp, StoreOp
from nn_opt.ir.target import Target
from nn_opt.ir.types import memory_space
from nn_opt.schedule.defaults.facts import is_reduction, lanes_of, steps, vectorizable
from nn_opt.schedule.defaults.transposes import LINE, share_lines
from nn_opt.schedule.inline import may_leave
from nn_opt.schedule.nest import find_block, kinds_bound, loads_in, only_child, stores_in
from nn_opt.schedule.schedule import Schedule

FORMULAS = (math.ErfOp, math.ExpOp, math.ExpM1Op, math.LogOp, math.Log1pOp, math.TanhOp)
REGISTERS = 16  # for the values and the constants of a formula


def schedule_pass(schedule: Schedule, stage: str, target: Target) -> None:
    """Fuse what is contiguous, then run the innermost loop in vectors if it can be."""
    merge_contiguous(schedule, stage)
    share_lines(schedule, stage, target)
    vectorize_innermost(schedule, stage, target)


def merge_contiguous(schedule: Schedule, stage: str) -> None:
    """Fuse the innermost loops as long as every access runs on through both."""
    while True:
        loops = schedule.axes(stage)
        block = find_block(schedule.function, stage)
        if len(loops) < 2 or not runs_on(block, loops[-2], loops[-1]):
            return
        schedule.fuse(loops[-2], loops[-1])


def runs_on(block: BlockOp, outer: ForOp, inner: ForOp) -> bool:
    """Return whether each address moves through both loops as through one longer loop."""
    kinds = kinds_bound(outer, block) | kinds_bound(inner, block)
    wide = [loop for loop in (outer, inner) if loop.trips > 1]
    if only_child(outer) is not inner or any(kinds_bound(w, block) != kinds for w in wide):
        return False
    if {outer.how, inner.how} != {ForKind.SERIAL} or _minds_indices(block):
        return False
    if len(wide) < 2:  # a loop of one trip moves nothing
        return True
    if inner.trips % LINE and any(_has_rows(access.memref) for access in accesses(block)):
        return False
    pairs = zip(steps(block, outer), steps(block, inner), strict=True)
    return all(near is not None and far == near * inner.trips for far, near in pairs)


def _has_rows(buffer: SSAValue) -> bool:
    """Return whether a buffer keeps its dimensions, so that lanes cannot go on in its next row."""
    return memory_space(buffer) != "global"


def accesses(block: BlockOp) -> list[LoadOp | StoreOp]:
    """Return a stage's loads and stores."""
    return [*loads_in(block), *stores_in(block)]


def _minds_indices(block: BlockOp) -> bool:
    """Return whether a stage computes with its indices, or tests them for an `or` value."""
    if any(may_leave(load, block) for load in loads_in(block)):
        return True
    ops = [op for op in block.body.block.ops if not isinstance(op, LoadOp | StoreOp)]
    return any(axis in op.operands for axis in block.axes for op in ops)


def vectorize_innermost(schedule: Schedule, stage: str, target: Target) -> None:
    """Split the innermost loop by the target's lanes and vectorise it, where that is possible."""
    block = find_block(schedule.function, stage)
    loops = schedule.axes(stage)
    if not loops or only_child(loops[-1]) is not block or loops[-1].trips < 2:
        return
    if not vectorizable(block, loops[-1], target):
        return
    loop = loops[-1]
    lanes = _lanes(block, loop.trips, target)
    if loop.trips > lanes:
        loop = schedule.split(loop, lanes)[1]
    if is_reduction(block) and block.init is not None and loop.trips < 4:
        return
    schedule.vectorize(loop)


def _lanes(block: BlockOp, trips: int, target: Target) -> int:
    """Return how many elements go side by side: some vectors, if each waits for a long formula.

    A polynomial is a chain of additions that each take some cycles; several chains overlap.
    """
    if is_reduction(block) or not any(isinstance(op, FORMULAS) for op in block.body.block.ops):
        return lanes_of(block, target)
    vectors = max(1, target.vector_registers // REGISTERS)
    while vectors > 1 and trips < vectors * target.lanes:
        vectors //= 2
    return vectors * target.lanes
