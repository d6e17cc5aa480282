"""Sums of products of narrow numbers (bf16, int8): the register tile of instructions that sum."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import Float32Type, IntegerType
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects.loop import BlockOp, ForOp, Kind
from nn_opt.ir.target import Target
from nn_opt.ir.types import element_type, shape_of
from nn_opt.schedule.defaults.elementwise import schedule_pass
from nn_opt.schedule.defaults.facts import (
    axis_loops,
    loads_of,
    par_axes,
    step,
)
from nn_opt.schedule.defaults.tile_shapes import even
from nn_opt.schedule.defaults.tiled import Tile, follower_of
from nn_opt.schedule.inline import may_leave
from nn_opt.schedule.intrinsics import INTRINSICS, Intrinsic
from nn_opt.schedule.nest import find_block, kinds_bound, loads_in, loops_around, read
from nn_opt.schedule.schedule import Schedule

ACCUMULATORS = {32: 20, 16: 8, 12: 8}  # of so many registers: 24, with what is repeated, spill
COLUMNS = (2, 3)  # vectors that share what is repeated, if so many divide all
UNROLLED = 8  # groups a turn: all channels of a block


def dot_intrinsic(schedule: Schedule, stage: str, tile: Tile, target: Target) -> str | None:
    """Return the intrinsic that computes a stage's tile, if the target has one.

    It is found by trying on a copy, where a stage has factors of other than 32 bits at all.
    """
    block = find_block(schedule.function, stage)
    factors = [load.memref for load in loads_in(block) if load.memref in read(block)]
    if any(element_type(factor) in (Float32Type(), IntegerType(32)) for factor in factors):
        return None
    for intrinsic in INTRINSICS.values():
        if _has(target, intrinsic) and _fits(schedule, stage, tile, intrinsic):
            return intrinsic.name
    return None


def product_intrinsic(block: BlockOp, target: Target) -> Intrinsic | None:
    """Return the target's intrinsic for products of the type of a stage's factors."""
    narrow = {element_type(buffer) for buffer in read(block)}
    for intrinsic in INTRINSICS.values():
        a, b, _ = intrinsic.buffers
        if narrow == {element_type(a), element_type(b)} and _has(target, intrinsic):
            return intrinsic
    return None


def _has(target: Target, intrinsic: Intrinsic) -> bool:
    if not intrinsic.feature:
        return sizes_of(intrinsic)[0] == target.lanes
    return target.has(intrinsic.feature)


def _fits(schedule: Schedule, stage: str, tile: Tile, intrinsic: Intrinsic) -> bool:
    trial = Schedule(schedule.function.clone())
    block = find_block(trial.function, stage)
    lanes, group = sizes_of(intrinsic)
    sizes = block.axis_sizes
    if sizes[tile.lane_axis] % lanes or sizes[-1] % group:
        return False
    for operand in list(_padded(trial, stage)):
        trial.cache_read(stage, operand)
    loops = trial.axes(stage)
    trial.decompose_init(stage, loops[0])
    _, lane = trial.split(loops[tile.lane_axis], lanes)
    _, pair = trial.split(loops[-1], group)
    outer = [loop for loop in trial.axes(stage) if loop not in (lane, pair)]
    trial.reorder(*outer, lane, pair)
    try:
        trial.tensorize(lane, intrinsic.name)
    except PassFailedException:
        return False
    return True


def sizes_of(intrinsic: Intrinsic) -> tuple[int, int]:
    """Return the lanes of an intrinsic and the size of a group of products on each."""
    a, _, acc = intrinsic.buffers
    return shape_of(acc)[0], shape_of(a)[0]


def schedule_dots(
    schedule: Schedule, stage: str, tile: Tile, intrinsic: str, target: Target
) -> None:
    """Cut the output into register tiles, sum into each, and finish it before it is stored."""
    follower = follower_of(schedule, stage)
    copies = [schedule.cache_read(stage, operand) for operand in list(_padded(schedule, stage))]
    outer, tiled = _tile_loops(
        schedule, stage, tile, INTRINSICS[intrinsic], target.vector_registers
    )
    schedule.reverse_compute_at(follower, outer[-1])
    block = find_block(schedule.function, stage)
    init = schedule.decompose_init(stage, loops_around(block)[len(outer)])
    innermost = schedule.axes(follower)[-1]
    if innermost.trips > tile.lanes:
        schedule.split(innermost, tile.lanes)
    for name in (init, follower):
        *others, lane = schedule.axes(name)
        schedule.vectorize(lane)
        _unroll(schedule, name, others[len(outer) :])
    schedule.tensorize(tiled[-1], intrinsic)
    _unroll(schedule, stage, tiled[:-1])
    schedule.set_scope(stage, "register")
    for copy in copies:
        schedule_pass(schedule, copy, target)


def _unroll(schedule: Schedule, stage: str, loops: list[ForOp]) -> None:
    block = find_block(schedule.function, stage)
    for loop in loops:
        if kinds_bound(loop, block) == {Kind.PAR} and loop.trips > 1:
            schedule.unroll(loop)


def _padded(schedule: Schedule, stage: str) -> Iterator[int]:
    block = find_block(schedule.function, stage)
    for operand, buffer in enumerate(read(block)):
        if any(may_leave(load, block) for load in loads_of(buffer, block)):
            yield operand


def _columns(block: BlockOp, tile: Tile) -> tuple[int, int] | None:
    """Return an axis of blocks of lanes, and how many of them share each number that is repeated.

    The repetition is an instruction of its own here, unlike that of an f32.
    """
    loops = axis_loops(block)
    if tile.vectors > 1 or tile.row_axis is None:
        return None
    factors = [load for load in loads_in(block) if load.memref in read(block)]
    repeated = [load for load in factors if step(load, block, loops[tile.lane_axis]) == 0]
    for axis in par_axes(block):
        moved = {step(load, block, loops[axis]) for load in repeated}
        count = next((n for n in COLUMNS if loops[axis].trips % n == 0), 0)
        if axis < tile.row_axis and moved == {0} and count:
            return axis, count
    return None


def _tile_loops(
    schedule: Schedule, stage: str, tile: Tile, intrinsic: Intrinsic, registers: int
) -> tuple[list[ForOp], list[ForOp]]:
    """Split and reorder the loops of a stage; return those around the tile, and the tile's own."""
    loops = schedule.axes(stage)
    block: BlockOp = find_block(schedule.function, stage)
    lanes, group = sizes_of(intrinsic)
    outer = {axis: loops[axis] for axis in par_axes(block)}
    reduce = [loop for axis, loop in enumerate(loops) if axis not in outer]
    inner: list[ForOp] = []
    columns, rows = _columns(block, tile), tile.rows
    if columns is not None and tile.row_axis is not None:
        axis, count = columns
        outer[axis], column = schedule.split(loops[axis], count)
        inner.append(column)
        rows = even(loops[tile.row_axis].trips, ACCUMULATORS[registers] // count)
    if tile.row_axis is not None and rows > 1:
        outer[tile.row_axis], row = schedule.split(loops[tile.row_axis], rows)
        inner.append(row)
    panel, lane = schedule.split(loops[tile.lane_axis], lanes)
    outer[tile.lane_axis] = panel
    if tile.vectors > 1:
        outer[tile.lane_axis], column = schedule.split(panel, tile.vectors)
        inner.append(column)
    groups, pair = schedule.split(reduce.pop(), group)
    reduce.append(groups)
    unrolled = min(UNROLLED, groups.trips)
    if groups.trips % UNROLLED == 0:
        reduce[-1:] = schedule.split(groups, UNROLLED)
    order = list(outer.values())
    if tile.row_axis is not None:
        order.remove(outer[tile.lane_axis])
        order.insert(order.index(outer[tile.row_axis]), outer[tile.lane_axis])
    schedule.reorder(*order, *reduce, *inner, lane, pair)
    if 1 < reduce[-1].trips <= unrolled:
        schedule.unroll(reduce[-1])
    return order, [*inner, lane]
