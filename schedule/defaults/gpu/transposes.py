"""Stages that read one way and write another: square tiles, turned round in shared memory.

A block reads rows of a tile and writes rows of its result, both side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

from nn_opt.dialects.loop import BlockOp, ForKind, ForOp, LoadOp
from nn_opt.ir.target import Gpu
from nn_opt.schedule.defaults.elementwise import runs_on
from nn_opt.schedule.defaults.facts import is_reduction, loads_of, step
from nn_opt.schedule.defaults.gpu.grids import bind_blocks, fuse_all
from nn_opt.schedule.nest import find_block, loops_around, read, stores_in
from nn_opt.schedule.reindex import axes_of
from nn_opt.schedule.schedule import Schedule

TILE = 32  # rows and columns
ROWS = 8  # that threads take at once: blocks of 256
SHORTEST = 16  # a row that is worth a tile


@dataclass(frozen=True)
class Turned:
    """Which operand a stage reads across, and the loop along which that one lies side by side.

    axes: those that it is read at, so ordered that what lies side by side comes last.
    """

    operand: int
    along: int
    axes: tuple[int, ...]


def schedule_transposed(schedule: Schedule, stage: str, gpu: Gpu) -> bool:
    """Turn what a stage reads across in shared memory; return False if it reads nothing so."""
    merge_neighbours(schedule, stage)
    block = find_block(schedule.function, stage)
    turned = find_turned(block, loops_around(block))
    if turned is None:
        return False
    loops = schedule.axes(stage)
    copy = schedule.reindex(stage, turned.operand, turned.axes)
    outside = [loop for loop in loops[:-1] if loop is not loops[turned.along]]
    row_tiles, row = schedule.split(loops[turned.along], TILE)
    column_tiles, column = schedule.split(loops[-1], TILE)
    schedule.reorder(*outside, row_tiles, column_tiles, row, column)
    tiles = fuse_all(schedule, [*outside, row_tiles, column_tiles])
    home = bind_blocks(schedule, tiles, gpu)
    schedule.compute_at(copy, home)
    _bind_tile(schedule, row, column)
    _bind_tile(schedule, *schedule.axes(copy)[-2:])
    schedule.set_scope(copy, "shared")
    schedule.storage_align(copy, TILE, 1)  # so that a column is in as many banks as a row
    return True


def merge_neighbours(schedule: Schedule, stage: str) -> None:
    """Join all loops that every access runs through as through one."""
    position = len(loops_around(find_block(schedule.function, stage))) - 1
    while position > 0:
        block = find_block(schedule.function, stage)
        outer, inner = loops_around(block)[position - 1 : position + 1]
        if outer.trips > 1 and inner.trips > 1 and runs_on(block, outer, inner):
            schedule.join(*schedule.axes(stage)[position - 1 : position + 1])
        position -= 1


def find_turned(block: BlockOp, loops: list[ForOp]) -> Turned | None:
    """Return how a stage reads across; None if all that it reads lies as its result does."""
    if is_reduction(block) or len(loops) < 2 or loops[-1].trips < SHORTEST:
        return None
    if any(step(store, block, loops[-1]) != 1 for store in stores_in(block)):
        return None
    for operand, buffer in enumerate(read(block)):
        loads = loads_of(buffer, block)
        if len(loads) == 1 and all(index in block.axes for index in loads[0].indices):
            along = _along(loads[0], block, loops)
            if along is not None:
                return Turned(operand, along, _axes_read(loads[0], block, loops, along))
    return None


def _along(load: LoadOp, block: BlockOp, loops: list[ForOp]) -> int | None:
    """Return the loop along which a load runs side by side, if the innermost one runs across."""
    moved = [step(load, block, loop) for loop in loops]
    across = moved[-1]
    if across is None or abs(across) < SHORTEST or 1 not in moved:
        return None
    along = moved.index(1)
    return along if loops[along].trips >= SHORTEST else None


def _axes_read(load: LoadOp, block: BlockOp, loops: list[ForOp], along: int) -> tuple[int, ...]:
    """Return the axes that a load depends on: those of the tile last."""
    used = set(axes_of(load, block))
    last = [_axis_of(loops[-1], block), _axis_of(loops[along], block)]
    return (*sorted(used - {*last}), *last)


def _axis_of(loop: ForOp, block: BlockOp) -> int:
    """Return the axis that a loop runs."""
    (place,) = (k for k, index in enumerate(block.indices) if index is loop.index)
    exprs = list(block.bindings.data.results)
    return next(axis for axis, expr in enumerate(exprs) if place in expr.used_dims())


def _bind_tile(schedule: Schedule, row: ForOp, column: ForOp) -> None:
    """Give a block's threads a tile, some rows at a time."""
    step_, thread = schedule.split(row, ROWS)
    schedule.reorder(thread, column, step_)
    schedule.bind(thread, ForKind.THREAD_Y)
    schedule.bind(column, ForKind.THREAD_X)
    schedule.unroll(step_)
