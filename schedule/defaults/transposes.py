"""Stages that read one way and write another: a cache line of what they read at a time."""

from __future__ import annotations

from nn_opt.dialects.loop import BlockOp, ForKind, ForOp
from nn_opt.ir.target import Target
from nn_opt.schedule.defaults.facts import (
    computes_lanes,
    holds_long,
    is_reduction,
    lanes_of,
    step,
)
from nn_opt.schedule.nest import find_block, loads_in, only_child, stores_in
from nn_opt.schedule.schedule import Schedule

FEW = 4  # elements that vectors of each are stored between
LINE = 16  # elements of 4 bytes in a cache line of 64


def share_lines(schedule: Schedule, stage: str, target: Target) -> None:
    """Read a transposed operand a cache line at a time: its own loop inside, unrolled.

    for %k, %l { y[%k, %l] = x[%l, %k] }  ->  for %ko, %lo, %ki, %li { the same }

    %li are lanes where they can be: one store of elements that are loaded one by one is 1.7 times
    as fast as a store for each.
    """
    loops = schedule.axes(stage)
    block = find_block(schedule.function, stage)
    if is_reduction(block) or any(loop.how is not ForKind.SERIAL for loop in loops):
        return
    if _interleaves(block, loops, target):
        _run_interleaved(schedule, loops[-2], loops[-1], target)
        return
    position = _crosswise(block, loops)
    if position is None:
        return
    loop, *between, inner = loops[position:]
    if _may_be_lanes(block, inner, target):
        _run_in_vectors(schedule, stage, target, (loop, between, inner))
        return
    width = next(n for n in (LINE, LINE // 2, LINE // 4, 1) if loop.trips % n == 0)
    if width > 1:
        line = schedule.split(loop, width)[1]
        schedule.reorder(*between, inner, line)
        schedule.unroll(line)


def _interleaves(block: BlockOp, loops: list[ForOp], target: Target) -> bool:
    """Return whether a stage reads a few rows and writes their elements in turns.

    for %l { for %k = 0 to 2 { y[2 * %l + %k] = x[%k, %l] } }
    """
    if len(loops) < 2 or only_child(loops[-1]) is not block:
        return False
    row, inner = loops[-2:]
    if only_child(row) is not inner or not 2 <= inner.trips <= FEW or row.trips < target.lanes:
        return False
    stored = [(step(s, block, row), step(s, block, inner)) for s in stores_in(block)]
    loaded = [(step(load, block, row), step(load, block, inner)) for load in loads_in(block)]
    aside = all(along in (0, 1) and across is not None for along, across in loaded)
    far = any(along == 1 and across != 0 for along, across in loaded)
    turns = all(steps == (inner.trips, 1) for steps in stored)
    return aside and far and turns and computes_lanes(block, row)


def _run_interleaved(schedule: Schedule, row: ForOp, inner: ForOp, target: Target) -> None:
    lane = row if row.trips <= target.lanes else schedule.split(row, target.lanes)[1]
    schedule.reorder(inner, lane)
    schedule.unroll(inner)
    schedule.vectorize(lane)


def _crosswise(block: BlockOp, loops: list[ForOp]) -> int | None:
    """Return the loop along which what the innermost one reads far apart lies side by side."""
    if len(loops) < 2 or only_child(loops[-1]) is not block or loops[-1].trips < LINE:
        return None
    far = [load for load in loads_in(block) if abs(step(load, block, loops[-1]) or 0) >= LINE]
    for position in reversed(range(len(loops) - 1)):
        if not far or only_child(loops[position]) is not loops[position + 1]:
            return None
        loop = loops[position]
        if loop.trips > 1 and all(step(load, block, loop) == 1 for load in far):
            return position
    return None


def _may_be_lanes(block: BlockOp, loop: ForOp, target: Target) -> bool:
    """Return whether a loop stores side by side, and loads at any constant distance."""
    if any(step(load, block, loop) is None for load in loads_in(block)):
        return False
    aside = all(step(store, block, loop) == 1 for store in stores_in(block))
    return aside and computes_lanes(block, loop, long=holds_long(target))


def _run_in_vectors(
    schedule: Schedule, stage: str, target: Target, loops: tuple[ForOp, list[ForOp], ForOp]
) -> None:
    loop, between, inner = loops
    around, line = schedule.split(loop, min(LINE, loop.trips))
    lane, lanes = inner, lanes_of(find_block(schedule.function, stage), target)
    if inner.trips > lanes:
        inner, lane = schedule.split(inner, lanes)
        between = [*between, inner]
    schedule.reorder(around, *between, line, lane)
    schedule.unroll(line)
    schedule.vectorize(lane)
