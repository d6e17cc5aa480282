"""Reductions along contiguous rows: vectors of partial results, joined once at the end."""

from __future__ import annotations

from nn_opt.dialects.loop import BlockOp, ForOp, Kind
from nn_opt.ir.target import Target
from nn_opt.schedule.defaults.elementwise import (
    FORMULAS,
    REGISTERS,
    merge_contiguous,
    vectorize_innermost,
)
from nn_opt.schedule.defaults.facts import (
    axis_loops,
    is_contraction,
    is_reduction,
    lanes_of,
    par_axes,
    reduce_axes,
    step,
    vectorizable,
)
from nn_opt.schedule.nest import find_block, kinds_bound, loads_in, read
from nn_opt.schedule.schedule import Schedule

VECTORS = 4  # accumulators that hide an addition's latency of 4 cycles


def reduces_rows(block: BlockOp, target: Target) -> bool:
    """Return whether a stage reads along what it reduces, and not along its last par axis."""
    loops = axis_loops(block)
    wide = [loops[axis] for axis in par_axes(block) if loops[axis].trips > 1]
    if not wide or _has_reuse(block, loops) or _row_length(block, loops) < 2 * target.lanes:
        return False
    return any(moved not in (0, 1) for moved in _read_steps(block, wide[-1]))


def _has_reuse(block: BlockOp, loops: list[ForOp]) -> bool:
    """Return whether a stage sums products whose factors both serve several results, as in a tile.

    A vector serves all rows of a matrix, but each of those serves one result.
    """
    if not is_contraction(block):
        return False
    factors = [load for load in loads_in(block) if load.memref in read(block)]
    summed = [f for f in factors if any(step(f, block, loops[k]) for k in reduce_axes(block))]
    wide = [loops[axis] for axis in par_axes(block) if loops[axis].trips > 1]
    return all(any(step(factor, block, loop) == 0 for loop in wide) for factor in summed)


def _row_length(block: BlockOp, loops: list[ForOp]) -> int:
    """Return over how many elements a stage's reduce loops read side by side."""
    length = 1
    for axis in reversed(reduce_axes(block)):
        moved = set(_read_steps(block, loops[axis]))
        if moved - {0, length} or length not in moved:
            break
        length *= loops[axis].trips
    return length


def _read_steps(block: BlockOp, loop: ForOp) -> list[int | None]:
    return [step(load, block, loop) for load in loads_in(block) if load.memref in read(block)]


def schedule_sum(schedule: Schedule, stage: str, target: Target) -> None:
    """Reduce a stage's row in vectors if that is possible; else lane after lane."""
    merge_contiguous(schedule, stage)
    row = schedule.axes(stage)[-1]
    if not _is_long_row(find_block(schedule.function, stage), row, target):
        start_before_row(schedule, stage)
        vectorize_innermost(schedule, stage, target)
        return
    lanes = lanes_of(find_block(schedule.function, stage), target)
    vectors = min(_accumulators(find_block(schedule.function, stage), target), row.trips // lanes)
    width = schedule.split(row, vectors * lanes)[1]
    even = row.trips % (vectors * lanes) == 0
    _run_in_vectors(schedule, schedule.rfactor(stage, width), lanes, even=even)
    if vectors > 1:
        lane = schedule.split(schedule.axes(stage)[-1], lanes)[1]
        _run_in_vectors(schedule, schedule.rfactor(stage, lane), lanes, even=True)
    start_before_row(schedule, stage)
    schedule.vectorize(schedule.axes(stage)[-1])


def _accumulators(block: BlockOp, target: Target) -> int:
    """Return how many vectors a row is summed in: each that has a formula needs more registers."""
    if any(isinstance(op, FORMULAS) for op in block.body.block.ops):
        return max(1, min(VECTORS, target.vector_registers // REGISTERS))
    return VECTORS


def _is_long_row(block: BlockOp, row: ForOp, target: Target) -> bool:
    least = 2 * lanes_of(block, target)
    long = is_reduction(block) and block.init is not None and row.trips >= least
    return long and kinds_bound(row, block) == {Kind.REDUCE} and vectorizable(block, row, target)


def _run_in_vectors(schedule: Schedule, stage: str, lanes: int, *, even: bool) -> None:
    """Vectorise partial results in registers; the end of an uneven row updates some of them."""
    *_, across, width = schedule.axes(stage)
    lane = width
    if width.trips > lanes:
        width, lane = schedule.split(width, lanes)
        schedule.unroll(width)
    schedule.vectorize(lane)
    start_before_row(schedule, stage)
    if even and across.trips <= VECTORS:
        schedule.unroll(across)
    schedule.set_scope(stage, "register")


def start_before_row(schedule: Schedule, stage: str) -> None:
    """Take the start of a reduction out of its loops, so that they need no test."""
    block = find_block(schedule.function, stage)
    if block.init is None:
        return
    reducing = [loop for loop in schedule.axes(stage) if kinds_bound(loop, block) - {Kind.PAR}]
    if reducing:
        schedule.decompose_init(stage, reducing[0])
