"""A sum of weighted sums of products, as of weights in blocks: both in one register tile.

for each panel { for some rows { for each block { t = sum of products; y += t * scale } } }
"""

from __future__ import annotations

from dataclasses import dataclass

from nn_opt.dialects.loop import BlockOp, ForOp, Kind
from nn_opt.ir.target import Target
from nn_opt.schedule.defaults.facts import (
    axis_loops,
    is_contraction,
    is_reduction,
    loads_of,
    local_buffer,
    par_axes,
    readers,
    reduce_axes,
    stages,
)
from nn_opt.schedule.defaults.sums import schedule_sum
from nn_opt.schedule.defaults.tile_shapes import even
from nn_opt.schedule.defaults.tiled import lanes_fit
from nn_opt.schedule.nest import find_block, kinds_bound
from nn_opt.schedule.schedule import Schedule

TALLEST = 8  # rows, which share what is made of a weight
WIDEST = 8  # vectors
SPARE = 6  # registers for numbers and what makes them


@dataclass(frozen=True)
class NestedSums:
    """The stage of products, the one that sums what it makes, and their tile."""

    products: str
    total: str
    rows: int
    vectors: int
    lanes: int


def nested_sums(schedule: Schedule, target: Target) -> NestedSums | None:
    """Return the stages of a kernel whose sums of products another stage sums, if it has such."""
    for block in stages(schedule.function):
        after = readers(block)
        if is_contraction(block) and len(after) == 1 and _sums_on(block, after[0]):
            return _tile(block, after[0], target)
    return None


def _sums_on(block: BlockOp, total: BlockOp) -> bool:
    """Return whether the second stage reads each sum of the first once, and sums some."""
    alloc = local_buffer(block)
    loads = loads_of(alloc.result, total) if alloc is not None else []
    sizes = sorted(total.axis_sizes)
    once = sorted(block.axis_sizes[axis] for axis in par_axes(block)) == sizes
    return is_reduction(total) and once and len(loads) == len(reduce_axes(total)) == 1


def _tile(block: BlockOp, total: BlockOp, target: Target) -> NestedSums | None:
    loops, own = axis_loops(total), axis_loops(block)
    par = par_axes(total)
    lane, ours = loops[par[-1]], own[par_axes(block)[-1]]
    whole = lane.trips == ours.trips and lane.trips % target.lanes == 0
    if len(par) < 3 or not whole or not (lanes_fit(total, lane) and lanes_fit(block, ours)):
        return None
    across = lane.trips // target.lanes
    vectors = next(n for n in (WIDEST, 4, 3, 2, 1) if across % n == 0)
    most = max(1, min(TALLEST, (target.vector_registers - SPARE) // vectors))
    rows = even(loops[par[-3]].trips, most)
    return NestedSums(block.stage.data, total.stage.data, rows, vectors, target.lanes)


def schedule_nested_sums(schedule: Schedule, sums: NestedSums, target: Target) -> None:
    """Sum products of a block in registers, then add them to a tile that is on the stack."""
    follower = schedule.cache_write(sums.total)
    *outer, rows, panels, columns = schedule.axes(follower)
    across, vector, lane = _columns(schedule, columns, sums)
    high, row = schedule.split(rows, sums.rows)
    schedule.reorder(*outer, panels, high, across, row, vector, lane)
    schedule.compute_at(sums.total, across)
    block_loop = _order(schedule, sums.total, across, sums, split=False)
    schedule.compute_at(sums.products, block_loop)
    _order(schedule, sums.products, block_loop, sums, split=True)
    for stage in (sums.total, sums.products):
        init = schedule.decompose_init(stage, _reduced(schedule, stage))
        _expand(schedule, init, across if stage == sums.total else block_loop)
    _expand(schedule, sums.total, block_loop)
    _expand(schedule, sums.products, block_loop)
    _expand(schedule, follower, across)
    schedule.set_scope(sums.products, "register")
    tile = 2 * sums.rows * sums.vectors + sums.vectors
    schedule.set_scope(
        sums.total, "register" if tile + SPARE <= target.vector_registers else "stack"
    )
    for block in stages(schedule.function):
        name = block.stage.data
        if is_reduction(block) and name not in (sums.total, sums.products):
            schedule_sum(schedule, name, target)


def _columns(schedule: Schedule, loop: ForOp, sums: NestedSums) -> tuple[ForOp, ForOp, ForOp]:
    """Cut columns into tiles, vectors and lanes."""
    vectors, lane = schedule.split(loop, sums.lanes)
    across, vector = schedule.split(vectors, sums.vectors)
    return across, vector, lane


def _order(schedule: Schedule, stage: str, home: ForOp, sums: NestedSums, *, split: bool) -> ForOp:
    """Order a stage's loops inside `home`: sums, rows, vectors, lanes; return that of a sum."""
    loops, block = schedule.axes(stage), find_block(schedule.function, stage)
    inner = loops[loops.index(home) + 1 :]
    par = [loop for loop in inner if kinds_bound(loop, block) == {Kind.PAR}]
    reduce = [loop for loop in inner if loop not in par]
    vector, lane = schedule.split(par.pop(), sums.lanes)
    schedule.reorder(*reduce, *par, vector, lane)
    if split and reduce[-1].trips > 1:
        schedule.unroll(reduce[-1])
    return reduce[0]


def _reduced(schedule: Schedule, stage: str) -> ForOp:
    block = find_block(schedule.function, stage)
    return next(loop for loop in schedule.axes(stage) if kinds_bound(loop, block) - {Kind.PAR})


def _expand(schedule: Schedule, stage: str, home: ForOp) -> None:
    """Vectorise a stage's innermost loop and unroll the independent ones inside `home`."""
    loops, block = schedule.axes(stage), find_block(schedule.function, stage)
    *others, lane = loops[loops.index(home) + 1 :]
    schedule.vectorize(lane)
    for loop in others:
        if kinds_bound(loop, block) == {Kind.PAR} and loop.trips > 1:
            schedule.unroll(loop)
